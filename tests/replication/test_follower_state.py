"""The lastCaughtUp rule and who has to leave the ISR."""

from __future__ import annotations

import pytest

from broker_core.replication.follower_state import NEVER, UNKNOWN_OFFSET, FollowerState, out_of_sync, why_behind

LAG = 10_000


def follower(**changes: float) -> FollowerState:
    state = FollowerState(2)
    for name, value in changes.items():
        setattr(state, name, value)
    return state


def test_a_fetch_at_the_leaders_end_is_caught_up_now() -> None:
    state = follower()
    assert state.record_fetch(100, 0, 100, 5_000, -1)
    assert state.last_caught_up_ms == 5_000
    assert state.log_end_offset == 100


def test_a_fetch_that_reaches_the_end_of_the_last_fetch_was_caught_up_then() -> None:
    """A follower that always trails by one small produce stays in sync."""
    state = follower()
    state.record_fetch(100, 0, 110, 1_000, -1)
    assert state.last_caught_up_ms == NEVER
    state.record_fetch(110, 0, 120, 2_000, -1)
    assert state.last_caught_up_ms == 1_000
    state.record_fetch(120, 0, 130, 3_000, -1)
    assert state.last_caught_up_ms == 2_000


def test_a_fetch_short_of_it_changes_nothing() -> None:
    state = follower()
    state.record_fetch(100, 0, 110, 1_000, -1)
    state.record_fetch(105, 0, 120, 2_000, -1)
    assert state.last_caught_up_ms == NEVER


def test_the_remembered_leader_end_never_falls() -> None:
    """3.x keeps the maximum: a leader's end seen lower later (a late request) must not make catching up easier."""
    state = follower()
    state.record_fetch(0, 0, 110, 1_000, -1)
    state.record_fetch(50, 0, 60, 2_000, -1)
    assert state.leader_leo_at_last_fetch == 110


def test_caught_up_time_never_falls() -> None:
    state = follower()
    state.record_fetch(10, 0, 10, 9_000, -1)
    state.record_fetch(10, 0, 20, 9_500, -1)
    assert state.last_caught_up_ms == 9_000


def test_a_new_epoch_forgets_offsets() -> None:
    """An acknowledgement counts for one leader epoch only (Kip320, rule 3)."""
    state = follower()
    state.record_fetch(10, 3, 10, 9_000, 7)
    state.start_epoch(20_000, in_sync=True)
    assert (state.log_end_offset, state.log_start_offset) == (UNKNOWN_OFFSET, UNKNOWN_OFFSET)
    assert state.last_caught_up_ms == 20_000
    state.start_epoch(30_000, in_sync=False)
    assert state.last_caught_up_ms == NEVER


def test_equal_ends_are_caught_up_however_long_ago() -> None:
    assert follower(log_end_offset=50).is_caught_up(50, 1e9, LAG)
    assert not follower(log_end_offset=49, last_caught_up_ms=0).is_caught_up(50, LAG + 1, LAG)
    assert follower(log_end_offset=49, last_caught_up_ms=0).is_caught_up(50, LAG, LAG)


def test_the_leader_is_never_out_of_sync() -> None:
    followers = {2: follower(log_end_offset=10, last_caught_up_ms=0), 3: follower(log_end_offset=20)}
    assert out_of_sync((1, 2, 3), 1, followers, 20, now_ms=LAG + 1, lag_max_ms=LAG) == (2,)
    assert out_of_sync((1,), 1, {}, 20, now_ms=1e9, lag_max_ms=LAG) == ()


@pytest.mark.spec("B9")
def test_a_member_that_is_no_longer_assigned_is_out_of_sync() -> None:
    """A reassignment's end leaves the ISR wider than the replicas."""
    assert out_of_sync((1, 4), 1, {}, 20, now_ms=0, lag_max_ms=LAG) == (4,)


@pytest.mark.spec("R3")
@pytest.mark.parametrize(
    ("state", "alive", "word"),
    [
        (None, True, "dead"),
        (follower(last_fetch_ms=99_000, last_progress_ms=99_000), False, "dead"),
        (follower(last_fetch_ms=99_000, last_progress_ms=99_000), True, "new"),
        (follower(last_fetch_ms=99_000, last_progress_ms=99_000, last_caught_up_ms=1_000), True, "slow"),
        (follower(last_fetch_ms=99_000, last_progress_ms=1_000, last_caught_up_ms=1_000), True, "stuck"),
        (follower(last_fetch_ms=1_000, last_progress_ms=1_000, last_caught_up_ms=1_000), True, "stuck"),
        (follower(), True, "stuck"),
    ],
)
def test_why_a_replica_fell_out(state: FollowerState | None, alive: bool, word: str) -> None:
    """Slow, stuck or dead, new."""
    assert why_behind(state, 100_000, LAG, alive=alive) == word
