"""Incremental fetch sessions, the server's side (KIP-227)."""

from __future__ import annotations

from itertools import count
from uuid import UUID

import pytest

from broker_core.errors import ErrorCode
from broker_core.protocol.hot_fetch import FetchPartitionResult
from broker_core.replication.serving.fetch_session import Answer, FetchContext, FetchSession, SessionWatch, WantedPartition
from broker_core.replication.serving.fetch_session_cache import EVICTION_MS, FetchSessionCache

pytestmark = pytest.mark.spec("B20")


class Watched:
    """Which partitions the sessions hold, as told by the cache."""

    def __init__(self) -> None:
        self.held: set[tuple[int, str | None, int]] = set()
        self.told = 0

    def gained(self, session: FetchSession, wanted: WantedPartition) -> bool:
        self.told += 1
        self.held.add((session.session_id, wanted.topic, wanted.partition))
        return True

    def lost(self, session: FetchSession, wanted: WantedPartition) -> None:
        self.held.discard((session.session_id, wanted.topic, wanted.partition))


class Client:
    """Asks a cache and answers by a table of (high watermark, records) per partition number."""

    def __init__(self, slots: int = 3) -> None:
        ids = count(1)
        self.watched = Watched()
        self.cache = FetchSessionCache(lambda: slots, lambda: next(ids), SessionWatch(self.watched.gained, self.watched.lost))
        self.now_ms = 0.0
        self.table: dict[int, tuple[int, int]] = {}
        self.errors: dict[int, ErrorCode] = {}

    def context(
        self,
        session_id: int,
        epoch: int,
        *partitions: int,
        forgotten: tuple[int, ...] = (),
        version: int = 12,
        follower: bool = False,
    ) -> FetchContext:
        return self.cache.context(
            version,
            session_id,
            epoch,
            partitions=[wanted(number) for number in partitions],
            forgotten=[("t", number) for number in forgotten],
            now_ms=self.now_ms,
            from_follower=follower,
        )

    def serve(self, context: FetchContext) -> tuple[ErrorCode, int, list[int]]:
        reply = context.answer([self.answer(want) for want in context.wanted()])
        return reply.error_code, reply.session_id, [answer.wanted.partition for answer in reply.answers]

    def answer(self, want: WantedPartition) -> Answer:
        high_watermark, records = self.table.get(want.partition, (0, 0))
        code = self.errors.get(want.partition, ErrorCode.NONE)
        result = FetchPartitionResult(want.partition, code, high_watermark, high_watermark, 0, records_bytes=records)
        return Answer(want, result, settled=not records and code is ErrorCode.NONE)

    def open(self, *partitions: int, follower: bool = False) -> int:
        return self.serve(self.context(0, 0, *partitions, follower=follower))[1]

    def fetch(self, session_id: int, epoch: int, *partitions: int, forgotten: tuple[int, ...] = ()) -> tuple[ErrorCode, int, list[int]]:
        return self.serve(self.context(session_id, epoch, *partitions, forgotten=forgotten))


def wanted(number: int, offset: int = 0) -> WantedPartition:
    return WantedPartition("t", None, number, offset, 1_000)


def test_a_session_tells_only_news() -> None:
    client = Client()
    session_id = client.open(0, 1, 2)
    assert session_id == 1
    assert client.fetch(session_id, 1) == (ErrorCode.NONE, session_id, [])
    client.table[1] = (5, 0)
    assert client.fetch(session_id, 2)[2] == [], "nobody said that anything happened"
    session = client.cache.get(session_id)
    assert session is not None
    session.mark(("t", 1))
    assert client.fetch(session_id, 3)[2] == [1]
    assert client.fetch(session_id, 4)[2] == []


def test_partitions_with_records_stay_in_line() -> None:
    """Fairness: those that were served go to the end (KAFKA-9137's neighbour)."""
    client = Client()
    client.table = {0: (9, 10), 1: (9, 10), 2: (9, 0)}
    session_id = client.open(0, 1, 2)
    session = client.cache.get(session_id)
    assert session is not None
    assert [want.partition for want in session.wanted()] == [0, 1]
    context = client.context(session_id, 1)
    first, second = context.wanted()
    empty = Answer(second, FetchPartitionResult(1, ErrorCode.NONE, 9, 9, 0), settled=False)
    context.answer([client.answer(first), empty])
    assert [want.partition for want in session.wanted()] == [1, 0]


def test_errors_are_told_every_time_and_the_mark_again_after_them() -> None:
    client = Client()
    client.errors[0] = ErrorCode.NOT_LEADER_OR_FOLLOWER
    session_id = client.open(0)
    assert client.fetch(session_id, 1)[2] == [0]
    assert client.fetch(session_id, 2)[2] == [0]
    client.errors.clear()
    assert client.fetch(session_id, 3)[2] == [0], "the high watermark is news again"
    assert client.fetch(session_id, 4)[2] == []


