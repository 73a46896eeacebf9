"""What a follower does to its log with a leader's answer: append, raise the high watermark, cut, start over (spec R7).

Order matters: nothing of an answer that shows a divergence is used before the log is cut (KAFKA-14704), and whatever
waits for the disk re-checks afterwards that the partition still follows in the same leader epoch.
"""

from __future__ import annotations

import logging

from msgspec import Struct

from broker_core.replication.following.truncation import EpochEnd, Restart, after_out_of_range, cut_for
from broker_core.replication.leadership import Role
from broker_core.replication.partition import Moved, Partition
from broker_core.storage.log import PartitionLog

log = logging.getLogger(__name__)


def following(partition: Partition, leader_epoch: int) -> PartitionLog | None:
    """The log, while the partition follows in that epoch."""
    if partition.role is Role.FOLLOWER and partition.leader_epoch == leader_epoch:
        return partition.log
    return None


class Fetched(Struct, frozen=True):
    """What a leader's answer has for one partition."""

    records: memoryview | None
    high_watermark: int
    log_start_offset: int


async def store_fetched(partition: Partition, leader_epoch: int, fetched: Fetched, now_ms: int) -> Moved:
    """Appends what was fetched from the log's end, then takes over high watermark and log start.

    The next fetch acknowledges the records, so this waits where `flush.messages` wants them on disk first.
    The follower's high watermark is the leader's as far as the own log reaches. It is not lowered by a new leader that
    knows of fewer committed records than we do: they are committed all the same.
    """
    own = following(partition, leader_epoch)
    if own is None:
        return Moved()
    before = (own.log_end_offset, own.high_watermark)
    if fetched.records:
        own.append_as_follower(fetched.records, now_ms)
        if not own.recovery.has_settled(own.log_end_offset):
            await own.recovery.settle(own.log_end_offset)
            if following(partition, leader_epoch) is not own:
                return Moved(log_end=True)
    target = min(fetched.high_watermark, own.log_end_offset)
    if target > own.high_watermark:
        own.update_high_watermark(target)
    start = min(fetched.log_start_offset, own.high_watermark)
    if start > own.log_start_offset:
        own.advance_log_start(start)
    return Moved(log_end=own.log_end_offset != before[0], high_watermark=own.high_watermark != before[1])


async def cut_diverging(partition: Partition, leader_epoch: int, leader_end: EpochEnd) -> Moved:
    """Truncates to where the leader's log and ours part."""
    async with partition.turn:
        own = following(partition, leader_epoch)
        if own is None:
            return Moved()
        own_end = EpochEnd(*own.epochs.end_offset_for(leader_end.epoch, own.log_end_offset))
        cut = cut_for(leader_end, own_end, own.log_end_offset, own.high_watermark)
        _note_cut(partition, own, cut.offset, "the leader's log diverges")
        await own.truncate_to(cut.offset)
        return Moved(log_end=True, high_watermark=True)


async def restart(partition: Partition, leader_epoch: int, leader_start: int, leader_end: int) -> Moved:
    """After OFFSET_OUT_OF_RANGE: goes by what the leader has."""
    async with partition.turn:
        own = following(partition, leader_epoch)
        if own is None:
            return Moved()
        plan = after_out_of_range(own.log_end_offset, leader_start, leader_end)
        if plan.action is Restart.KEEP:
            return Moved()
        _note_cut(partition, own, plan.fetch_offset, plan.action.value)
        if plan.action is Restart.CUT:
            await own.truncate_to(plan.fetch_offset)
        else:
            await own.truncate_fully_and_start_at(plan.fetch_offset)
        return Moved(log_end=True, high_watermark=True)


def _note_cut(partition: Partition, own: PartitionLog, offset: int, why: str) -> None:
    """A cut below the high watermark loses records that were committed: only an unclean election can ask for it."""
    if offset < own.log_end_offset:
        partition.truncation = (own.log_end_offset, offset)
    level = logging.WARNING if offset < own.high_watermark else logging.INFO
    details = {"partition": str(partition.tp), "at": offset, "log_end": own.log_end_offset, "high_watermark": own.high_watermark}
    log.log(level, "log truncated", extra={**details, "why": why, "leader": partition.leader_id, "epoch": partition.leader_epoch})
