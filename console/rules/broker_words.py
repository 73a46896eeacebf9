"""What a broker's own page says of it first, and what would be if it stopped. Pure.

The sentence, first match wins: it is gone before its session ends; it is not registered; what is known of it is old; its data folder is
offline or fills up; replicas of it are out of sync; all of them are in sync.

If it stopped (spec R5, spec R8), of each partition that it has a replica of: without the broker nobody who runs may be left in the ISR
(then nobody leads until it is back), or fewer than `min.insync.replicas` (then acks=all is refused); otherwise what it leads is led by
another of the ISR.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from msgspec import Struct

from broker_core.contract.live import Broker
from broker_core.contract.partitions import Partition
from broker_core.contract.sentences import Level
from console.rules.partitions import brokers
from console.rules.words import counted, whole

NAMED = 20
"""Partitions that are told by name."""
GONE = "Broker {} does not run, or has lost its data folder: what that does is in the states of its partitions already."
AWAY = "Broker {} is not registered: it does not run, or ZooKeeper has not heard of it for as long as its session lasts."
EARLY = "Broker {} is gone: {} see its port refuse. It is registered until its session ends."


def broker_sentence(broker: Broker) -> tuple[Level, str]:
    """The level, and the words, in which no figure changes by itself."""
    name, folder = f"Broker {broker.broker_id}", broker.log_dir
    if broker.state != "online":
        words = EARLY.format(broker.broker_id, brokers(broker.gone_by)) if broker.gone_by else AWAY.format(broker.broker_id)
        return "bad", words + _lying(broker.replicas)
    if broker.feed.state != "live":
        return "unknown", f"{name} is registered, but has not been heard: what is shown is what was last known."
    if folder is not None and folder.level in ("warn", "bad"):
        return folder.level, f"{name} runs. {folder.sentence}"
    if broker.out_of_sync:
        return "warn", f"{name} runs, and replicas of it are out of sync: they lack records that their leaders have."
    if broker.replicas == 0:
        return "ok", f"{name} runs. It has no replica."
    return "ok", f"{name} runs, and all its replicas are in sync."


def _lying(replicas: int | None) -> str:
    return f" {counted(replicas, 'replica')} {'lies' if replicas == 1 else 'lie'} on it." if replicas else ""


class Left(Struct, frozen=True, gc=False):
    """A partition, and who would be left in its ISR."""

    topic: str
    partition: int
    isr: tuple[int, ...]
    min_insync_replicas: int | None


class Counts(Struct, frozen=True, kw_only=True):
    """`looked_at` of the `hosted` partitions were."""

    hosted: int
    looked_at: int
    without_leader: int
    under_min_isr: int
    unknown: int
    leaders_move: int


class Stopped(Struct, frozen=True):
    """What would be if the broker stopped now: how many partitions of each kind, and the first few."""

    broker_id: int
    counts: Counts
    leaderless: tuple[Left, ...]
    refusing: tuple[Left, ...]
    level: Level
    sentence: str


def if_it_stops(broker_id: int, hosted: int, partitions: Iterable[Partition], serving: Collection[int], *, is_old: bool = False) -> Stopped:
    """`serving`: who runs and has its data folder; `is_old`: what is known may be otherwise by now."""
    is_gone = broker_id not in serving and not is_old
    leaderless, refusing, unknown, moves, looked = list[Left](), list[Left](), 0, 0, 0
    for row in () if is_gone else partitions:
        looked += 1
        unknown += row.state == "unknown"
        if broker_id not in row.isr or row.state in ("unknown", "deleting"):
            continue
        left = Left(row.topic, row.partition, tuple(b for b in row.isr if b != broker_id and b in serving), row.min_insync_replicas)
        if not left.isr:
            leaderless.append(left)
            continue
        moves += row.leader == broker_id
        if left.min_insync_replicas is None:
            unknown += 1
        elif len(left.isr) < left.min_insync_replicas:
            refusing.append(left)
    counts = Counts(
        hosted=hosted,
        looked_at=looked,
        without_leader=len(leaderless),
        under_min_isr=len(refusing),
        unknown=unknown,
        leaders_move=moves,
    )
    verdict: tuple[Level, str] = ("notice", GONE.format(broker_id)) if is_gone else _verdict(broker_id, counts, is_old=is_old)
    return Stopped(broker_id, counts, tuple(leaderless[:NAMED]), tuple(refusing[:NAMED]), *verdict)


def _verdict(broker_id: int, found: Counts, *, is_old: bool) -> tuple[Level, str]:
    moved = (
        f"{counted(found.leaders_move, 'leadership')} would move to other brokers." if found.leaders_move else "No leadership would move."
    )
    bad = [
        (found.without_leader, "would have no leader: nobody else who runs is in the ISR."),
        (found.under_min_isr, "would refuse writes with acks=all: fewer than min.insync.replicas were left."),
    ]
    said = [f"{counted(number, 'partition')} {words}" for number, words in bad if number]
    said += _not_known(found, is_old=is_old)
    if found.without_leader or found.under_min_isr:
        return "bad" if found.without_leader else "warn", " ".join([*said, moved])
    if said:
        return "unknown", " ".join([*said, moved])
    return "ok", f"Nothing would be lost or refused if broker {broker_id} stopped now. {moved}"


def _not_known(found: Counts, *, is_old: bool) -> list[str]:
    said = ["All is as it was last known, and may be otherwise by now."] if is_old else []
    if found.unknown:
        said.append(f"Of {counted(found.unknown, 'partition')} it is not known who is in sync, or how many have to be.")
    if found.looked_at < found.hosted:
        said.append(f"Only the worst {whole(found.looked_at)} of {counted(found.hosted, 'partition')} were looked at.")
    return said
