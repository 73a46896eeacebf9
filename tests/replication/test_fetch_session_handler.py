"""What a fetcher asks for (KIP-227, the client's side)."""

from __future__ import annotations

from uuid import UUID

import pytest
from msgspec.structs import replace

from broker_core.errors import ErrorCode
from broker_core.model import TopicPartition
from broker_core.replication.following import fetch_session_handler
from broker_core.replication.following.fetch_session_handler import (
    BY_ID_VERSION,
    BY_NAME_VERSION,
    FetchRequestData,
    FetchSessionHandler,
    PartitionFetchState,
    Position,
)

pytestmark = pytest.mark.spec("R7")

ID = UUID(int=9)


class Follower:
    """A session over logs that are just positions."""

    def __init__(self, *partitions: int) -> None:
        self.session = FetchSessionHandler(lambda: True)
        self.now_ms = 0.0
        self.positions: dict[TopicPartition, Position] = {}
        for number in partitions:
            self.add(number)

    def add(self, number: int, epoch: int = 0, topic_id: UUID | None = ID) -> TopicPartition:
        tp = TopicPartition("t", number)
        self.positions[tp] = Position(epoch, 0, -1, 0)
        self.session.add(tp, topic_id, epoch)
        return tp

    def move(self, number: int, offset: int) -> None:
        tp = TopicPartition("t", number)
        self.positions[tp] = replace(self.positions[tp], fetch_offset=offset, last_fetched_epoch=0)
        self.session.note(tp)

    def build(self) -> FetchRequestData | None:
        return self.session.build(self.now_ms, self.position)

    def position(self, followed: PartitionFetchState) -> Position | None:
        return self.positions.get(followed.tp)

    def shape(self) -> tuple[int, int, list[tuple[int, int]], list[int]] | None:
        """(session id, epoch, [(partition, offset)], forgotten)"""
        body = self.build()
        if body is None:
            return None
        wanted = [(followed.tp.partition, position.fetch_offset) for followed, position in body.wanted]
        return body.session_id, body.session_epoch, wanted, [followed.tp.partition for followed in body.forgotten]


def test_full_then_only_changes() -> None:
    follower = Follower(0, 1)
    assert follower.shape() == (0, 0, [(0, 0), (1, 0)], [])
    follower.session.answered(ErrorCode.NONE, 7)
    assert follower.shape() == (7, 1, [], [])
    follower.session.answered(ErrorCode.NONE, 7)
    follower.move(1, 5)
    assert follower.shape() == (7, 2, [(1, 5)], [])
    follower.session.answered(ErrorCode.NONE, 7)
    follower.session.note(TopicPartition("t", 1))
    assert follower.shape() == (7, 3, [], []), "noted, but where it was"


def test_many_partitions_come_into_a_session_piece_by_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    """And the requests that carry them do not wait for records."""
    monkeypatch.setattr(fetch_session_handler, "PARTITIONS_PER_REQUEST", 2)
    follower = Follower(*range(5))
    named, waiting = [], []
    for _ in range(4):
        body = follower.build()
        assert body is not None
        named.append([followed.tp.partition for followed, _ in body.wanted])
        waiting.append(not body.more)
        follower.session.answered(ErrorCode.NONE, 7)
    assert named == [[0, 1], [2, 3], [4], []]
    assert waiting == [False, False, True, True]


