"""Where the high watermark may stand."""

from __future__ import annotations

import pytest

from broker_core.replication.follower_state import NEVER, FollowerState
from broker_core.replication.isr.high_watermark import committable_offset, effective_min_isr
from broker_core.replication.isr.states import CommittedIsr, IsrState, PendingExpandIsr, PendingShrinkIsr
from tests.support.replica_model import ModelReplica, fetch

pytestmark = pytest.mark.spec("R5")

LAG = 10_000


def state(broker: int, leo: int, caught_up_ms: float = NEVER) -> FollowerState:
    return FollowerState(broker, log_end_offset=leo, last_caught_up_ms=caught_up_ms)


def mark(leo: int, followers: list[FollowerState], isr: IsrState, now_ms: float = 0, dead: tuple[int, ...] = ()) -> int:
    return committable_offset(leo, followers, isr.maximal, now_ms=now_ms, lag_max_ms=LAG, is_alive=lambda broker: broker not in dead)


def test_the_least_end_of_the_isr() -> None:
    assert mark(10, [state(2, 7), state(3, 9)], CommittedIsr((1, 2, 3))) == 7
    assert mark(10, [state(2, 7), state(3, 9)], CommittedIsr((1, 3))) == 9
    assert mark(10, [state(2, 7)], CommittedIsr((1,))) == 10


def test_an_unknown_end_of_a_member_holds_everything() -> None:
    assert mark(10, [state(2, -1)], CommittedIsr((1, 2))) == -1


def test_a_pending_newcomer_is_waited_for_at_once() -> None:
    assert mark(10, [state(2, 8)], PendingExpandIsr((1,), 2)) == 8


def test_one_who_is_leaving_is_waited_for_until_the_store_said_yes() -> None:
    assert mark(10, [state(2, 3)], PendingShrinkIsr((1, 2), (2,))) == 3
    assert mark(10, [state(2, 3)], CommittedIsr((1,))) == 10


def test_a_caught_up_outsider_is_waited_for_while_it_lives() -> None:
    """Else it would chase a mark that runs away from it, and never join."""
    outsider = state(2, 8, caught_up_ms=0)
    assert mark(10, [outsider], CommittedIsr((1,)), now_ms=LAG) == 8
    assert mark(10, [outsider], CommittedIsr((1,)), now_ms=LAG + 1) == 10
    assert mark(10, [outsider], CommittedIsr((1,)), now_ms=LAG, dead=(2,)) == 10


def test_the_minimum_never_exceeds_the_replicas() -> None:
    assert effective_min_isr(2, 1) == 1
    assert effective_min_isr(2, 3) == 2


@pytest.mark.spec("R2")
def test_an_append_and_two_fetches_raise_both_marks() -> None:
    """0/0/0 → append → fetch 0 → fetch 1 → HW 1 on both sides."""
    leader, follower = ModelReplica(1), ModelReplica(2)
    leader.lead(0, isr=(1, 2), others=(2,))
    fetch(follower, leader)
    assert (leader.leo, leader.high_watermark, leader.remote_leo(2)) == (0, 0, 0)
    assert (follower.leo, follower.high_watermark) == (0, 0)
    leader.produce("m0")
    assert (leader.leo, leader.high_watermark, leader.remote_leo(2)) == (1, 0, 0)
    assert (follower.leo, follower.high_watermark) == (0, 0)
    fetch(follower, leader)
    assert (leader.leo, leader.high_watermark, leader.remote_leo(2)) == (1, 0, 0)
    assert (follower.leo, follower.high_watermark) == (1, 0)
    fetch(follower, leader)
    assert (leader.leo, leader.high_watermark, leader.remote_leo(2)) == (1, 1, 1)
    assert (follower.leo, follower.high_watermark) == (1, 1)
