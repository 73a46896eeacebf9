"""The fetch sessions of one broker: a bounded number of slots and who may take another's (KIP-227).

A newcomer gets a free slot; else the slot of a session unused for two minutes; else that of the least valuable session
that is less valuable than itself: consumers' before followers' (a follower's session is *privileged*), fewer partitions
before more. A session younger than two minutes is safe from sessions of its own kind (KAFKA-9137), a consumer's is never
safe from a follower.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Sequence

from broker_core.errors import ErrorCode
from broker_core.replication.serving.fetch_session import (
    FINAL_EPOCH,
    INITIAL_EPOCH,
    NO_SESSION,
    Answer,
    FetchClock,
    FetchContext,
    FetchSession,
    FullFetchContext,
    IncrementalFetchContext,
    PartitionKey,
    SessionErrorContext,
    SessionWatch,
    WantedPartition,
)

EVICTION_MS = 120_000
TOPIC_IDS_SINCE = 13

Rank = tuple[bool, int, int]
"""(privileged, partitions, session id): the least is evicted first."""


class FetchSessionCache:
    """All sessions of a broker. `draw_id` gives random positive 31-bit numbers; `slots` may change while running."""

    def __init__(self, slots: Callable[[], int], draw_id: Callable[[], int], watch: SessionWatch) -> None:
        self._slots = slots
        self._draw_id = draw_id
        self._watch = watch
        self._sessions: dict[int, FetchSession] = {}
        self._by_use: dict[int, FetchSession] = {}
        self._takeable: list[Rank] = []
        self._takeable_by_followers: list[Rank] = []
        self.partition_count = 0
        self.evictions = 0

    def __len__(self) -> int:
        return len(self._sessions)

    def get(self, session_id: int) -> FetchSession | None:
        return self._sessions.get(session_id)

    def context(
        self,
        version: int,
        session_id: int,
        session_epoch: int,
        *,
        partitions: list[WantedPartition],
        forgotten: Sequence[PartitionKey],
        now_ms: float,
        from_follower: bool,
    ) -> FetchContext:
        """What the request means; a session's epoch advances here, when the request arrives.

        Of a partition that is named more than once the last mention counts, as in Kafka.
        """
        if len(partitions) > 1:
            partitions = list({wanted.key: wanted for wanted in partitions}.values())
        if session_epoch in (INITIAL_EPOCH, FINAL_EPOCH):
            self.close(session_id)
            return self._full_context(version, session_epoch, partitions, now_ms, from_follower=from_follower)
        session = self._sessions.get(session_id)
        if session is None:
            return SessionErrorContext(ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
        if session.epoch != session_epoch:
            return SessionErrorContext(ErrorCode.INVALID_FETCH_SESSION_EPOCH)
        if session.uses_topic_ids != (version >= TOPIC_IDS_SINCE):
            return SessionErrorContext(ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR)
        return self._next_context(session, partitions, forgotten, now_ms)

    def _full_context(
        self, version: int, session_epoch: int, partitions: list[WantedPartition], now_ms: float, *, from_follower: bool
    ) -> FetchContext:
        clock = FetchClock(now_ms)
        if session_epoch == FINAL_EPOCH or not partitions:
            return FetchContext(partitions, clock)

        def opener(clock: FetchClock, answers: list[Answer]) -> FetchSession | None:
            return self._open(clock, answers, now_ms, privileged=from_follower, uses_topic_ids=version >= TOPIC_IDS_SINCE)

        return FullFetchContext(partitions, clock, opener)

    def _next_context(
        self, session: FetchSession, partitions: list[WantedPartition], forgotten: Iterable[PartitionKey], now_ms: float
    ) -> FetchContext:
        for wanted in partitions:
            session.put(wanted)
        for key in forgotten:
            cached = session.partitions.get(key)
            if cached is not None and session.forget(key):
                self._watch.lost(session, cached.wanted)
        if not session.partitions:
            self.close(session.session_id)
            return FetchContext(partitions, FetchClock(now_ms))
        if session.unwatched:
            session.watch(self._watch.gained)
        session.clock.last_fetch_ms = now_ms
        session.advance()
        self._touch(session, now_ms)
        return IncrementalFetchContext(session)

    def close(self, session_id: int) -> None:
        """Drops a session; an unknown id is fine."""
        session = self._sessions.pop(session_id, None)
        if session is None:
            return
        del self._by_use[session_id]
        self._unlist(session)
        self.partition_count -= session.listed_size
        for cached in session.partitions.values():
            self._watch.lost(session, cached.wanted)

    def _open(
        self, clock: FetchClock, answers: list[Answer], now_ms: float, *, privileged: bool, uses_topic_ids: bool
    ) -> FetchSession | None:
        if len(self._sessions) >= self._slots() and not self._make_room((privileged, len(answers), 0), now_ms):
            return None
        session = FetchSession(self._new_id(), privileged=privileged, uses_topic_ids=uses_topic_ids, clock=clock, now_ms=now_ms)
        for answer in answers:
            session.put(answer.wanted)
        session.watch(self._watch.gained)
        session.take_in(answers)
        self._sessions[session.session_id] = session
        self._touch(session, now_ms)
        return session

    def _make_room(self, rank: Rank, now_ms: float) -> bool:
        victim = self._victim(rank, now_ms)
        if victim is None:
            return False
        self.close(victim)
        self.evictions += 1
        return True

    def _victim(self, rank: Rank, now_ms: float) -> int | None:
        oldest = next(iter(self._by_use.values()), None)
        if oldest is not None and now_ms - oldest.last_used_ms > EVICTION_MS:
            return oldest.session_id
        takeable = self._takeable_by_followers if rank[0] else self._takeable
        if takeable and rank >= takeable[0]:
            return takeable[0][2]
        return None

    def _touch(self, session: FetchSession, now_ms: float) -> None:
        """Moves the session to the end of the line of use and lists it where it may be taken from."""
        session.last_used_ms = now_ms
        self._by_use.pop(session.session_id, None)
        self._by_use[session.session_id] = session
        settled_in = now_ms - session.created_ms > EVICTION_MS
        if session.listed_as_settled_in is settled_in and session.listed_size == len(session.partitions):
            return
        self._unlist(session)
        self.partition_count += len(session.partitions) - session.listed_size
        session.listed_size = len(session.partitions)
        session.listed_as_settled_in = settled_in
        rank = _rank(session)
        if settled_in or not session.privileged:
            insort(self._takeable_by_followers, rank)
        if settled_in:
            insort(self._takeable, rank)

    def _unlist(self, session: FetchSession) -> None:
        session.listed_as_settled_in = None
        rank = _rank(session)
        for listed in (self._takeable, self._takeable_by_followers):
            position = bisect_left(listed, rank)
            if position < len(listed) and listed[position] == rank:
                del listed[position]

    def _new_id(self) -> int:
        session_id = self._draw_id()
        while session_id == NO_SESSION or session_id in self._sessions:
            session_id = self._draw_id()
        return session_id


def _rank(session: FetchSession) -> Rank:
    return (session.privileged, session.listed_size, session.session_id)
