"""A cluster without state feeds, by what it answers to questions that any client may ask. Pure.

Its metadata takes the place of the coordination store, and a broker is heard when it answers anything. Nothing is said of what no answer
has: replicas' log ends, why one fell out of an ISR, how a leader was elected. A cluster that does not answer is of unknown state.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from broker_core.contract import feed
from broker_core.contract.live import Feed, Kind
from console.live.events import happened as events
from console.live.events.happened import Happened
from console.live.merging.feed_freshness import FeedWatch
from console.live.merging.partition import Asked
from console.live.merging.questions import Questions
from console.live.merging.rates import RateBook
from console.live.merging.state import ClusterState
from console.rules.rhythm import Rhythm
from console.snapshot import keys
from console.snapshot.write import Value


class Leadership(Struct, frozen=True, gc=False):
    """Of a partition, as metadata tells it: the leader is -1 where there is none; `offline` are replicas that their brokers run without."""

    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    offline: tuple[int, ...] = ()


class AskedState(ClusterState):
    gone_why = "the cluster's metadata names it no more"

    def __init__(self, cluster_id: str, questions: Questions, rhythms: Mapping[str, Rhythm] | None = None) -> None:
        super().__init__(cluster_id, None, rhythms)
        self.questions: Questions = questions
        self.feeds = FeedWatch(questions.every_ms("groups"))
        self._counted_ms: int | None = None
        """When logs were asked for whose ends are not counted yet."""
        self._holders: set[int] = set()
        self._told_brokers: set[int] = set()

    # --- answers

    def answered(self, kind: Kind, asked_ms: int, every_ms: int, now_ms: int, error: str | None = None) -> None:
        """All of this kind is known as it was at `asked_ms`; `error` is what a part of it was refused with."""
        self.questions.answered(kind, asked_ms, every_ms, error)
        if kind == "metadata":
            self.set_store(True, now_ms)
        if kind == "offsets":
            self._counted_ms = asked_ms
        self._dirty_cluster = True

    def unanswered(self, kind: Kind, why: str, now_ms: int) -> None:
        self.questions.failed(kind, why)
        if kind == "metadata":
            self.set_store(False, now_ms)
        self._dirty_cluster = True

    def broker_answered(self, broker: int, now_ms: int) -> None:
        self.feeds.heard(broker, now_ms)
        self._note_silence(now_ms)
        self._dirty_brokers.add(broker)

    def set_holders(self, brokers: set[int]) -> None:
        """Who is to have a copy of anything. Of these one that is not there is down; any other that is gone is none of the cluster's."""
        self._dirty_brokers |= brokers - self._holders
        self._holders = brokers

    def set_leadership(self, topic: str, partition: int, told: Leadership) -> None:
        """If it is not older than what is known."""
        tp = (topic, partition)
        facts = self.partitions.facts.get(tp)
        store = (told.leader, told.leader_epoch, list(told.isr))
        known = None if facts is None else facts.store
        if facts is not None and known is not None and (known[1] > told.leader_epoch or (known, facts.offline) == (store, told.offline)):
            return
        self.partitions.of(tp).set_metadata(store, told.offline)

    def set_log(self, topic: str, partition: int, log: Asked) -> None:
        """Where a partition's log begins and ends."""
        facts = self.partitions.facts.get((topic, partition))
        if facts is not None and facts.asked != log:
            self.partitions.of((topic, partition)).asked = log

    def set_size(self, topic: str, partition: int, broker: int, size_bytes: int) -> None:
        facts = self.partitions.facts.get((topic, partition))
        if facts is not None and facts.sizes_bytes.get(broker) != size_bytes:
            self.partitions.of((topic, partition)).sizes_bytes[broker] = size_bytes

    def set_folder(self, broker: int, folder: feed.LogDir) -> None:
        self.folders[broker] = folder
        self._dirty_brokers.add(broker)

    # --- time

    def _look(self, now_ms: int) -> None:
        """No broker of a cluster that does not answer is heard; rates of logs that nobody tells of any more are not known."""
        if self.store_is_away(now_ms):
            for broker in self.alive():
                self.feeds.cut(broker)
            self._note_silence(now_ms)
        if self._counted_ms is not None and not self.has_more(now_ms):
            self._count_records(self._counted_ms)
            self._counted_ms = None
        if self.questions.age("offsets", now_ms).state != "live":
            self.rates = RateBook()
            self._dirty_topics |= self.topics.keys()

    # --- views of it

    def store_is_away(self, now_ms: int) -> bool:
        """Whether the metadata cannot be had: nobody is there, or all are so slow that three intervals have passed."""
        age = self.questions.age("metadata", now_ms)
        return super().store_is_away(now_ms) or (age.at_ms is not None and age.state != "live")

    def known_brokers(self) -> set[int]:
        return self.alive() | self._holders

    def take(self, now_ms: int, limit: int | None = None) -> tuple[dict[str, Value | None], list[Happened]]:
        changed, told = super().take(now_ms, limit)
        known, before = self.known_brokers(), self._told_brokers
        self._told_brokers = known
        return {**changed, **{keys.broker(broker): None for broker in before - known}}, told

    def parts(self, now_ms: int) -> Feed:
        return self.questions.feed({str(b): self.feeds.age(b, now_ms) for b in sorted(self.alive())}, now_ms)

    def due_ms(self, now_ms: int) -> int:
        return self.questions.due_ms()

    def oldest_ms(self, now_ms: int) -> int:
        return min(now_ms, self.questions.oldest_ms())

    def _controller_event(self, before: int | None, at_ms: int) -> Happened | None:
        return events.asked_controller_event(before, *self.controller, at_ms)
