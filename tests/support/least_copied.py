"""The fewest bytes that any plan within the bounds copies, by a program in whole numbers over every replica: for small clusters only."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import highspy

from console.planning.balance.arrangement import DISK, FIGURES, Arrangement
from console.planning.balance.bounds import Bounds
from console.planning.model import AIMS, Goal, Host, Standing


def least_copied(nodes: Sequence[Host], copies: Sequence[Standing], away: Sequence[int] = ()) -> float | None:
    """None where no plan is within the bounds. Racks are kept where the brokers have some; leaders do not count, as they cost nothing."""
    world = Arrangement(nodes, copies, Goal(away=tuple(away)))
    gone = [p for p, hosts in enumerate(world.hosts) for b in hosts if not world.takes[b]]
    homeless = world.weight[gone].sum(axis=0)
    bounds = Bounds(world, homeless, AIMS)
    model = highspy.Highs()
    model.setOptionValue("output_flag", False)
    model.setOptionValue("threads", 1)
    model.setOptionValue("mip_rel_gap", 0.01)
    brokers = [b for b, takes in enumerate(world.takes) if takes]
    has = {(p, b): model.addBinary() for p, b in product(range(len(copies)), brokers)}
    for partition, hosts in enumerate(world.hosts):
        model.addConstr(sum(has[partition, b] for b in brokers) == len(hosts))
        if world.has_racks:
            _keep_racks(model, has, world, partition, brokers)
    for broker in brokers:
        for figure in range(len(FIGURES)):
            load = sum(float(world.weight[p, figure] / bounds.share[figure]) * has[p, broker] for p in range(len(copies)))
            model.addConstr(load <= float(bounds.most[broker, figure] / bounds.share[figure]))
            model.addConstr(load >= float(bounds.least[broker, figure] / bounds.share[figure]))
    sizes = world.weight[:, DISK]
    model.minimize(sum(float(sizes[p]) * has[p, b] for p, b in has if b not in world.hosts[p]))
    if model.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        return None
    return float(model.getInfo().objective_function_value)


def _keep_racks(
    model: highspy.Highs, has: dict[tuple[int, int], object], world: Arrangement, partition: int, brokers: Sequence[int]
) -> None:
    racks = sorted({world.racks[b] for b in brokers})
    used = []
    for rack in racks:
        is_used = model.addBinary()
        model.addConstr(is_used <= sum(has[partition, b] for b in brokers if world.racks[b] == rack))
        used.append(is_used)
    model.addConstr(sum(used) >= world.racks_possible(len(world.hosts[partition])))
