"""Which orders of a controller are obeyed."""

from __future__ import annotations

from uuid import UUID

import pytest

from broker_core.errors import ErrorCode
from broker_core.replication.leadership import is_old_generation, judge_client_epoch, judge_leader_and_isr, judge_stop_replica

pytestmark = pytest.mark.spec("R11")

A, B = UUID(int=1), UUID(int=2)


@pytest.mark.parametrize(
    ("current", "new", "own_id", "new_id", "offline", "expected"),
    [
        (-1, 0, None, A, False, ErrorCode.NONE),
        (4, 5, A, A, False, ErrorCode.NONE),
        (4, 9, A, None, False, ErrorCode.NONE),
        (5, 5, A, A, False, ErrorCode.STALE_CONTROLLER_EPOCH),
        (6, 5, A, A, False, ErrorCode.STALE_CONTROLLER_EPOCH),
        (4, 5, A, B, False, ErrorCode.INCONSISTENT_TOPIC_ID),
        (4, 5, A, A, True, ErrorCode.KAFKA_STORAGE_ERROR),
    ],
)
def test_leader_and_isr(current: int, new: int, own_id: UUID | None, new_id: UUID | None, offline: bool, expected: ErrorCode) -> None:
    verdict = judge_leader_and_isr(current, new, (1, 2), 1, own_topic_id=own_id, new_topic_id=new_id, offline=offline)
    assert verdict is expected


def test_a_broker_that_is_no_replica_refuses() -> None:
    verdict = judge_leader_and_isr(1, 2, (2, 3), 1, own_topic_id=None, new_topic_id=None, offline=False)
    assert verdict is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.parametrize(
    ("current", "new", "expected"),
    [
        (5, 5, ErrorCode.NONE),
        (5, 6, ErrorCode.NONE),
        (5, 4, ErrorCode.FENCED_LEADER_EPOCH),
        (5, -1, ErrorCode.NONE),
        (5, -2, ErrorCode.NONE),
    ],
)
def test_stop_replica(current: int, new: int, expected: ErrorCode) -> None:
    assert judge_stop_replica(current, new, offline=False) is expected
    assert judge_stop_replica(current, new, offline=True) is ErrorCode.KAFKA_STORAGE_ERROR


@pytest.mark.spec("B11")
def test_requests_for_an_earlier_registration() -> None:
    """KIP-380: smaller is old, -1 names none, greater is known to the controller before to us."""
    assert is_old_generation(6, 7)
    assert not is_old_generation(7, 7)
    assert not is_old_generation(8, 7)
    assert not is_old_generation(-1, 7)


@pytest.mark.spec("B3")
def test_clients_of_another_epoch() -> None:
    """KIP-320: the side that is behind learns that it is."""
    assert judge_client_epoch(-1, 5) is ErrorCode.NONE
    assert judge_client_epoch(5, 5) is ErrorCode.NONE
    assert judge_client_epoch(4, 5) is ErrorCode.FENCED_LEADER_EPOCH
    assert judge_client_epoch(6, 5) is ErrorCode.UNKNOWN_LEADER_EPOCH
