"""A plan for partitions and a goal, and what moves that were chosen otherwise would do.

Deterministic: the same partitions, brokers and goal give the same plan, in whatever order they come.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from console.errors import Invalid
from console.planning.leading import spread
from console.planning.load import Load
from console.planning.model import Goal, Host, Move, Plan, Skipped, Standing, Tally
from console.planning.placing import Unreachable, place
from console.planning.words import why_of

MOVING = "it is being moved already"
LEADERLESS = "it has no leader: nobody could copy from it"
Wanted = Sequence[tuple[Standing, tuple[int, ...]]]


def plan(standing: Iterable[Standing], hosts: Iterable[Host], goal: Goal, most: int) -> Plan:
    """At most so many moves. `Invalid` where the goal names a broker that cannot be meant; no such broker is ever in a move."""
    rows, hosts = sorted(standing, key=lambda now: (now.topic, now.partition)), list(hosts)
    load = Load(hosts, rows)
    check(goal, load)
    skipped, wanted, left = list[Skipped](), list[tuple[Standing, tuple[int, ...]]](), 0
    moving = 0
    for now in rows:
        if moving >= most:
            left += 1
            continue
        try:
            then = _placed(now, goal, load)
        except Unreachable as error:
            skipped.append(Skipped(now.topic, now.partition, str(error)))
            continue
        load.shift(now.replicas, then)
        wanted.append((now, then))
        moving += goal.leaders or then != now.replicas
    if goal.leaders:
        wanted = list(zip((now for now, _ in wanted), spread([then for _, then in wanted], load), strict=True))
    return told(wanted, hosts, goal, skipped=skipped, left=left)


def check(goal: Goal, load: Load) -> None:
    """`Invalid` names the field of a goal that wants nothing, contradicts itself or names a broker that is not there."""
    if not (goal.to or goal.away or goal.leaders or goal.replication_factor or goal.aims):
        raise Invalid("goal", "Say what is wanted: brokers to move to, a broker to empty, how many replicas, leaders spread, or a balance.")
    instead = () if goal.instead is None else (goal.instead,)
    for field, brokers in (("to", goal.to), ("instead", instead)):
        if absent := [b for b in brokers if not load.is_online(b)]:
            raise Invalid(field, f"Broker {absent[0]} is not online: nothing can be copied to it.")
        if both := [b for b in brokers if b in goal.away]:
            raise Invalid(field, f"Broker {both[0]} cannot be emptied and be moved to.")
    if unknown := [b for b in goal.away if b not in load.hosts]:
        raise Invalid("away", f"There is no broker {unknown[0]}.")
    if instead and not goal.away:
        raise Invalid("instead", "Name the broker that it takes the place of.")
    if instead and goal.to and goal.instead not in goal.to:
        raise Invalid("instead", f"Broker {goal.instead} is not one of those to move to.")


def _placed(now: Standing, goal: Goal, load: Load) -> tuple[int, ...]:
    if now.is_moving:
        raise Unreachable(MOVING)
    then = place(now, goal, load)
    if now.leader is None and set(then) - set(now.replicas):
        raise Unreachable(LEADERLESS)
    return then


def told(wanted: Wanted, hosts: Iterable[Host], goal: Goal | None, *, skipped: Sequence[Skipped] = (), left: int = 0) -> Plan:
    """What these replicas would mean, whoever chose them; `goal` is what they were planned by."""
    hosts = list(hosts)
    load = Load(hosts, (now for now, _ in wanted))
    moves = tuple(_move(now, then, goal, load) for now, then in wanted if then != now.replicas)
    return Plan(
        moves=moves,
        skipped=tuple(skipped),
        unchanged=len(wanted) - len(moves),
        left=left,
        brokers=_tallies(hosts, moves, {(now.topic, now.partition): now.size_bytes for now, _ in wanted}),
        copy_bytes=_sum(move.copy_bytes for move in moves),
    )


def _move(now: Standing, then: tuple[int, ...], goal: Goal | None, load: Load) -> Move:
    adding = tuple(broker for broker in then if broker not in now.replicas)
    removing = tuple(broker for broker in now.replicas if broker not in then)
    return Move(
        topic=now.topic,
        partition=now.partition,
        before=now.replicas,
        replicas=then,
        adding=adding,
        removing=removing,
        copy_bytes=0 if not adding else None if now.size_bytes is None else now.size_bytes * len(adding),
        why=why_of(now, then, goal, load),
    )


def _tallies(hosts: Sequence[Host], moves: Sequence[Move], sizes: Mapping[tuple[str, int], int | None]) -> tuple[Tally, ...]:
    after = Load(hosts, ())
    for move in moves:
        after.shift(move.before, move.replicas)
    copies, dropped = _copies(moves), _dropped(moves, sizes)
    return tuple(_tally(host, after, copies.get(host.broker_id, []), dropped.get(host.broker_id, [])) for host in after.hosts.values())


def _tally(host: Host, after: Load, copies: Sequence[int | None], dropped: Sequence[int | None]) -> Tally:
    changed = _sum([*copies, *(None if size is None else -size for size in dropped)])
    return Tally(
        broker_id=host.broker_id,
        rack=host.rack,
        is_online=host.is_online,
        replicas_before=host.replicas,
        replicas_after=after.replicas(host.broker_id),
        preferred_before=host.preferred,
        preferred_after=after.preferred(host.broker_id),
        copy_bytes=_sum(copies),
        log_bytes_before=host.log_bytes,
        log_bytes_after=None if host.log_bytes is None or changed is None else host.log_bytes + changed,
    )


def _dropped(moves: Sequence[Move], sizes: Mapping[tuple[str, int], int | None]) -> dict[int, list[int | None]]:
    """The sizes of what each broker loses."""
    found: dict[int, list[int | None]] = {}
    for move in moves:
        for broker in move.removing:
            found.setdefault(broker, []).append(sizes[move.topic, move.partition])
    return found


def _copies(moves: Sequence[Move]) -> dict[int, list[int | None]]:
    """The sizes of what each broker has to copy."""
    found: dict[int, list[int | None]] = {}
    for move in moves:
        for broker in move.adding:
            found.setdefault(broker, []).append(None if move.copy_bytes is None else move.copy_bytes // len(move.adding))
    return found


def _sum(sizes: Iterable[int | None]) -> int | None:
    """None where one of them is not known: a part of a sum is not passed off as the sum."""
    total = 0
    for size in sizes:
        if size is None:
            return None
        total += size
    return total
