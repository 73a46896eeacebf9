"""Which brokers have a partition, by a goal.

1. A replica stays where the goal allows it: what stays is not copied.
2. Of too many goes, in this order: one that is offline, out of sync, on a rack that has another one, not the leader, on the broker with
   the most replicas.
3. Where some are missing comes, in this order: the broker that is to take the place, one on a rack that has none yet, the one with the
   fewest replicas. Only a broker that is online and has no replica of it.
4. The preferred leader stays in front where it stays; else its place goes to `instead`, else to whoever is preferred the least often.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from console.planning.load import Load
from console.planning.model import Goal, Standing


class Unreachable(Exception):
    """Why the goal cannot be reached for the partition."""


def place(now: Standing, goal: Goal, load: Load) -> tuple[int, ...]:
    """The replicas then, the preferred leader first; `Unreachable` where there are not enough brokers."""
    count = goal.replication_factor or len(now.replicas)
    kept = [broker for broker in now.replicas if _is_allowed(broker, goal)]
    while len(kept) > count:
        kept.remove(max(kept, key=lambda broker: _to_go(broker, kept, now, load)))
    while len(kept) < count:
        kept.append(_next(kept, now, goal, load))
    return _in_order(now, kept, goal, load)


def _is_allowed(broker: int, goal: Goal) -> bool:
    return broker not in goal.away and (not goal.to or broker in goal.to)


def _to_go(broker: int, kept: Sequence[int], now: Standing, load: Load) -> tuple[object, ...]:
    others = [b for b in kept if b != broker]
    shares = _has_rack(broker, others, load)
    return not load.is_online(broker), broker not in now.isr, shares, broker != now.leader, load.replicas(broker), broker


def _next(kept: Sequence[int], now: Standing, goal: Goal, load: Load) -> int:
    able = [b for b in load.hosts if b not in kept and _is_allowed(b, goal) and load.is_online(b)]
    if not able:
        wanted = goal.replication_factor or len(now.replicas)
        raise Unreachable(f"it needs {wanted} brokers, and only {len(kept)} may have it")
    return min(able, key=lambda b: (b != goal.instead, _has_rack(b, kept, load), load.replicas(b), b))


def _has_rack(broker: int, others: Collection[int], load: Load) -> bool:
    """Whether one of the others is on its rack; one without a rack shares none."""
    rack = load.rack(broker)
    return rack is not None and any(load.rack(other) == rack for other in others)


def _in_order(now: Standing, kept: Sequence[int], goal: Goal, load: Load) -> tuple[int, ...]:
    staying = [broker for broker in now.replicas if broker in kept]
    order = staying + [broker for broker in kept if broker not in staying]
    if now.replicas and now.replicas[0] in kept:
        return tuple(order)
    first = goal.instead if goal.instead in kept else min(order, key=lambda broker: (load.leading(broker), broker))
    return tuple(sorted(order, key=lambda broker: broker != first))
