"""What a plan comes to: the changes and what each is for, what every broker carries before and after, and what stays unmet."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from console.planning.balance import needs
from console.planning.balance.arrangement import DISK, REPLICAS, TRAFFIC, Arrangement, Loads
from console.planning.balance.bounds import CAPACITY, OF_FIGURES, Bounds, Numbers, room_of, whole_bounds
from console.planning.balance.model import FULL_SHARE, Change
from console.planning.model import Aim, Goal, Share, Unmet
from console.rules.words import counted, size, whole

OUTSIDE_LEAST = 1e-6
EXPLAINED = 50
"""So many brokers' partitions are looked at for why they stay outside."""
LEADERS = "leaders"
FULL = round(100 * FULL_SHARE)


def other_leaders(arrangement: Arrangement, origins: Sequence[Sequence[int]]) -> Numbers:
    """Preferred leaderships of each broker among the partitions that are not moved here."""
    own = _first_of(origins, len(arrangement.nodes))
    others: Numbers = np.maximum(np.array([node.preferred for node in arrangement.nodes], dtype=int) - own, 0)
    return others


def carried(arrangement: Arrangement, origins: Sequence[Sequence[int]] | None = None) -> Loads:
    """By broker: replicas, bytes, bytes a second, preferred leaderships, as it stands; `origins` are the replicas before it changed."""
    others = other_leaders(arrangement, arrangement.hosts if origins is None else origins)
    led = others + _first_of(arrangement.hosts, len(arrangement.nodes))
    return np.column_stack([arrangement.load, led.astype(float)])


def _first_of(hosts: Sequence[Sequence[int]], brokers: int) -> Numbers:
    return np.bincount(np.array([some[0] for some in hosts if some], dtype=int), minlength=brokers)


def changes(
    arrangement: Arrangement, bounds: Bounds, origins: Sequence[Sequence[int]], reasons: Mapping[int, set[str]]
) -> tuple[Change, ...]:
    found = []
    for partition, (before, after) in enumerate(zip(origins, arrangement.hosts, strict=True)):
        if before == after:
            continue
        serves = sorted(reasons.get(partition, ()), key=needs.REASONS.index) or _aims(arrangement, bounds, partition, before)
        replicas = tuple(arrangement.nodes[broker].broker_id for broker in after)
        found.append(Change(arrangement.copies[partition], replicas, tuple(serves)))
    return tuple(found)


def _aims(arrangement: Arrangement, bounds: Bounds, partition: int, before: Sequence[int]) -> list[str]:
    """The first aim that would be further away without the move."""
    after = arrangement.hosts[partition]
    gone, come = [b for b in before if b not in after], [b for b in after if b not in before]
    if not come:
        return [LEADERS]
    pair, weight = np.array([*gone, *come]), arrangement.weight[partition]
    signs = np.array([1.0] * len(gone) + [-1.0] * len(come))[:, None]
    with_it = bounds.distances(arrangement.load[pair], pair).sum(axis=0) * (bounds.weights > 0)
    without = bounds.distances(arrangement.load[pair] + signs * weight, pair).sum(axis=0) * (bounds.weights > 0)
    order: tuple[tuple[int, Aim], ...] = ((CAPACITY, "capacity"), *enumerate(OF_FIGURES))
    worse: list[str] = [aim for column, aim in order if without[column] > with_it[column] + OUTSIDE_LEAST]
    return worse[:1] or ["racks" if arrangement.has_racks else "replicas"]


def shares(arrangement: Arrangement, bounds: Bounds, before: Loads, after: Loads) -> dict[int, tuple[Share, ...]]:
    """Of every broker; one that takes nothing should have nothing of what may be moved."""
    takes = arrangement.takes
    led = after[takes, 3].sum() / max(1, takes.sum())
    found = {}
    for number, node in enumerate(arrangement.nodes):
        rows = [
            Share(
                aim=aim,
                before=float(before[number, figure]),
                after=float(after[number, figure]),
                least=float(bounds.least[number, figure]) if takes[number] else 0.0,
                most=float(bounds.most[number, figure]) if takes[number] else 0.0,
            )
            for figure, aim in enumerate(OF_FIGURES)
        ]
        least, most = whole_bounds(led)
        ends = (float(least), float(most)) if takes[number] else (0.0, 0.0)
        rows.insert(1, Share(aim="leaders", before=float(before[number, 3]), after=float(after[number, 3]), least=ends[0], most=ends[1]))
        found[node.broker_id] = tuple(rows)
    return found


