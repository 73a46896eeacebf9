"""All groups of a cluster: which are dirty, which partitions they read, and their values when asked. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from itertools import islice
from typing import Protocol

from broker_core.contract import feed
from broker_core.contract.groups import Group, Lag, Reader
from broker_core.contract.partitions import Partition
from broker_core.contract.record_times import RecordTime
from console.live.events import happened as events
from console.live.events.changes import offset_moves
from console.live.events.happened import Happened
from console.live.merging.groups import (
    CONSUMER_OFFSETS,
    End,
    Ends,
    GroupFacts,
    Reading,
    TopicPartition,
    by_topic,
    end_offset,
    group_value,
    lag_rows,
    unknown_rows,
)
from console.live.merging.unread import Unread
from console.live.owner.kept_rhythms import Learnt
from console.rules.lag import KEEPING_UP_S
from console.rules.rhythm import Rhythm
from console.snapshot import keys
from console.snapshot.write import Value

Change = tuple[str, Value | None, Happened | None]
"""(key, value, event); a value that is None is gone."""


UNTOLD_MS = 30_000
"""Reading a long log takes a coordinator that long."""


class Brokers(Protocol):
    """What is known of who coordinates groups."""

    def is_heard(self, broker: int) -> bool:
        """It runs, and tells of itself."""
        ...

    def says_it_leads(self, broker: int, tp: TopicPartition) -> bool: ...


class GroupBook:
    def __init__(self, partition_of: End, rhythms: Mapping[str, Rhythm], brokers: Brokers) -> None:
        self._partition_of, self._brokers = partition_of, brokers
        self._looked: set[str] = set()
        """Groups that were asked for since the last tick."""
        self.learnt = Learnt(rhythms)
        self.groups: dict[str, GroupFacts] = {}
        self.values: dict[str, Group] = {}
        self.rows: dict[str, dict[TopicPartition, Lag]] = {}
        self.dirty: set[str] = set()
        self._readers: dict[TopicPartition, set[str]] = {}
        self._reads: dict[str, set[TopicPartition]] = {}
        self._topic_groups: Counter[str] = Counter()
        self._gone: list[str] = []
        self._ends = Ends()
        self._untimed: dict[tuple[str, TopicPartition], None] = {}
        self._reading: dict[str, dict[str, Reading]] = {}
        self.unknown: set[str] = set()
        """Groups of which nobody knows now how far behind they are."""
        self.unread = Unread()
        self.lag = 0
        """The sum over all groups whose lag is known, kept by difference."""
        self._moves: list[Happened] = []

    def take(self, claim: feed.Group, coordinator: int, now_ms: int, ends: Mapping[TopicPartition, int] | None = None) -> None:
        """`ends` are where the logs that an asked group reads ended at that moment. Who coordinated it in an earlier epoch and does not
        know yet that another one does is not believed."""
        group = claim.group
        facts = self.groups.get(group)
        if facts is not None and facts.coordinator != coordinator and _is_older(claim, facts.claim):
            return
        if facts is None:
            facts = self.groups[group] = GroupFacts(group, coordinator, claim, rhythm=self.learnt.of(group))
        before, old, told_by = facts.claim, facts.offsets(), facts.coordinator
        if ends is not None:
            facts.ends, facts.looked_ms = ends, now_ms
            self._looked.add(group)
        facts.take(claim, coordinator, lambda tp: facts.end_of(tp, self._partition_of(tp)), now_ms)
        if told_by == coordinator:
            self._moves += offset_moves(before, claim, old=old, new=facts.offsets(), at_ms=now_ms)
        self._index(group, set(facts.committed) | set(facts.owners()))
        for tp in facts.committed:
            self._sample(tp, facts.end_of(tp, self._partition_of(tp)), now_ms)
        self.dirty.add(group)

    def keep_named(self, named: set[str]) -> None:
        """All coordinators told all their groups."""
        for group in self.groups.keys() - named:
            self.drop(group, self.groups[group].coordinator)

    def drop(self, group: str, coordinator: int) -> None:
        """Forgets a group unless another coordinator has claimed it since, or is to: one that leads its home no more has only left it."""
        facts = self.groups.get(group)
        if facts is None or facts.coordinator != coordinator:
            return
        home = self._home(facts)
        if home is None or self._brokers.says_it_leads(coordinator, (home.topic, home.partition)):
            self._forget(group, facts)
        else:
            facts.has_left = True
            self.dirty.add(group)

    def _home(self, facts: GroupFacts) -> Partition | None:
        return None if facts.claim.home is None else self._partition_of((CONSUMER_OFFSETS, facts.claim.home))

    def _forget(self, group: str, facts: GroupFacts) -> None:
        del self.groups[group]
        self.learnt.put_by(group, facts.rhythm)
        self._index(group, set())
        self._gone.append(group)
        self.dirty.discard(group)

    def keep_only(self, coordinator: int, named: set[str]) -> None:
        """A coordinator told all its groups: those it no longer names are gone."""
        for group in [g for g, facts in self.groups.items() if facts.coordinator == coordinator and g not in named]:
            self.drop(group, coordinator)

    def coordinators_turned(self, brokers: Collection[int]) -> None:
        """These fell silent, went, or are heard again."""
        self.dirty |= {group for group, facts in self.groups.items() if facts.coordinator in brokers}

    def _is_told(self, facts: GroupFacts) -> bool:
        """Somebody tells of it now. What is asked for says by itself of which moment it is."""
        return facts.ends is not None or (not facts.has_left and self._brokers.is_heard(facts.coordinator))

    def _forget_untold(self, now_ms: int) -> None:
        """Groups that went while nobody told of them: whoever has their home has read it, and does not know them."""
        for group, facts in list(self.groups.items()):
            home = None if self._is_told(facts) else self._home(facts)
            leader = None if home is None else home.leader
            if leader is None or leader == facts.coordinator or not self._brokers.is_heard(leader):
                facts.untold_ms = None
                continue
            facts.untold_ms = facts.untold_ms or now_ms
            if now_ms - facts.untold_ms >= UNTOLD_MS:
                self._forget(group, facts)

    def partition_changed(self, tp: TopicPartition) -> None:
        if readers := self._readers.get(tp):
            self.dirty |= {group for group in readers if self.groups[group].ends is None}

    def tick(self, now_ms: int) -> None:
        for tp, readers in self._readers.items():
            if any(self.groups[group].ends is None for group in readers):
                self._sample(tp, end_offset(self._partition_of(tp)), now_ms)
        self._ends.keep_only(set(self._readers))
        self._forget_untold(now_ms)
        looked, self._looked = self._looked, set()
        for group, facts in self.groups.items():
            if facts.ends is not None and group not in looked:
                continue
            value = self.values.get(group)
            lag = value.lag if value else None
            if value is not None and lag is not None:
                facts.look(lag, value.lag_s, facts.judged_ms(now_ms))
                self.learnt.note(group, facts.rhythm)
            if lag or len({s.value for s in facts.totals}) > 1:
                self.dirty.add(group)

    def take_changes(self, now_ms: int) -> Iterator[Change]:
        """A gone group gives None for itself and each of its rows."""
        for group in self._gone:
            self._replace(group, None)
            self._note_unknown(group, is_unknown=False)
            self._note_untimed(group, {})
            before = self._reading.pop(group, {})
            self.unread.replace(before, {})
            yield from ((keys.reader(topic, group), None, None) for topic in before)
            yield keys.group(group), None, None
            for tp in self.rows.pop(group, {}):
                yield keys.lag(group, *tp), None, None
        dirty, self.dirty, self._gone = sorted(self.dirty), set(), []
        for group in dirty:
            yield from self._group_changes(group, now_ms)
        yield from ((key, value, None) for key, value in self.learnt.take_changes())

    def _group_changes(self, group: str, now_ms: int) -> Iterator[Change]:
        facts = self.groups[group]
        is_told = self._is_told(facts)
        rows = {(row.topic, row.partition): row for row in lag_rows(facts, self._partition_of, self._ends, now_ms, is_told=is_told)}
        before_rows, before = self.rows.get(group, {}), self.values.get(group)
        unknown = unknown_rows(rows, self._partition_of)
        after = group_value(facts, list(rows.values()), now_ms, unknown=len(unknown), is_told=is_told)
        self._note_unknown(group, is_unknown=bool(unknown) or not is_told)
        self._note_untimed(group, rows)
        self.rows[group] = rows
        self._replace(group, after)
        yield from self._reader_changes(group, by_topic(group, rows, unknown))
        for tp in before_rows.keys() - rows.keys():
            yield keys.lag(group, *tp), None, None
        for tp, row in rows.items():
            if row != before_rows.get(tp):
                yield keys.lag(group, *tp), row, None
        yield keys.group(group), after, events.group_event(before, after) if before else None

    def _replace(self, group: str, after: Group | None) -> None:
        before = self.values.pop(group, None)
        self.lag += ((after and after.lag) or 0) - ((before and before.lag) or 0)
        if after is not None:
            self.values[group] = after

    def take_moves(self) -> list[Happened]:
        """Events of offsets that somebody moved."""
        moves, self._moves = self._moves, []
        return moves

    def _reader_changes(self, group: str, after: dict[str, Reading]) -> Iterator[Change]:
        """The index of who reads a topic, with the lag there."""
        before = self._reading.get(group, {})
        self._reading[group] = after
        self.unread.replace(before, after)
        for topic in before.keys() - after.keys():
            yield keys.reader(topic, group), None, None
        for topic, value in after.items():
            if value != before.get(topic):
                yield keys.reader(topic, group), value.reader, None

    def readers(self) -> dict[str, Reader]:
        return {keys.reader(topic, group): value.reader for group, topics in self._reading.items() for topic, value in topics.items()}

    def _note_unknown(self, group: str, *, is_unknown: bool) -> None:
        if is_unknown:
            self.unknown.add(group)
        else:
            self.unknown.discard(group)

    # --- the times of records, which are asked for

    def _note_untimed(self, group: str, rows: Mapping[TopicPartition, Lag]) -> None:
        """Rows so far behind that the time of the record itself is wanted, and not known."""
        for tp in self.rows.get(group, {}).keys() - rows.keys():
            self._untimed.pop((group, tp), None)
        for tp, row in rows.items():
            known = self.groups[group].times.get(tp)
            is_asked = known is not None and known.offset == row.committed
            if row.lag and not is_asked and (row.lag_s is None or row.lag_s >= KEEPING_UP_S):
                self._untimed[group, tp] = None
            else:
                self._untimed.pop((group, tp), None)

    def untimed(self, limit: int) -> list[tuple[str, TopicPartition, int]]:
        """(group, partition, committed offset) of up to `limit` rows whose record's time is wanted, each in its turn."""
        turn = list(islice(self._untimed, limit))
        for row in turn:
            del self._untimed[row]
            self._untimed[row] = None
        known = [(group, tp, facts.committed.get(tp)) for group, tp in turn if (facts := self.groups.get(group)) is not None]
        return [(group, tp, committed[0]) for group, tp, committed in known if committed is not None]

    def take_time(self, group: str, tp: TopicPartition, known: RecordTime) -> None:
        facts = self.groups.get(group)
        if facts is not None and tp in facts.committed:
            facts.times[tp] = known
            self.dirty.add(group)

    def values_behind(self) -> list[Group]:
        return [value for value in self.values.values() if value.lag]

    def reading(self, topic: str) -> int:
        return self._topic_groups[topic]

    def _sample(self, tp: TopicPartition, end: int | None, now_ms: int) -> None:
        if end is not None:
            self._ends.sample(tp, end, now_ms)

    def _index(self, group: str, reads: set[TopicPartition]) -> None:
        before = self._reads.get(group, set())
        for tp in before - reads:
            self._readers[tp].discard(group)
            if not self._readers[tp]:
                del self._readers[tp]
        for tp in reads - before:
            self._readers.setdefault(tp, set()).add(group)
        self._topic_groups.subtract({topic for topic, _ in before})
        self._topic_groups.update({topic for topic, _ in reads})
        if reads:
            self._reads[group] = reads
        else:
            self._reads.pop(group, None)


def _is_older(claim: feed.Group, than: feed.Group) -> bool:
    return claim.epoch is not None and than.epoch is not None and claim.epoch < than.epoch
