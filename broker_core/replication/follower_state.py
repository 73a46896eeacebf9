"""What a leader knows of one follower, learned from the follower's fetches alone.

A fetch at offset N says that everything below N is in the follower's log. It proves more about the past: a fetch that
reaches the log end offset the leader had at the *previous* fetch shows that the follower was caught up then. That rule
keeps a follower in the ISR that always trails a little because records arrive faster than fetches.

Times are monotonic milliseconds; `NEVER` is before all of them.
"""

from __future__ import annotations

from msgspec import Struct

NEVER = float("-inf")
UNKNOWN_OFFSET = -1


class FollowerState(Struct):
    """One follower of a led partition, in the present leader epoch.

    `log_end_offset` is `UNKNOWN_OFFSET` until the follower has fetched in this epoch: what it acknowledged to an earlier
    epoch may have been cut since.
    """

    broker_id: int
    log_end_offset: int = UNKNOWN_OFFSET
    log_start_offset: int = UNKNOWN_OFFSET
    leader_leo_at_last_fetch: int = 0
    last_fetch_ms: float = NEVER
    last_caught_up_ms: float = NEVER
    last_progress_ms: float = NEVER
    broker_epoch: int = -1

    def start_epoch(self, now_ms: float, *, in_sync: bool) -> None:
        """Forgets all offsets; a member of the ISR has the whole lag time again, another one is not waited for."""
        self.log_end_offset = UNKNOWN_OFFSET
        self.log_start_offset = UNKNOWN_OFFSET
        self.leader_leo_at_last_fetch = 0
        self.last_fetch_ms = NEVER
        self.last_progress_ms = NEVER
        self.last_caught_up_ms = now_ms if in_sync else NEVER

    def record_fetch(self, offset: int, log_start_offset: int, leader_leo: int, now_ms: float, broker_epoch: int) -> bool:
        """Takes in one fetch; `leader_leo` is the leader's at its arrival. Tells whether the log end offset moved."""
        if offset >= leader_leo:
            self.last_caught_up_ms = max(self.last_caught_up_ms, now_ms)
        elif offset >= self.leader_leo_at_last_fetch:
            self.last_caught_up_ms = max(self.last_caught_up_ms, self.last_fetch_ms)
        self.leader_leo_at_last_fetch = max(self.leader_leo_at_last_fetch, leader_leo)
        self.last_fetch_ms = now_ms
        self.log_start_offset = log_start_offset
        self.broker_epoch = broker_epoch
        moved = offset != self.log_end_offset
        if moved:
            self.last_progress_ms = now_ms
            self.log_end_offset = offset
        return moved

    def is_caught_up(self, leader_leo: int, now_ms: float, lag_max_ms: float) -> bool:
        """At the leader's end, or there within the last `lag_max_ms`."""
        return self.log_end_offset == leader_leo or now_ms - self.last_caught_up_ms <= lag_max_ms


def out_of_sync(
    isr: tuple[int, ...], leader: int, followers: dict[int, FollowerState], leader_leo: int, *, now_ms: float, lag_max_ms: float
) -> tuple[int, ...]:
    """Members of `isr` that have to leave it; never the leader. One that is no longer assigned has to."""
    return tuple(
        member
        for member in isr
        if member != leader and (member not in followers or not followers[member].is_caught_up(leader_leo, now_ms, lag_max_ms))
    )


class FollowerView(Struct, frozen=True):
    """A follower as its leader sees it; ages in ms, None when it never happened. `reason` is None in the ISR."""

    broker_id: int
    log_end_offset: int | None
    log_start_offset: int | None
    fetch_age_ms: float | None
    caught_up_age_ms: float | None
    in_isr: bool
    reason: str | None


def view(state: FollowerState, isr: tuple[int, ...], now_ms: float, lag_max_ms: float, *, alive: bool) -> FollowerView:
    in_isr = state.broker_id in isr
    return FollowerView(
        state.broker_id,
        None if state.log_end_offset == UNKNOWN_OFFSET else state.log_end_offset,
        None if state.log_start_offset == UNKNOWN_OFFSET else state.log_start_offset,
        None if state.last_fetch_ms == NEVER else now_ms - state.last_fetch_ms,
        None if state.last_caught_up_ms == NEVER else now_ms - state.last_caught_up_ms,
        in_isr,
        None if in_isr else why_behind(state, now_ms, lag_max_ms, alive=alive),
    )


def why_behind(state: FollowerState | None, now_ms: float, lag_max_ms: float, *, alive: bool) -> str:
    """Why a follower is not in the ISR, in one word: `dead`, `new`, `stuck` or `slow` (spec R3)."""
    if not alive or state is None:
        return "dead"
    if state.last_fetch_ms == NEVER or now_ms - state.last_fetch_ms > lag_max_ms:
        return "stuck"
    if state.last_caught_up_ms == NEVER:
        return "new"
    return "slow" if now_ms - state.last_progress_ms <= lag_max_ms else "stuck"