def unmet(arrangement: Arrangement, found: Mapping[int, Sequence[Share]], goal: Goal) -> tuple[Unmet, ...]:
    said = [*_unmet_racks(arrangement, goal), *_unmet_capacity(arrangement, goal), *_not_known(arrangement, goal)]
    for number, node in enumerate(arrangement.nodes):
        outside = (
            [share for share in found[node.broker_id] if share.aim in goal.aims and _is_outside(share)] if arrangement.takes[number] else []
        )
        mine = [p for p, hosts in enumerate(arrangement.hosts) if number in hosts] if outside and len(said) < EXPLAINED else None
        said += [Unmet(share.aim, node.broker_id, _why(arrangement, node.broker_id, mine, share)) for share in outside]
    return tuple(said)


def _is_outside(share: Share) -> bool:
    return share.after > share.most * (1 + OUTSIDE_LEAST) or share.after < share.least * (1 - OUTSIDE_LEAST)


def _unmet_racks(arrangement: Arrangement, goal: Goal) -> list[Unmet]:
    if "racks" not in goal.aims or not arrangement.has_racks:
        return []
    short = sum(arrangement.distinct_racks(hosts) < arrangement.racks_possible(len(hosts)) for hosts in arrangement.hosts)
    return [Unmet("racks", None, f"{counted(short, 'partition')} on fewer racks than there are for the replicas.")] if short else []


def _not_known(arrangement: Arrangement, goal: Goal) -> list[Unmet]:
    """A balance by figures that nobody tells would be one of zeros."""
    unsized = sum(copy.size_bytes is None for copy in arrangement.copies)
    unrated = sum(copy.bytes_per_s is None for copy in arrangement.copies)
    said = []
    if "disk" in goal.aims and unsized:
        said.append(Unmet("disk", None, f"The size of {counted(unsized, 'partition')} is not known and counts for nothing."))
    if "traffic" in goal.aims and unrated:
        said.append(Unmet("traffic", None, f"What is written to {counted(unrated, 'partition')} is not known and counts for nothing."))
    return said


def _unmet_capacity(arrangement: Arrangement, goal: Goal) -> list[Unmet]:
    if "capacity" not in goal.aims:
        return []
    said = []
    for number, node in enumerate(arrangement.nodes):
        load, room = float(arrangement.load[number, DISK]), room_of(node)
        if arrangement.takes[number] and load > room * (1 + OUTSIDE_LEAST):
            why = f"Broker {node.broker_id} would hold {size(load)} of logs: with more than {size(room)} its disk is over {FULL} % full."
            said.append(Unmet("capacity", node.broker_id, why))
    return said


_TOLD: Mapping[Aim, tuple[int, Callable[[float], str]]] = {
    "replicas": (REPLICAS, lambda value: counted(round(value), "replica")),
    "disk": (DISK, size),
    "traffic": (TRAFFIC, lambda value: f"{size(value)}/s"),
}


def _why(arrangement: Arrangement, broker: int, mine: Sequence[int] | None, share: Share) -> str:
    """`mine` are its partitions; where they were not looked at, no more is said than the figures."""
    over = share.after > share.most
    if share.aim == "leaders":
        return f"Broker {broker} would lead {whole(round(share.after))}: no order of the replicas that it has is more even."
    figure, told = _TOLD[share.aim]
    limit = f"more than {told(share.most)}" if over else f"less than {told(share.least)}"
    end = f"Broker {broker} would carry {told(share.after)}, {limit}"
    if mine is None:
        return f"{end}."
    largest = max(mine, key=lambda p: (arrangement.weight[p, figure], -p), default=None)
    movable = sum(float(arrangement.weight[p, figure]) for p in mine)
    if over and share.after - movable > share.most:
        return f"{end}: {told(share.after - movable)} are of partitions that are not to be moved."
    if over and largest is not None and arrangement.weight[largest, figure] > share.most / 2:
        copy = arrangement.copies[largest]
        return f"{end}: {copy.topic}-{copy.partition} alone is {told(float(arrangement.weight[largest, figure]))}."
    return f"{end}: no partition that may move makes it better without costing an aim that comes first."
