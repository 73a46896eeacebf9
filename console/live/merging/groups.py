"""Groups and their lag, merged from the coordinators' claims and the partitions' ends. Pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from msgspec.structs import replace

from broker_core.contract import feed
from broker_core.contract.groups import Group, Lag, LagBasis, LagStatus, Member, Place, Reader
from broker_core.contract.partitions import Partition
from broker_core.contract.record_times import RecordTime
from console.rules import lag as rules
from console.rules.lag_reasons import reason, slowest
from console.rules.partitions import UNKNOWN
from console.rules.rhythm import Rhythm, attention, is_in_rhythm, step

TopicPartition = tuple[str, int]
End = Callable[[TopicPartition], Partition | None]
HISTORY_S = 180
CONSUMER_OFFSETS = "__consumer_offsets"
"""A group lives in a partition of it: who leads that coordinates the group."""


@dataclass(slots=True)
class GroupFacts:
    """One group as its coordinator last told it, with short histories for trend and lag rules."""

    group: str
    coordinator: int
    claim: feed.Group
    committed: dict[TopicPartition, tuple[int, int | None]] = field(default_factory=dict)
    commits: dict[TopicPartition, deque[rules.Commit]] = field(default_factory=dict)
    totals: deque[rules.Sample] = field(default_factory=lambda: deque(maxlen=HISTORY_S))
    times: dict[TopicPartition, RecordTime] = field(default_factory=dict)
    """Of the record at a committed offset, or at an earlier one of the same partition."""
    rhythm: Rhythm = field(default_factory=Rhythm)
    ends: Mapping[TopicPartition, int] | None = None
    """Of a group that is asked for: where the logs ended at that moment, `looked_ms`. Ends of another moment make a lag that never was."""
    looked_ms: int | None = None
    has_left: bool = False
    """Who told of it coordinates it no more, and no other one has told of it yet."""
    untold_ms: int | None = None
    """Since when another broker that is heard has its home and does not tell of it."""

    def judged_ms(self, now_ms: int) -> int:
        """The moment that lag is told of."""
        return now_ms if self.looked_ms is None else self.looked_ms

    def end_of(self, tp: TopicPartition, partition: Partition | None) -> int | None:
        return end_offset(partition) if self.ends is None else self.ends.get(tp)

    def take(self, claim: feed.Group, coordinator: int, end_of: Callable[[TopicPartition], int | None], now_ms: int) -> None:
        """A newer claim: its offsets are all of the group's (absolute)."""
        self.claim, self.coordinator, self.has_left = claim, coordinator, False
        fresh: dict[TopicPartition, tuple[int, int | None]] = {}
        for row in claim.offsets:
            tp = (row.topic, row.partition)
            fresh[tp] = (row.offset, row.commit_ms)
            if self.committed.get(tp) != fresh[tp]:
                lag = rules.partition_lag(row.offset, end_of(tp)) or 0
                ring = self.commits.setdefault(tp, deque(maxlen=rules.WINDOW))
                ring.append(rules.Commit(row.commit_ms or now_ms, row.offset, lag))
        for gone in self.committed.keys() - fresh.keys():
            self.commits.pop(gone, None)
            self.times.pop(gone, None)
        self.committed = fresh

    def offsets(self) -> dict[TopicPartition, int]:
        return {tp: offset for tp, (offset, _) in self.committed.items()}

    def look(self, lag: int, lag_s: float | None, now_ms: int) -> None:
        """Once a second."""
        self.totals.append(rules.Sample(now_ms, lag))
        self.rhythm = step(self.rhythm, lag, lag_s, now_ms)

    def owners(self) -> dict[TopicPartition, feed.Member]:
        return {
            (topic, partition): member
            for member in self.claim.members
            for topic, partitions in (member.assignment or {}).items()
            for partition in partitions
        }