def test_what_is_watched_is_not_told_again() -> None:
    client = Client()
    session_id = client.open(0, 1)
    client.table[0] = (9, 10)
    for epoch in (1, 2, 3):
        client.fetch(session_id, epoch, 0)
    assert client.watched.told == 2
    client.fetch(session_id, 4, forgotten=(0,))
    client.fetch(session_id, 5, 0)
    assert client.watched.told == 3
    assert client.watched.held == {(session_id, "t", 0), (session_id, "t", 1)}


def test_changed_requests_and_forgotten_partitions() -> None:
    client = Client()
    session_id = client.open(0, 1)
    client.table[3] = (7, 0)
    assert client.fetch(session_id, 1, 3, forgotten=(0,))[2] == [3]
    assert client.watched.held == {(session_id, "t", 1), (session_id, "t", 3)}
    assert client.fetch(session_id, 2, forgotten=(1, 3)) == (ErrorCode.NONE, 0, [])
    assert len(client.cache) == 0
    assert client.watched.held == set()


def test_wrong_sessions() -> None:
    client = Client()
    session_id = client.open(0)
    assert client.fetch(99, 1)[0] is ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert client.fetch(session_id, 2)[0] is ErrorCode.INVALID_FETCH_SESSION_EPOCH
    assert client.serve(client.context(session_id, 1, version=13))[0] is ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR
    assert client.fetch(session_id, 1)[0] is ErrorCode.NONE


def test_a_repeated_request_voids_the_waiting_one() -> None:
    client = Client()
    session_id = client.open(0)
    waiting = client.context(session_id, 1)
    client.context(session_id, 2)
    assert client.serve(waiting)[0] is ErrorCode.INVALID_FETCH_SESSION_EPOCH


def test_closing_and_replacing() -> None:
    client = Client()
    session_id = client.open(0)
    assert client.serve(client.context(session_id, -1, 0)) == (ErrorCode.NONE, 0, [0])
    assert len(client.cache) == 0
    session_id = client.open(0)
    assert client.serve(client.context(session_id, 0, 0))[1] == session_id + 1
    assert len(client.cache) == 1
    assert client.open() == 0, "a fetch of nothing gets no session"


def test_epochs_go_round() -> None:
    client = Client()
    session_id = client.open(0)
    session = client.cache.get(session_id)
    assert session is not None
    session.epoch = 2**31 - 1
    assert client.fetch(session_id, 2**31 - 1)[0] is ErrorCode.NONE
    assert client.fetch(session_id, 1)[0] is ErrorCode.NONE


def test_marks_of_partitions_that_are_gone_do_nothing() -> None:
    client = Client()
    session = client.cache.get(client.open(0))
    assert session is not None
    session.mark(("t", 8))
    assert [want.partition for want in session.wanted()] == []


class TestEviction:
    def test_no_room(self) -> None:
        client = Client(slots=1)
        assert client.open(0) == 1
        assert client.open(1, 2, 3) == 0, "young sessions are safe from their own kind"
        assert client.cache.evictions == 0

    def test_stale_sessions_go_first(self) -> None:
        client = Client(slots=2)
        first = client.open(0)
        second = client.open(1, 2)
        client.now_ms = EVICTION_MS
        client.fetch(first, 1)
        client.now_ms = EVICTION_MS + 1
        assert client.open(3) == 3
        assert client.cache.get(second) is None
        assert client.cache.get(first) is not None

    def test_followers_take_consumers_slots(self) -> None:
        client = Client(slots=2)
        small = client.open(0)
        large = client.open(1, 2)
        assert client.open(5, follower=True) == 3
        assert client.cache.get(small) is None
        assert client.open(5, follower=True) == 4
        assert client.cache.get(large) is None
        assert client.open(5, follower=True) == 0, "followers that just came are safe"
        assert client.open(*range(50)) == 0

    def test_larger_take_smaller_once_those_are_old(self) -> None:
        client = Client(slots=1)
        old = client.open(0, 1)
        client.now_ms = EVICTION_MS + 1
        client.fetch(old, 1)
        assert client.open(9) == 0
        assert client.open(7, 8, 9) == 2
        assert client.cache.get(old) is None

    def test_counts_stay_right(self) -> None:
        client = Client(slots=2)
        first = client.open(0, 1)
        client.fetch(first, 1, 2)
        client.open(4)
        assert (len(client.cache), client.cache.partition_count) == (2, 4)
        client.open(4, follower=True)
        assert (len(client.cache), client.cache.partition_count) == (2, 4)
        client.cache.close(first)
        assert (len(client.cache), client.cache.partition_count) == (1, 1)


def test_keys_are_ids_from_v13_on() -> None:
    assert WantedPartition("t", UUID(int=3), 1, 0, 1).key == (3, 1)
    assert WantedPartition("t", None, 1, 0, 1).key == ("t", 1)
