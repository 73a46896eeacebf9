"""The states of the ISR, its maximal form, and who may join (KIP-497)."""

from __future__ import annotations

import pytest

from broker_core.replication.isr.states import CommittedIsr, PendingExpandIsr, PendingShrinkIsr, expand, may_join, shrink

pytestmark = pytest.mark.spec("R3")


def test_expanding_counts_the_newcomer_at_once() -> None:
    pending = expand(CommittedIsr((1, 2)), 3)
    assert pending == PendingExpandIsr((1, 2), 3)
    assert pending is not None
    assert pending.isr == (1, 2)
    assert pending.maximal == pending.proposed == (1, 2, 3)


def test_shrinking_keeps_the_leaving_until_committed() -> None:
    pending = shrink(CommittedIsr((1, 2, 3)), (2, 3))
    assert pending is not None
    assert pending.maximal == (1, 2, 3)
    assert pending.proposed == (1,)


def test_one_change_at_a_time() -> None:
    for state in (PendingExpandIsr((1,), 2), PendingShrinkIsr((1, 2), (2,))):
        assert state.in_flight
        assert expand(state, 3) is None
        assert shrink(state, (2,)) is None
    assert not CommittedIsr((1,)).in_flight


def test_nothing_to_change() -> None:
    assert expand(CommittedIsr((1, 2)), 2) is None
    assert shrink(CommittedIsr((1, 2)), (3,)) is None
    assert shrink(CommittedIsr((1, 2)), ()) is None


@pytest.mark.spec("B4")
def test_joining_takes_the_high_watermark_and_the_epoch_start() -> None:
    """KAFKA-7128: right after an election the mark may lag behind what is committed."""
    assert may_join(10, high_watermark=10, epoch_start=10)
    assert not may_join(9, high_watermark=10, epoch_start=0)
    assert not may_join(9, high_watermark=5, epoch_start=10)
    assert may_join(12, high_watermark=5, epoch_start=10)
