"""One leadership's decisions: who joins, who leaves, what the store's answers mean."""

from __future__ import annotations

import pytest

from broker_core.model import LeaderAndIsr
from broker_core.replication.flaws import NO_FLAWS
from broker_core.replication.isr.states import CommittedIsr, PendingExpandIsr, PendingShrinkIsr
from broker_core.replication.leader_state import Acknowledgement, LeaderState
from broker_core.replication.serving.fetch_session import FetchClock

pytestmark = pytest.mark.spec("R3", "R4")

LAG = 10_000


def leadership(isr: tuple[int, ...] = (1, 2), epoch_start: int = 0) -> LeaderState:
    return LeaderState.begin(1, LeaderAndIsr(1, 5, isr, 7), (1, 2, 3), epoch_start=epoch_start, now_ms=0)


def ack(leader: LeaderState, broker: int, offset: int, leo: int, now_ms: float = 0, clock: FetchClock | None = None) -> bool:
    return leader.record_fetch(Acknowledgement(broker, -1, offset, 0, clock), leo, now_ms)


def committable(leader: LeaderState, leo: int, min_isr: int = 1, now_ms: float = 0) -> int:
    return leader.committable(leo, min_isr, now_ms=now_ms, lag_max_ms=LAG, is_alive=lambda broker: True)


def test_a_change_and_its_answer() -> None:
    leader = leadership()
    ack(leader, 3, 10, 10)
    change = leader.propose_expand(3, 10, alive=True, flaws=NO_FLAWS)
    assert change == PendingExpandIsr((1, 2), 3)
    assert change is not None
    assert leader.proposal(change) == LeaderAndIsr(1, 5, (1, 2, 3), 7)
    assert leader.propose_expand(3, 10, alive=True, flaws=NO_FLAWS) is None, "one at a time"
    assert leader.propose_shrink(10, now_ms=9e9, lag_max_ms=LAG) is None
    assert leader.committed(change, (1, 2, 3), 8)
    assert (leader.isr, leader.zk_version) == (CommittedIsr((1, 2, 3)), 8)


@pytest.mark.spec("B8")
def test_an_answer_to_an_earlier_change_is_not_taken() -> None:
    """KAFKA-12686."""
    leader = leadership()
    ack(leader, 3, 10, 10)
    old = leader.propose_expand(3, 10, alive=True, flaws=NO_FLAWS)
    assert old is not None
    assert leader.withdrawn(old)
    ack(leader, 2, 10, 20)
    shrinking = leader.propose_shrink(20, now_ms=LAG + 1, lag_max_ms=LAG)
    assert shrinking == PendingShrinkIsr((1, 2), (2,))
    assert not leader.committed(old, (1, 2, 3), 8)
    assert not leader.refused(old)
    assert (leader.isr, leader.zk_version, leader.deposed) == (shrinking, 7, False)


def test_a_deposed_leader_changes_nothing_more() -> None:
    leader = leadership()
    ack(leader, 2, 10, 20)
    change = leader.propose_shrink(20, now_ms=LAG + 1, lag_max_ms=LAG)
    assert change is not None
    assert leader.refused(change)
    assert leader.isr is change, "stays pending: the mark may not pass the one who was leaving"
    assert committable(leader, 20) == -1
    ack(leader, 3, 20, 20)
    assert leader.propose_expand(3, 10, alive=True, flaws=NO_FLAWS) is None


def test_nobody_is_known_at_the_start() -> None:
    leader = leadership(epoch_start=4)
    assert committable(leader, 10) == -1
    ack(leader, 2, 8, 10)
    assert committable(leader, 10) == 8
    assert committable(leader, 10, min_isr=3) == -1


def test_silent_fetches_count_until_the_append() -> None:
    leader = leadership()
    clock = FetchClock(100)
    ack(leader, 2, 10, 10, 100, clock)
    clock.last_fetch_ms = 5_000
    leader.note_silent_fetches(10)
    assert leader.followers[2].last_caught_up_ms == 5_000
    clock.last_fetch_ms = 6_000
    leader.note_silent_fetches(12)
    assert leader.followers[2].last_caught_up_ms == 5_000, "it fetched, but not at the end"
    assert leader.followers[2].last_fetch_ms == 6_000
    leader.drop_clock(clock, 12)
    clock.last_fetch_ms = 7_000
    leader.note_silent_fetches(12)
    assert leader.followers[2].last_fetch_ms == 6_000


def test_the_low_watermark_is_that_of_the_living() -> None:
    leader = leadership()
    leader.record_fetch(Acknowledgement(2, -1, 10, 4), 10, 0)
    leader.record_fetch(Acknowledgement(3, -1, 10, 2), 10, 0)
    assert leader.low_watermark(6, lambda broker: True) == 2
    assert leader.low_watermark(6, lambda broker: broker != 3) == 4
    assert leader.low_watermark(1, lambda broker: True) == 1