def test_what_has_moved_in_the_session_is_named_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The source would send the same records again otherwise, of all that waits."""
    monkeypatch.setattr(fetch_session_handler, "PARTITIONS_PER_REQUEST", 2)
    follower = Follower(*range(5))
    for _ in range(3):
        follower.build()
        follower.session.answered(ErrorCode.NONE, 7)
    for number in range(5, 8):
        follower.add(number)
    for number in range(5):
        follower.move(number, 1)
    assert follower.shape() == (7, 3, [(5, 0), (6, 0), *((number, 1) for number in range(5))], [])
    follower.session.answered(ErrorCode.NONE, 7)
    assert follower.shape() == (7, 4, [(7, 0)], [])


def test_without_a_session_each_request_names_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch_session_handler, "PARTITIONS_PER_REQUEST", 2)
    follower = Follower(*range(5))
    assert follower.shape() == (0, 0, [(0, 0), (1, 0)], [])
    follower.session.answered(ErrorCode.NONE, 0)
    for _ in range(2):
        body = follower.build()
        assert body is not None
        assert (sorted(followed.tp.partition for followed, _ in body.wanted), body.more) == ([*range(5)], False)
        follower.session.answered(ErrorCode.NONE, 0)


def test_nothing_to_fetch() -> None:
    follower = Follower()
    assert follower.shape() is None
    tp = follower.add(0)
    follower.session.delay(tp, 100)
    assert follower.shape() is None
    assert follower.session.next_ready_ms() == 100
    follower.now_ms = 100
    assert follower.shape() == (0, 0, [(0, 0)], [])


def test_removed_and_waiting_partitions_leave_the_session() -> None:
    follower = Follower(0, 1, 2)
    follower.build()
    follower.session.answered(ErrorCode.NONE, 7)
    follower.session.remove(TopicPartition("t", 0))
    follower.session.delay(TopicPartition("t", 1), 50)
    assert follower.shape() == (7, 1, [], [0, 1])
    follower.session.answered(ErrorCode.NONE, 7)
    assert follower.shape() == (7, 2, [], [])
    follower.session.answered(ErrorCode.NONE, 7)
    follower.now_ms = 50
    assert follower.shape() == (7, 3, [(1, 0)], [])


def test_a_partition_that_comes_back_at_once_is_not_forgotten() -> None:
    """A new leader epoch: the session gets the new position instead."""
    follower = Follower(0, 1)
    follower.build()
    follower.session.answered(ErrorCode.NONE, 7)
    follower.add(0, epoch=4)
    body = follower.build()
    assert body is not None
    assert [(followed.tp.partition, position.leader_epoch) for followed, position in body.wanted] == [(0, 4)]
    assert body.forgotten == []


def test_a_topic_that_was_made_anew_is_forgotten_under_its_old_id() -> None:
    follower = Follower(0)
    follower.build()
    follower.session.answered(ErrorCode.NONE, 7)
    follower.add(0, topic_id=UUID(int=10))
    body = follower.build()
    assert body is not None
    assert [followed.topic_id for followed, _ in body.wanted] == [UUID(int=10)]
    assert [followed.topic_id for followed in body.forgotten] == [ID]


def test_session_errors() -> None:
    follower = Follower(0)
    follower.build()
    follower.session.answered(ErrorCode.NONE, 7)
    follower.build()
    follower.session.answered(ErrorCode.FETCH_SESSION_ID_NOT_FOUND, 0)
    assert follower.shape() == (0, 0, [(0, 0)], [])
    follower.session.answered(ErrorCode.NONE, 8)
    follower.build()
    follower.session.answered(ErrorCode.INVALID_FETCH_SESSION_EPOCH, 8)
    assert follower.shape() == (8, 0, [(0, 0)], []), "closes the old one, asks for another"
    follower.session.answered(ErrorCode.NONE, 9)
    follower.build()
    follower.session.failed()
    assert follower.shape() == (9, 0, [(0, 0)], [])
    follower.session.answered(ErrorCode.NONE, 0)
    assert follower.shape() == (0, 0, [(0, 0)], []), "no session was to be had"


def test_a_partition_without_a_log_waits_to_be_noted() -> None:
    follower = Follower(0)
    del follower.positions[TopicPartition("t", 0)]
    assert follower.shape() is None
    follower.positions[TopicPartition("t", 0)] = Position(0, 3, 0, 0)
    follower.session.note(TopicPartition("t", 0))
    assert follower.shape() == (0, 0, [(0, 3)], [])


def test_names_instead_of_ids_while_one_is_missing() -> None:
    follower = Follower(0)
    body = follower.build()
    assert body is not None
    assert body.version == BY_ID_VERSION
    follower.session.answered(ErrorCode.NONE, 7)
    tp = follower.add(1, topic_id=None)
    body = follower.build()
    assert body is not None
    assert (body.version, body.session_id, body.session_epoch, len(body.wanted)) == (BY_NAME_VERSION, 7, 0, 2)
    assert follower.session.resolve("t", 0) == TopicPartition("t", 0)
    follower.session.answered(ErrorCode.NONE, 8)
    follower.session.remove(tp)
    body = follower.build()
    assert body is not None
    assert (body.version, body.session_id, body.session_epoch, len(body.wanted)) == (BY_ID_VERSION, 8, 0, 1)


def test_answers_are_resolved_by_id_or_name() -> None:
    follower = Follower(0)
    assert follower.session.resolve(ID, 0) == follower.session.resolve("t", 0) == TopicPartition("t", 0)
    assert follower.session.resolve(ID, 1) is None
    follower.session.remove(TopicPartition("t", 0))
    assert follower.session.resolve(ID, 0) is None