class Ends:
    """The end offsets that groups read towards, sampled once a second for lag in seconds."""

    def __init__(self) -> None:
        self._rings: dict[TopicPartition, deque[rules.Sample]] = {}

    def sample(self, tp: TopicPartition, end: int, now_ms: int) -> None:
        ring = self._rings.setdefault(tp, deque(maxlen=HISTORY_S))
        if len(ring) >= 2 and ring[-1].value == ring[-2].value == end:
            ring[-1] = rules.Sample(now_ms, end)
        else:
            ring.append(rules.Sample(now_ms, end))

    def of(self, tp: TopicPartition) -> list[rules.Sample]:
        return list(self._rings.get(tp, ()))

    def keep_only(self, wanted: set[TopicPartition]) -> None:
        for tp in self._rings.keys() - wanted:
            del self._rings[tp]


def end_offset(partition: Partition | None) -> int | None:
    """What a consumer can read up to: the HW, else the log end. None of what nobody tells of: what a silent leader last said is old."""
    if partition is None or partition.state == UNKNOWN:
        return None
    return partition.log_end_offset if partition.high_watermark is None else partition.high_watermark


def lag_rows(facts: GroupFacts, partition_of: End, ends: Ends, now_ms: int, *, is_told: bool = True) -> Iterator[Lag]:
    """A row of each partition that is committed, or read and known: an assignment is what a client wrote. Where nobody tells of the group
    (`is_told`), what it had committed is old and says nothing of lag."""
    owners = facts.owners()
    for tp in sorted(facts.committed.keys() | owners.keys()):
        committed, commit_ms = facts.committed.get(tp, (None, None))
        partition = partition_of(tp)
        if partition is None and tp not in facts.committed:
            continue
        end = facts.end_of(tp, partition) if is_told else None
        known = partition if end is not None else None
        lag = rules.partition_lag(committed, end)
        member = owners.get(tp)
        lag_s, lag_basis = _behind(rules.time_behind(committed, end, facts.times.get(tp), ends.of(tp), facts.judged_ms(now_ms)))
        yield Lag(
            group=facts.group,
            topic=tp[0],
            partition=tp[1],
            committed=committed,
            log_end_offset=known.log_end_offset if known else None,
            high_watermark=end if facts.ends is not None else known.high_watermark if known else None,
            lag=lag,
            lag_s=lag_s,
            lag_basis=lag_basis,
            member_id=member.member_id if member else None,
            client_id=member.client_id if member else None,
            host=member.client_host if member else None,
            committed_at_ms=commit_ms,
            status=(status := _status(facts, tp, lag, facts.judged_ms(now_ms))),
            reason=reason(status, facts.commits.get(tp, ()), lag),
        )


def _behind(behind: rules.Behind | None) -> tuple[float | None, LagBasis | None]:
    return (None, None) if behind is None else (round(behind.seconds, 1), behind.basis)


def _status(facts: GroupFacts, tp: TopicPartition, lag: int | None, now_ms: int) -> LagStatus:
    status = rules.partition_status(facts.commits.get(tp, ()), lag, now_ms)
    return rules.BETWEEN if status in (rules.STOP, rules.STALL, rules.WARN) and is_in_rhythm(facts.rhythm) else status


def unknown_rows(rows: Mapping[TopicPartition, Lag], partition_of: End) -> set[TopicPartition]:
    """Where something is committed and nobody tells how far behind that is. Of a topic that has gone there is nothing to tell."""
    return {
        tp
        for tp, row in rows.items()
        if row.lag is None and row.committed is not None and row.committed >= 0 and partition_of(tp) is not None
    }


