"""A replica as a list of (value, epoch) pairs, ruled by the pure modules alone: for the failures of spec R6 and the divergence cases."""

from __future__ import annotations

from dataclasses import dataclass, field

from broker_core.replication.follower_state import FollowerState
from broker_core.replication.following import truncation
from broker_core.replication.following.truncation import Comparison, EpochEnd
from broker_core.replication.isr.high_watermark import committable_offset

LAG_MAX_MS = 10_000


@dataclass
class ModelReplica:
    """One replica's log and high watermark. `epochs` is its list of (epoch, start offset)."""

    broker_id: int
    log: list[tuple[str, int]] = field(default_factory=list)
    high_watermark: int = 0
    epochs: list[tuple[int, int]] = field(default_factory=list)
    log_start: int = 0
    leader_epoch: int = -1
    followers: dict[int, FollowerState] = field(default_factory=dict)
    isr: tuple[int, ...] = ()

    @property
    def leo(self) -> int:
        return self.log_start + len(self.log)

    def holding(self, *entries: tuple[str, int]) -> ModelReplica:
        for value, epoch in entries:
            self.store(value, epoch)
        return self

    def store(self, value: str, epoch: int) -> None:
        if not self.epochs or self.epochs[-1][0] < epoch:
            self.epochs.append((epoch, self.leo))
        self.log.append((value, epoch))

    def truncate(self, offset: int) -> None:
        del self.log[max(0, offset - self.log_start) :]
        self.epochs = [(epoch, start) for epoch, start in self.epochs if start < self.leo]
        self.high_watermark = min(self.high_watermark, self.leo)

    def lose_unflushed(self, offset: int) -> None:
        """A power loss leaves the log up to `offset`."""
        self.truncate(offset)

    def end_of(self, epoch: int) -> EpochEnd:
        """The look-up of Kafka's endOffsetFor."""
        if not self.epochs or epoch > self.epochs[-1][0] or epoch < 0:
            return EpochEnd(-1, -1)
        if epoch == self.epochs[-1][0]:
            return EpochEnd(epoch, self.leo)
        if epoch < self.epochs[0][0]:
            return EpochEnd(epoch, self.epochs[0][1])
        floor = max(known for known, _ in self.epochs if known <= epoch)
        return EpochEnd(floor, min(start for known, start in self.epochs if known > epoch))

    def lead(self, epoch: int, isr: tuple[int, ...], others: tuple[int, ...], now_ms: float = 0) -> None:
        self.leader_epoch = epoch
        self.isr = isr
        self.epochs = [(known, start) for known, start in self.epochs if known < epoch and start < self.leo]
        self.epochs.append((epoch, self.leo))
        self.followers = {broker: FollowerState(broker) for broker in others}
        for broker, state in self.followers.items():
            state.start_epoch(now_ms, in_sync=broker in isr)
        self.move_high_watermark(now_ms)

    def produce(self, *values: str, now_ms: float = 0) -> None:
        for value in values:
            self.store(value, self.leader_epoch)
        self.move_high_watermark(now_ms)

    def move_high_watermark(self, now_ms: float) -> None:
        offset = committable_offset(
            self.leo, self.followers.values(), self.isr, now_ms=now_ms, lag_max_ms=LAG_MAX_MS, is_alive=lambda broker: True
        )
        self.high_watermark = max(self.high_watermark, offset)

    def remote_leo(self, broker: int) -> int:
        return self.followers[broker].log_end_offset


def fetch(follower: ModelReplica, leader: ModelReplica, now_ms: float = 0, most: int = 100) -> str:
    """One fetch and the handling of its answer; tells what happened: `cut`, `out of range` or `appended N`."""
    last_epoch = follower.log[-1][1] if follower.log else -1
    if last_epoch >= 0:
        own = leader.end_of(last_epoch)
        position = truncation.compare_position(follower.leo, last_epoch, leader.log_start, own)
        if position is Comparison.OUT_OF_RANGE:
            return "out of range"
        if position is Comparison.DIVERGES:
            cut = truncation.cut_for(own, follower.end_of(own.epoch), follower.leo, follower.high_watermark)
            follower.truncate(cut.offset)
            return "cut"
    index = follower.leo - leader.log_start
    records = leader.log[index : index + most]
    leader.followers[follower.broker_id].record_fetch(follower.leo, follower.log_start, leader.leo, now_ms, -1)
    leader.move_high_watermark(now_ms)
    for value, epoch in records:
        follower.store(value, epoch)
    follower.high_watermark = max(follower.high_watermark, min(leader.high_watermark, follower.leo))
    return f"appended {len(records)}"


def catch_up(follower: ModelReplica, leader: ModelReplica, now_ms: float = 0) -> list[str]:
    """Fetches until an empty answer; every step's outcome."""
    steps: list[str] = []
    while not steps or steps[-1] != "appended 0":
        steps.append(fetch(follower, leader, now_ms))
        assert len(steps) < 50, "the follower never caught up"
    return steps
