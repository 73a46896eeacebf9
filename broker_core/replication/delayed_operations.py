"""Who has to hear that a partition moved: waiting requests, fetch sessions, and whoever watches the broker.

One event goes to those who asked for that partition, and to nobody else: fetches without a session wait under the
partition, fetches in a session under the session, and a session learns of a partition by a mark.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple
from uuid import UUID

from broker_core.model import TopicPartition
from broker_core.purgatory.purgatory import Purgatory
from broker_core.replication.isr.states import PendingChange
from broker_core.replication.partition import Moved, Partition
from broker_core.replication.serving.fetch_session import FetchSession, PartitionKey, WantedPartition
from broker_core.seams import Clock


class FollowerKey(NamedTuple):
    """Whose fetch it is; only of those that may wait for long."""

    broker_id: int


FetchKey = TopicPartition | int | FollowerKey
"""A partition, the id of a fetch session, or a follower."""

SessionKey = tuple[int, PartitionKey]
"""A fetch session's id, and what the session calls the partition: of a topic made anew it may have the old id as well."""

Watcher = Callable[[TopicPartition], None]


class DelayedOperations:
    """Delayed produces, fetches and deletions of records, and what completes them."""

    def __init__(self, clock: Clock, *, fetch_purge_interval: int, produce_purge_interval: int, deletion_purge_interval: int) -> None:
        self.produces: Purgatory[TopicPartition] = Purgatory("produce", clock, purge_interval=produce_purge_interval)
        self.fetches: Purgatory[FetchKey] = Purgatory("fetch", clock, purge_interval=fetch_purge_interval)
        self.deletions: Purgatory[TopicPartition] = Purgatory("delete records", clock, purge_interval=deletion_purge_interval)
        self._sessions: dict[TopicPartition, dict[SessionKey, FetchSession]] = {}
        self._watched: dict[SessionKey, TopicPartition] = {}
        self._watchers: list[Watcher] = []
        self.on_isr_change: Callable[[Partition, PendingChange], None] = _ignore

    def close(self) -> None:
        """Lets everything that waits go with what there is."""
        for purgatory in (self.produces, self.deletions):
            purgatory.close()
        self.fetches.close()

    def watch(self, watcher: Watcher) -> Callable[[], None]:
        """Calls `watcher` whenever a partition's offsets, ISR or role changed; returns how to stop that."""
        self._watchers.append(watcher)
        return lambda: self._watchers.remove(watcher)

    def gained(self, session: FetchSession, topic: str | None, wanted: WantedPartition) -> bool:
        """A session has a partition; told again, until this is True, as a topic id that named no topic may have got its name."""
        place = (session.session_id, wanted.key)
        if topic is not None and place not in self._watched:
            tp = self._watched[place] = TopicPartition(topic, wanted.partition)
            self._sessions.setdefault(tp, {})[place] = session
        return topic is not None

    def lost(self, session: FetchSession, wanted: WantedPartition) -> TopicPartition | None:
        """The session gave a partition up; returns which, None if its topic never had a name."""
        place = (session.session_id, wanted.key)
        tp = self._watched.pop(place, None)
        if tp is not None:
            watching = self._sessions[tp]
            del watching[place]
            if not watching:
                del self._sessions[tp]
        return tp

    def sessions_of(self, tp: TopicPartition) -> list[int]:
        """Ids of the fetch sessions that have the partition."""
        return list(dict.fromkeys(session_id for session_id, _ in self._sessions.get(tp, {})))

    def moved(self, partition: Partition, moved: Moved) -> None:
        """Completes what the event allows and sends a change of the ISR on its way."""
        tp = partition.tp
        if moved.change is not None:
            self.on_isr_change(partition, moved.change)
        if moved.log_end or moved.high_watermark:
            self._wake_sessions(tp, for_followers=moved.log_end, for_consumers=moved.high_watermark)
            self.fetches.check_and_complete(tp)
        if moved.high_watermark:
            self.produces.check_and_complete(tp)
        if moved.log_end or moved.high_watermark or moved.isr:
            self.tell(tp)

    def role_changed(self, tp: TopicPartition) -> None:
        """Everything that waits for the partition looks again: most of it has to be told that the leader is elsewhere."""
        self._wake_sessions(tp, for_followers=True, for_consumers=True)
        self.fetches.check_and_complete(tp)
        self.produces.check_and_complete(tp)
        self.deletions.check_and_complete(tp)
        self.tell(tp)

    def log_start_moved(self, tp: TopicPartition) -> None:
        """The next answer of every session tells the new start; nobody is woken for it."""
        for (_, key), session in self._sessions.get(tp, {}).items():
            session.mark(key)
        self.tell(tp)

    def follower_fetched(self, tp: TopicPartition) -> None:
        """A follower told its log start: DeleteRecords may wait for that."""
        if self.deletions.delayed:
            self.deletions.check_and_complete(tp)

    def isr_known(self, tp: TopicPartition) -> None:
        """A follower that was put out may have nothing more to tell: its next fetch, however silent, is looked at."""
        for (_, key), session in self._sessions.get(tp, {}).items():
            if session.privileged:
                session.mark(key)

    def let_follower_ask_again(self, broker_id: int) -> None:
        """What it waits for has changed: its next fetch may name another partition."""
        self.fetches.complete_all(FollowerKey(broker_id))

    def tell(self, tp: TopicPartition) -> None:
        for watcher in tuple(self._watchers):
            watcher(tp)

    def _wake_sessions(self, tp: TopicPartition, *, for_followers: bool, for_consumers: bool) -> None:
        for (_, key), session in tuple(self._sessions.get(tp, {}).items()):
            session.mark(key)
            if for_followers if session.privileged else for_consumers:
                self.fetches.check_and_complete(session.session_id)


def _ignore(partition: Partition, change: PendingChange) -> None:
    """Until somebody writes ISR changes there is nobody to tell."""


def topic_of(wanted: WantedPartition, name_of: Callable[[UUID], str | None]) -> str | None:
    """The name of the topic a fetch wants; None while its id is unknown."""
    if wanted.topic is not None:
        return wanted.topic
    return name_of(wanted.topic_id) if wanted.topic_id is not None else None
