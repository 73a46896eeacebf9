"""The whole of it: a goal for partitions and brokers becomes changes, what each broker then carries, and what stays unmet.

Deterministic: the same brokers, partitions and goal give the same answer, in whatever order they come.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from console.planning.balance import leaders, needs, outcome
from console.planning.balance.arrangement import Arrangement
from console.planning.balance.bounds import Bounds
from console.planning.balance.flow import flow
from console.planning.balance.kinds import kinds_of
from console.planning.balance.matching import match
from console.planning.balance.model import Change
from console.planning.balance.polish import Polish
from console.planning.model import Goal, Host, Share, Standing, Unmet
from console.rules.words import counted

MOVING = "it is being moved already"
LEADERLESS = "it has no leader: nobody could copy from it"


class Balanced(Struct, frozen=True):
    """`left` are partitions that stay as they are though the goal may be for more, with the reason; `shares` are by broker."""

    changes: tuple[Change, ...]
    left: tuple[tuple[Standing, str], ...]
    shares: dict[int, tuple[Share, ...]]
    unmet: tuple[Unmet, ...]


def balanced(nodes: Iterable[Host], copies: Iterable[Standing], goal: Goal) -> Balanced:
    ordered = sorted(copies, key=lambda copy: (copy.topic, copy.partition))
    movable = [copy for copy in ordered if not copy.is_moving and copy.leader is not None]
    left = [(copy, MOVING if copy.is_moving else LEADERLESS) for copy in ordered if copy.is_moving or copy.leader is None]
    arrangement = Arrangement(list(nodes), movable, goal)
    before = outcome.carried(arrangement)
    origins = [list(hosts) for hosts in arrangement.hosts]
    homeless, reasons = needs.take_out(arrangement, goal)
    bounds = Bounds(arrangement, arrangement.weight[[one.partition for one in homeless]].sum(axis=0), goal.aims)
    kinds = kinds_of(arrangement, homeless)
    unplaced = {one.partition for one in match(arrangement, kinds, flow(arrangement, kinds, bounds), bounds)}
    for partition in sorted(unplaced):
        arrangement.put(partition, origins[partition])
        reasons.pop(partition, None)
        left.append((movable[partition], _too_few(arrangement, partition, goal)))
    Polish(arrangement, bounds, origins, unplaced).run()
    for partition, hosts in enumerate(arrangement.hosts):
        arrangement.hosts[partition] = _in_order(hosts, origins[partition])
    if "leaders" in goal.aims:
        leaders.spread(arrangement.hosts, outcome.other_leaders(arrangement, origins), arrangement.takes)
    after = outcome.carried(arrangement, origins)
    changes = outcome.changes(arrangement, bounds, origins, reasons)
    shares = outcome.shares(arrangement, bounds, before, after)
    return Balanced(changes, tuple(left), shares, outcome.unmet(arrangement, shares, goal))


def _in_order(hosts: Sequence[int], origin: Sequence[int]) -> list[int]:
    """Those that stay first, as they stood: they have the records when the leader's place is free."""
    return [broker for broker in origin if broker in hosts] + [broker for broker in hosts if broker not in origin]


def _too_few(arrangement: Arrangement, partition: int, goal: Goal) -> str:
    wanted = goal.replication_factor or len(arrangement.copies[partition].replicas)
    return f"it needs {counted(wanted, 'broker')}, and {counted(int(arrangement.takes.sum()), 'broker')} may have it"
