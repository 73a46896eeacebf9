"""What a leader knows and decides in one leader epoch: its followers, its ISR, its authority.

A value of this class lives from one LeaderAndIsr to the next. It is a decider: it gets offsets and times and answers with
what should happen; `partition.py` and `isr_store.py` make it happen.

A leader is *deposed* once the store refused its ISR by version: another controller or leader has written the partition's
state. It serves nothing until the next LeaderAndIsr tells what was written; its change stays pending, so that no record
can be called committed that the other ISR may not have.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct, field

from broker_core.model import LeaderAndIsr
from broker_core.replication.flaws import NO_FLAWS, Flaws
from broker_core.replication.follower_state import FollowerState, out_of_sync
from broker_core.replication.isr.high_watermark import committable_offset
from broker_core.replication.isr.states import (
    CommittedIsr,
    IsrState,
    PendingChange,
    PendingExpandIsr,
    PendingShrinkIsr,
    expand,
    may_join,
    shrink,
)
from broker_core.replication.serving.fetch_session import FetchClock


class Acknowledgement(Struct, frozen=True):
    """One partition of a follower's fetch: it holds everything below `offset`."""

    broker_id: int
    broker_epoch: int
    offset: int
    log_start_offset: int
    clock: FetchClock | None = None


class LeaderState(Struct):
    """One leadership. `epoch_start` is the log end offset with which it began; broker ids in `replicas` include our own."""

    broker_id: int
    leader_epoch: int
    epoch_start: int
    replicas: tuple[int, ...]
    isr: IsrState
    zk_version: int
    followers: dict[int, FollowerState] = field(default_factory=dict)
    clocks: dict[int, FetchClock] = field(default_factory=dict)
    deposed: bool = False

    @classmethod
    def begin(cls, broker_id: int, state: LeaderAndIsr, replicas: tuple[int, ...], *, epoch_start: int, now_ms: float) -> LeaderState:
        """A fresh leadership: no follower's end is known, members of the ISR have the whole lag time."""
        leadership = cls(broker_id, state.leader_epoch, epoch_start, replicas, CommittedIsr(state.isr), state.zk_version)
        for replica in replicas:
            if replica != broker_id:
                follower = FollowerState(replica)
                follower.start_epoch(now_ms, in_sync=replica in state.isr)
                leadership.followers[replica] = follower
        return leadership

    def record_fetch(self, fetch: Acknowledgement, leader_leo: int, now_ms: float) -> bool:
        """Takes in a follower's position; tells whether it moved. The broker must be in `followers`."""
        if fetch.clock is not None:
            self.clocks[fetch.broker_id] = fetch.clock
        follower = self.followers[fetch.broker_id]
        return follower.record_fetch(fetch.offset, fetch.log_start_offset, leader_leo, now_ms, fetch.broker_epoch)

    def drop_clock(self, clock: FetchClock, leader_leo: int) -> None:
        """A follower no longer fetches this partition in the session that `clock` belongs to."""
        self.note_silent_fetches(leader_leo)
        self.clocks = {broker_id: each for broker_id, each in self.clocks.items() if each is not clock}

    def note_silent_fetches(self, leader_leo: int) -> None:
        """Counts the fetches of followers that were at `leader_leo` and so did not name this partition.

        Called before an append moves the end away: until then each of those fetches was a fetch at the leader's end.
        """
        for broker_id, clock in self.clocks.items():
            follower = self.followers.get(broker_id)
            if follower is None:
                continue
            follower.last_fetch_ms = max(follower.last_fetch_ms, clock.last_fetch_ms)
            if follower.log_end_offset == leader_leo:
                follower.last_caught_up_ms = max(follower.last_caught_up_ms, clock.last_fetch_ms)

    def propose_expand(self, broker_id: int, high_watermark: int, *, alive: bool, flaws: Flaws) -> PendingExpandIsr | None:
        """Starts to take a follower in that is alive and has reached the high watermark and the start of the epoch."""
        if self.deposed or not alive or self.isr.in_flight or broker_id in self.isr.isr:
            return None
        epoch_start = 0 if flaws.join_below_epoch_start else self.epoch_start
        if not may_join(self.followers[broker_id].log_end_offset, high_watermark, epoch_start):
            return None
        change = expand(self.isr, broker_id)
        # From here on, before the write is sent, the high watermark waits for the newcomer too: once the store names it, it may be
        # elected, long before the answer is here.
        self.isr = change or self.isr
        return change

    def propose_shrink(self, leader_leo: int, *, now_ms: float, lag_max_ms: float) -> PendingShrinkIsr | None:
        """Starts to take out the members that are out of sync."""
        if self.deposed or self.isr.in_flight:
            return None
        leaving = out_of_sync(self.isr.isr, self.broker_id, self.followers, leader_leo, now_ms=now_ms, lag_max_ms=lag_max_ms)
        change = shrink(self.isr, leaving)
        self.isr = change or self.isr  # who leaves still counts until the write is known to be done: it may be elected until then
        return change

    def proposal(self, change: PendingChange) -> LeaderAndIsr:
        """What is to be written to the store, if its version is still the one we know."""
        return self.proposal_of(change.proposed)

    def proposal_of(self, isr: tuple[int, ...]) -> LeaderAndIsr:
        """The state with that ISR, to write over the one that is known."""
        return LeaderAndIsr(self.broker_id, self.leader_epoch, isr, self.zk_version)

    def committed(self, change: PendingChange, isr: tuple[int, ...], zk_version: int) -> bool:
        """The store holds `isr` at `zk_version`; False when `change` is no longer the one under way (KAFKA-12686)."""
        if self.isr is not change:
            return False
        self.isr = CommittedIsr(isr)
        self.zk_version = zk_version
        return True

    def withdrawn(self, change: PendingChange) -> bool:
        """The change was not written and will not be: the ISR is what it was."""
        return self.committed(change, change.isr, self.zk_version)

    def refused(self, change: PendingChange) -> bool:
        """The store's version has moved on: we are deposed. The change stays pending."""
        if self.isr is not change:
            return False
        self.deposed = True
        return True

    def committable(
        self, leader_leo: int, min_isr: int, *, now_ms: float, lag_max_ms: float, is_alive: Callable[[int], bool], flaws: Flaws = NO_FLAWS
    ) -> int:
        """Where the high watermark may stand, -1 while it has to stand still."""
        if self.deposed or len(self.isr.isr) < min_isr:
            return -1
        isr = self.isr.smallest if flaws.ignore_pending_isr else self.isr.maximal
        return committable_offset(leader_leo, self.followers.values(), isr, now_ms=now_ms, lag_max_ms=lag_max_ms, is_alive=is_alive)

    def low_watermark(self, own_log_start: int, is_alive: Callable[[int], bool]) -> int:
        """The least log start offset of all live replicas: where DeleteRecords has taken effect."""
        starts = [state.log_start_offset for broker, state in self.followers.items() if is_alive(broker)]
        return min([own_log_start, *starts])
