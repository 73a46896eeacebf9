"""All partitions of a cluster: what was heard of them, which are dirty, and their values when asked. Pure.

A dirty partition is merged once however often it was told of. `take` may be asked for a slice, so that ten thousand that change at
once do not hold up everything else; meanwhile what comes for those that still wait costs nothing. What is *due later* is merged
when nothing else is left: of a dead broker's followers most are told anew by their leaders soon.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from itertools import islice
from typing import Any

from broker_core.contract.feed import Replica
from broker_core.contract.partitions import Partition, PartitionState, SeenCut
from broker_core.contract.stored import Topic
from console.live.events import happened as events
from console.live.events.happened import Happened
from console.live.merging.counts import Counts
from console.live.merging.partition import Brokers, Claim, PartitionFacts, ages, merge_partition, same
from console.rules.partitions import LEVEL, SAFE

TopicPartition = tuple[str, int]
LATER_MS = 2_000
AGED_LIMIT = 500
"""Partitions whose ages are told anew each second."""


class PartitionBook:
    def __init__(self, topic_of: Callable[[str], Topic | None], changed: Callable[[TopicPartition], None]) -> None:
        """`topic_of` gives a topic's settings as the store has them; `changed` is told of each partition whose value is another one now."""
        self._topic_of, self._changed = topic_of, changed
        self.facts: dict[TopicPartition, PartitionFacts] = {}
        self.values: dict[TopicPartition, Partition] = {}
        self.counts = Counts()
        self.touched: set[tuple[str, Any]] = set()
        """(scope, id) of the sums that changed; whoever takes them empties it."""
        self._dirty: dict[TopicPartition, None] = {}
        self._later: dict[TopicPartition, None] = {}
        self._later_ms = 0
        self._gone: dict[TopicPartition, None] = {}
        self._ageing: dict[TopicPartition, None] = {}
        self._trouble: dict[str, dict[TopicPartition, None]] = {"bad": {}, "warn": {}}

    # --- what was heard

    def of(self, tp: TopicPartition) -> PartitionFacts:
        """The facts of a partition that is now to be merged."""
        facts = self.facts.get(tp)
        if facts is None:
            facts = self.facts[tp] = PartitionFacts(*tp)
        self._dirty[tp] = None
        return facts

    def claim(self, broker: int, row: Replica, at_ms: int, now_ms: int) -> None:
        facts = self.of((row.topic, row.partition))
        facts.led |= row.role == "leader"
        facts.claims[broker] = Claim(row, min(at_ms, now_ms))
        if cut := row.truncation:
            known = facts.truncated.get(broker)
            if known is None or (known.from_, known.to) != (cut.from_, cut.to):
                facts.truncated[broker] = SeenCut(cut.from_, cut.to, now_ms)

    def forget_claims(self, broker: int, keep: Collection[TopicPartition]) -> None:
        for tp in [tp for tp, facts in self.facts.items() if broker in facts.claims and tp not in keep]:
            self.drop_claim(broker, tp)

    def drop_claim(self, broker: int, tp: TopicPartition) -> None:
        facts = self.facts.get(tp)
        if facts and facts.claims.pop(broker, None) is not None:
            self._dirty[tp] = None

    def drop_topic(self, name: str) -> None:
        for tp in [tp for tp in self.facts if tp[0] == name]:
            del self.facts[tp]
            self._remove(tp)

    # --- what is to be merged

    def again(self, partitions: Iterable[TopicPartition]) -> None:
        self._dirty.update(dict.fromkeys(partitions))

    def leaders_turned(self, brokers: Collection[int]) -> None:
        """These fell silent or are heard again: what they lead is merged."""
        self.again([tp for tp, value in self.values.items() if value.leader in brokers])

    def brokers_changed(self, changed: Collection[int], now_ms: int) -> None:
        """Those led by a broker that came or went are another thing at once, the others that it has a copy of a little later."""
        for tp, value in self.values.items():
            if value.leader in changed or value.leader is None:
                self._dirty[tp] = None
            elif any(broker in changed for broker in value.assignment):
                self._later[tp] = None
        self._later_ms = now_ms + LATER_MS

    def processes_changed(self) -> None:
        """What can be done for a partition in danger depends on them."""
        self.again(self._trouble["bad"])

    def tick(self) -> None:
        """The ages of replicas that lag behind are told in their reasons."""
        self.again(islice(self._ageing, AGED_LIMIT))

    def has_more(self, now_ms: int) -> bool:
        return bool(self._dirty) or (bool(self._later) and now_ms >= self._later_ms)

    def take(
        self, brokers: Brokers, deleting: Collection[str], is_known: Callable[[str], bool], now_ms: int, limit: int | None = None
    ) -> tuple[dict[TopicPartition, Partition | None], list[Happened]]:
        """Values that changed (None: gone), and events; at most `limit` partitions are merged."""
        changed: dict[TopicPartition, Partition | None] = {}
        told: list[Happened] = []
        for tp in self._next(now_ms, limit):
            facts = self.facts.get(tp)
            if facts is None or not (facts.assigned.replicas or facts.claims):
                self.facts.pop(tp, None)
                self._remove(tp)
                continue
            if not is_known(tp[0]):
                continue
            before = self.values.get(tp)
            topic = self._topic_of(tp[0])
            after = merge_partition(facts, brokers, topic, now_ms, deleting=tp[0] in deleting)
            if before is not None and same(before, after):
                continue
            told += events.partition_events(before, after, brokers.alive)
            self._put(tp, before, after)
            changed[tp] = after
        gone, self._gone = self._gone, {}
        return {**changed, **gone}, told

    def _next(self, now_ms: int, limit: int | None) -> list[TopicPartition]:
        wanted = self._dirty if self._later_ms > now_ms and limit is not None else {**self._dirty, **self._later}
        taken = sorted(islice(wanted, limit))
        for tp in taken:
            self._dirty.pop(tp, None)
            self._later.pop(tp, None)
        return taken

    def _put(self, tp: TopicPartition, before: Partition | None, after: Partition) -> None:
        self.values[tp] = after
        self._gone.pop(tp, None)
        self.touched |= self.counts.replace(before, after)
        self._changed(tp)
        self._note(self._ageing, tp, ages(after))
        self._note_trouble(tp, after.state)

    def _remove(self, tp: TopicPartition) -> None:
        before = self.values.pop(tp, None)
        self._note(self._ageing, tp, False)
        self._note_trouble(tp, SAFE)
        if before is not None:
            self.touched |= self.counts.replace(before, None)
            self._gone[tp] = None

    # --- trouble

    def _note_trouble(self, tp: TopicPartition, state: PartitionState) -> None:
        level = LEVEL.get(state)
        for name, members in self._trouble.items():
            self._note(members, tp, name == level)

    @staticmethod
    def _note(members: dict[TopicPartition, None], tp: TopicPartition, belongs: bool) -> None:
        if belongs:
            members[tp] = None
        else:
            members.pop(tp, None)

    def worst(self) -> Partition | None:
        """The partition in the worst state, the first by name; an internal topic's only where there is no other."""
        members = self._trouble["bad"] or self._trouble["warn"]
        return self.values[min(members, key=lambda tp: (tp[0].startswith("__"), tp))] if members else None