def group_value(facts: GroupFacts, rows: list[Lag], now_ms: int, *, unknown: int, is_told: bool) -> Group:
    """`unknown`: so many of the rows are of unknown lag."""
    claim = facts.claim
    if unknown or not is_told:
        return _unknown_value(facts, rows, now_ms, unknown, is_told=is_told)
    known = [row.lag for row in rows if row.lag is not None]
    lag = sum(known) if known else None
    behind = rules.worst_behind(rules.behind_of(row) for row in rows)
    lag_s = behind and behind.seconds
    word, eta = rules.trend(
        list(facts.totals),
        facts.judged_ms(now_ms),
        active=bool(claim.members),
        lag_s=lag_s,
        statuses=[row.status for row in rows if row.status != rules.UNKNOWN],
    )
    last = slowest(rows, facts.commits) if word == "catching_up" else None
    if last is not None:
        eta = None if last.eta_s is None or eta is None else max(eta, last.eta_s)
    place = last.place if last and len(rows) > 1 else None
    wanted = attention(facts.rhythm, lag, lag_s, word)
    facts.rhythm = facts.rhythm._replace(is_warned=wanted == "warn")
    if lag and lag_s is not None and lag_s >= rules.KEEPING_UP_S and word != "catching_up" and is_in_rhythm(facts.rhythm):
        word = "in_rhythm"
    words = rules.group_words(lag, behind, word, eta, every_s=facts.rhythm.every_s, slowest=place)
    return replace(
        _value(facts, rows, now_ms, behind, words),
        lag=lag,
        attention=wanted,
        trend=word if lag is not None else "unknown",
        eta_s=None if eta is None else round(eta, 1),
        slowest=place if word == "catching_up" else None,
    )


def _unknown_value(facts: GroupFacts, rows: list[Lag], now_ms: int, unknown: int, *, is_told: bool) -> Group:
    """Of a group whose lag nobody knows now: it is no alarm (what is silent is), and nothing of it is learnt. By its other partitions it is
    so long behind at least."""
    longest = rules.worst_behind(map(rules.behind_of, rows))
    behind = rules.Behind(longest.seconds, rules.AT_LEAST) if longest and longest.seconds > 0 else None
    found = _value(facts, rows, now_ms, behind, rules.unknown_words(behind, unknown, len(rows), None if is_told else facts.coordinator))
    return found if is_told else replace(found, state=None)


def _value(facts: GroupFacts, rows: list[Lag], now_ms: int, behind: rules.Behind | None, words: str) -> Group:
    """All but what is known only where its lag is."""
    claim = facts.claim
    shown_s, lag_basis = _behind(behind)
    return Group(
        group=facts.group,
        state=claim.state,
        protocol_type=claim.protocol_type,
        protocol=claim.protocol,
        generation=claim.generation,
        coordinator=facts.coordinator,
        members=tuple(map(_member, claim.members)),
        topics=tuple(sorted({row.topic for row in rows})),
        lag=None,
        lag_s=shown_s,
        lag_basis=lag_basis,
        attention=None,
        rhythm_s=facts.rhythm.every_s,
        trend="unknown",
        eta_s=None,
        sentence=f"Group {facts.group} {words}",
        at_ms=now_ms,
    )


class Reading(NamedTuple):
    """A group on one topic; `is_unknown` where something that it committed there is of unknown lag."""

    reader: Reader
    is_unknown: bool


def by_topic(group: str, rows: Mapping[TopicPartition, Lag], unknown: Collection[TopicPartition]) -> dict[str, Reading]:
    """The records that the group has not read of each topic; None where that is not known, or nothing is committed."""
    lags: dict[str, list[int]] = {}
    for (topic, _), row in rows.items():
        lags.setdefault(topic, []).extend(() if row.lag is None else (row.lag,))
    hidden = {topic for topic, _ in unknown}
    return {t: Reading(Reader(group, sum(known) if known and t not in hidden else None), t in hidden) for t, known in lags.items()}


def _member(member: feed.Member) -> Member:
    assigned = member.assignment or {}
    return Member(
        member_id=member.member_id,
        client_id=member.client_id,
        host=member.client_host,
        instance_id=member.group_instance_id,
        partitions=tuple(Place(t, p) for t in sorted(assigned) for p in sorted(assigned[t])),
    )
