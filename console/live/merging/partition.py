"""One partition, merged from what its replicas claim and what the coordination store says. Pure.

Who is believed: the leadership (leader, epoch, ISR) with the highest leader epoch; at one epoch the leader's own claim before
the store's, because the leader is the one that writes the ISR, unless that leader's feed is lost. Two brokers that both claim to
lead are both shown. What is known of a replica's log is `known_log`'s to say.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from msgspec.structs import replace

from broker_core.contract import feed, partitions
from broker_core.contract.feed import Follower
from broker_core.contract.stored import Assignment, Topic
from console.live.merging.replica_log import FETCHES_MS, ReplicaLog, known_log, last_words
from console.rules import recovery
from console.rules.partitions import OFFLINE, UNDER_MIN_ISR, partition_state
from console.rules.remarks import remarks
from console.rules.words import duration

NOWHERE = Assignment(())
TRUNCATION_SHOWN_MS = 60_000
NOT_TOLD = "the cluster does not tell why"
"""Why a replica is out of the ISR of a cluster that has no state feed."""
FOLDER_OFFLINE = "its data folder is offline"
"""Why a replica is out of the ISR although its broker runs: an I/O error."""
TENTHS_BELOW_S = 60
"""An age that decides (`replica.lag.time.max.ms` is 30 s) is told in tenths of a second."""


class Claim(NamedTuple):
    """What a broker told of its replica, and when by this clock."""

    row: feed.Replica
    at_ms: int


class Asked(NamedTuple):
    """What a leader without a state feed has answered of its log: offsets; `log_end_offset` is what no client is told."""

    high_watermark: int | None
    log_start_offset: int | None
    last_stable_offset: int | None
    log_end_offset: None = None


@dataclass(slots=True)
class PartitionFacts:
    """Everything heard of one partition. `claims` and `predecessor` are by broker; `store` is (leader, leader_epoch, isr); `led` when a
    broker has said that it leads it; `unclean` is how the present epoch began. Of a cluster that `is_asked`, `asked` are its leader's
    answers, `sizes_bytes` those of its replicas by broker, and `offline` are replicas whose broker runs without them."""

    topic: str
    partition: int
    assigned: Assignment = NOWHERE
    store: tuple[int, int, list[int]] | None = None
    claims: dict[int, Claim] = field(default_factory=dict)
    truncated: dict[int, partitions.SeenCut] = field(default_factory=dict)
    predecessor: dict[int, ReplicaLog] = field(default_factory=dict)
    led: bool = False
    unclean: partitions.UncleanElection | None = None
    is_asked: bool = False
    asked: Asked | None = None
    sizes_bytes: dict[int, int] = field(default_factory=dict)
    offline: tuple[int, ...] = ()

    def set_metadata(self, store: tuple[int, int, list[int]], offline: tuple[int, ...]) -> None:
        """What a cluster's metadata says of its leadership. Between two answers replicas may have come and gone: nobody can tell from
        them how a leader was elected."""
        self.is_asked, self.led, self.offline, self.store = True, self.led or store[0] >= 0, offline, store

    def set_store(self, leader: int, leader_epoch: int, isr: list[int]) -> None:
        """What the store says of its leadership. Whoever leads a new epoch alone and was in no ISR known before was elected unclean."""
        before = self.store
        if before is not None and leader_epoch != before[1]:
            told = [row for row, _ in self.claims.values() if row.role == "leader" and row.leader_epoch == before[1]]
            in_sync = {*before[2], *(b for row in told for b in row.isr or ())}
            alone = leader >= 0 and isr == [leader] and leader not in in_sync
            unclean = alone and before[2] and leader_epoch > before[1]
            self.unclean = partitions.UncleanElection(leader_epoch, tuple(sorted(before[2]))) if unclean else None
        self.store = (leader, leader_epoch, isr)


def leadership(facts: PartitionFacts, heard: Collection[int]) -> tuple[int | None, int | None, list[int]]:
    """(leader, leader_epoch, isr); leader None where there is none or it is not known."""
    leading = [(row.leader_epoch, b) for b, (row, _) in facts.claims.items() if row.role == "leader" and b in heard]
    best = max(leading, default=None)
    if facts.store is not None and (best is None or facts.store[1] > best[0]):
        leader, epoch, isr = facts.store
        return (leader if leader >= 0 else None), epoch, list(isr)
    if best is not None:
        return best[1], best[0], list(facts.claims[best[1]].row.isr or ())
    return _as_followers_say(facts)


def _as_followers_say(facts: PartitionFacts) -> tuple[int | None, int | None, list[int]]:
    if not facts.claims:
        return None, None, []
    row = max((row for row, _ in facts.claims.values()), key=lambda row: row.leader_epoch)
    return (row.leader if row.leader >= 0 else None), row.leader_epoch, list(row.isr or ())


def rival_claims(facts: PartitionFacts, heard: Collection[int]) -> tuple[partitions.Claim, ...] | None:
    rivals = [(b, row.leader_epoch) for b, (row, _) in facts.claims.items() if row.role == "leader" and b in heard]
    return tuple(partitions.Claim(*rival) for rival in sorted(rivals)) if len(rivals) > 1 else None


@dataclass(frozen=True, slots=True)
class Brokers:
    """Who is there (registered, and not gone before its session's end), whose words count now (those there whose feed is not lost), when
    each was last heard, who of those there is not heard at this moment, and the state of local processes."""

    alive: Collection[int]
    heard: Collection[int]
    heard_ms: Mapping[int, int]
    silent: Collection[int]
    processes: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Led:
    """Who leads, the ISR, what the leader told where it has, and the followers in that by broker."""

    leader: int | None
    isr: list[int]
    claim: Claim | None
    seen: dict[int, Follower]


def merge_partition(
    facts: PartitionFacts, brokers: Brokers, topic: Topic | None, now_ms: int, *, deleting: bool = False
) -> partitions.Partition:
    """The partition as it is shown."""
    min_isr = topic.min_insync_replicas if topic else None
    leader, epoch, isr = leadership(facts, brokers.heard)
    if leader is not None and leader not in brokers.alive:
        leader = None
    claim = facts.claims.get(leader) if leader is not None else None
    own = claim.row if claim else None
    log = own or (facts.asked if leader is not None else None)
    assignment = facts.assigned.replicas or (own.replicas if own else ()) or tuple(sorted(facts.claims))
    order = (leader, *(b for b in assignment if b != leader)) if leader is not None and leader in assignment else assignment
    moving = bool(facts.assigned.adding or facts.assigned.removing)
    led = Led(leader, isr, claim, {f.broker_id: f for f in own.followers} if own else {})
    state = partition_state(
        leader,
        isr,
        assignment,
        min_isr,
        adding=facts.assigned.adding,
        deleting=deleting,
        starting=_is_starting(facts, leader, brokers.silent),
        silent=leader in brokers.silent,
    )
    value = partitions.Partition(
        topic=facts.topic,
        partition=facts.partition,
        state=state,
        leader=leader,
        preferred_leader=assignment[0] if assignment else None,
        leader_epoch=epoch,
        isr=tuple(isr),
        assignment=assignment,
        high_watermark=log.high_watermark if log else None,
        log_end_offset=log.log_end_offset if log else None,
        log_start_offset=log.log_start_offset if log else None,
        last_stable_offset=log.last_stable_offset if log else None,
        epochs=own.epochs if own else (),
        size_bytes=own.size_bytes if own else facts.sizes_bytes.get(-1 if leader is None else leader),
        min_insync_replicas=min_isr,
        replicas=tuple([_replica(facts, b, led, brokers, now_ms) for b in order]),
        reassigning=partitions.Reassigning(facts.assigned.adding, facts.assigned.removing) if moving else None,
        unclean=facts.unclean,
        advice=None,
        claims=rival_claims(facts, brokers.heard),
        remarks=(),
        at_ms=now_ms,
    )
    if state in (OFFLINE, UNDER_MIN_ISR):
        value = replace(value, advice=_advice(value, facts, brokers, unclean=bool(topic and topic.unclean)))
    said = remarks(value)
    return replace(value, remarks=said) if said else value


def _advice(value: partitions.Partition, facts: PartitionFacts, brokers: Brokers, *, unclean: bool) -> partitions.Advice:
    """What brings it back."""
    gone = [*facts.offline, *(b for b, (row, _) in facts.claims.items() if row.role == "offline")]
    who = recovery.Who(brokers.alive, gone, brokers.processes)
    return recovery.without_leader(value, who, unclean=unclean) if value.state == OFFLINE else recovery.under_min_isr(value, who)


def _is_starting(facts: PartitionFacts, leader: int | None, silent: Collection[int]) -> bool:
    """Where nothing is said of a leader, by the store neither, or who is to lead is heard and has never said that it does. Of one that
    is silent nobody knows."""
    if leader is None:
        return facts.store is None and not facts.claims
    return not facts.led and leader not in silent


def _replica(facts: PartitionFacts, broker: int, led: Led, brokers: Brokers, now_ms: int) -> partitions.Replica:
    seen = led.seen.get(broker)
    claim, alive = facts.claims.get(broker), broker in brokers.alive
    row = claim.row if claim else None
    fetch_age = _aged(seen.fetch_age_ms if seen else None, led.claim, now_ms)
    if broker in brokers.heard and broker not in brokers.silent and row is not None:
        known = ReplicaLog(row.log_end_offset, row.high_watermark)
        age = 0 if broker == led.leader else fetch_age
    else:
        own = last_words(row, brokers.heard_ms.get(broker), facts.predecessor.get(broker))
        known = known_log(own, seen, fetch_age, now_ms, alive=alive)
        age = fetch_age if known.last_seen_ms is None else max(now_ms - known.last_seen_ms, 0)
    cut = facts.truncated.get(broker)
    in_isr = broker in led.isr
    gone = alive and (broker in facts.offline or (row is not None and row.role == "offline"))
    behind = None if in_isr else _aged(seen.caught_up_age_ms if seen else None, led.claim, now_ms)
    new = "a new copy: " if broker in facts.assigned.adding else ""
    why = NOT_TOLD if facts.is_asked and alive else _reason(alive, led.leader, seen, behind, fetch_age)
    return partitions.Replica(
        broker_id=broker,
        is_leader=broker == led.leader,
        in_isr=in_isr,
        log_end_offset=known.log_end_offset,
        high_watermark=known.high_watermark,
        age_ms=age,
        last_seen_ms=known.last_seen_ms,
        reason=None if in_isr else FOLDER_OFFLINE if gone else new + why,
        truncated=cut if cut and now_ms - cut.at_ms < TRUNCATION_SHOWN_MS else None,
        size_bytes=facts.sizes_bytes.get(broker),
    )


def ages(value: partitions.Partition) -> bool:
    """Whether a replica is behind and its reason tells for how long."""
    return any(not r.in_isr and r.age_ms is not None and r.last_seen_ms is None for r in value.replicas)


def same(before: partitions.Partition, after: partitions.Partition) -> bool:
    """Equal but for the moment they were made at, and for ages that say nothing: of what was last seen, since it follows from when
    that was, and of replicas in the ISR."""
    if len(before.replicas) != len(after.replicas) or not all(map(_same_replica, before.replicas, after.replicas)):
        return False
    return before == replace(after, at_ms=before.at_ms, replicas=before.replicas)


def _same_replica(before: partitions.Replica, after: partitions.Replica) -> bool:
    if before == after:
        return True
    told_apart = after.age_ms is None or before.age_ms is None or not (after.in_isr or after.last_seen_ms is not None)
    return not told_apart and before == replace(after, age_ms=before.age_ms)


def _aged(age_ms: int | None, claim: Claim | None, now_ms: int) -> int | None:
    """An age that the leader told, as it is now."""
    return None if age_ms is None or claim is None else age_ms + max(now_ms - claim.at_ms, 0)


def _reason(alive: bool, leader: int | None, seen: Follower | None, caught_up_age: int | None, fetch_age: int | None) -> str:
    """Why a replica is out of the ISR: down, never fetched, stopped fetching, or too slow (spec R3)."""
    if not alive:
        return "broker is down"
    if leader is None:
        return "no leader to follow"
    if seen is None or fetch_age is None:
        return "has not fetched yet"
    if fetch_age > FETCHES_MS:
        return f"no fetch for {duration(fetch_age / 1000, TENTHS_BELOW_S)}"
    if caught_up_age is None:
        return "catching up"
    return f"catching up, behind for {duration(caught_up_age / 1000, TENTHS_BELOW_S)}"
