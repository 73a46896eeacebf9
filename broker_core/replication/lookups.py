"""Questions about a led log: offsets by timestamp and the ends of leader epochs."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from broker_core.errors import ErrorCode, KafkaError
from broker_core.model import NO_EPOCH, TopicPartition
from broker_core.records.budget import Budget
from broker_core.replication.leader_state import LeaderState
from broker_core.replication.partition import Partition
from broker_core.storage.log import PartitionLog, TimestampAndOffset
from broker_core.storage.workbench import Workbench

LATEST = -1
EARLIEST = -2
MAX_TIMESTAMP = -3
EARLIEST_LOCAL = -4
LATEST_TIERED = -5
NO_TIMESTAMP = -1


class FoundOffset(NamedTuple):
    """An offset, the timestamp of its record (-1 where none is meant) and the epoch that wrote it; (-1, -1, -1) for none."""

    offset: int
    timestamp_ms: int
    leader_epoch: int


NOT_FOUND = FoundOffset(-1, NO_TIMESTAMP, NO_EPOCH)


class Lookups:
    """`hosted` gives the partition here or raises what the client has to be told."""

    def __init__(self, hosted: Callable[[TopicPartition], Partition], workbench: Workbench) -> None:
        self._hosted = hosted
        self._workbench = workbench

    async def list_offsets(
        self,
        tp: TopicPartition,
        timestamp: int,
        budget: Budget,
        *,
        read_committed: bool,
        leader_epoch: int = NO_EPOCH,
        from_consumer: bool = True,
    ) -> FoundOffset:
        """The offset for a timestamp or one of the special ones. A consumer sees no further than it may read.

        A record is looked for on `budget`; others are served meanwhile.
        OFFSET_NOT_AVAILABLE to consumers while a new leader does not yet know how much of its log is committed.
        """
        leader, log = self._hosted(tp).leading(leader_epoch)
        if timestamp in (EARLIEST, EARLIEST_LOCAL):
            start = log.log_start_offset if timestamp == EARLIEST else log.local_log_start_offset
            epoch = log.epochs.epoch_of(start)
            return FoundOffset(start, NO_TIMESTAMP, NO_EPOCH if epoch is None else epoch)
        if timestamp == LATEST_TIERED:
            return NOT_FOUND
        found: TimestampAndOffset | None = None
        if timestamp != LATEST:
            start, reader = log.log_start_offset, log.reader
            newest = timestamp == MAX_TIMESTAMP
            steps = reader.max_timestamp(start, budget) if newest else reader.find_timestamp(timestamp, start, budget)
            found = await self._workbench.run(steps, budget)
            leader, log = self._hosted(tp).leading(leader_epoch)
        bound = _bound(log, read_committed=read_committed, from_consumer=from_consumer)
        lagging = from_consumer and leader.epoch_start > log.high_watermark
        if timestamp == LATEST:
            if lagging:
                raise _not_available(tp, leader, log)
            return FoundOffset(bound, NO_TIMESTAMP, leader.leader_epoch)
        if found is not None and found.offset < bound:
            return FoundOffset(found.offset, found.timestamp, found.leader_epoch)
        if found is not None and lagging:
            raise _not_available(tp, leader, log)
        return NOT_FOUND

    def offset_for_leader_epoch(self, tp: TopicPartition, epoch: int, current_leader_epoch: int = NO_EPOCH) -> tuple[int, int]:
        """The largest epoch not above `epoch` and its end offset, (-1, -1) when the log knows none."""
        _, log = self._hosted(tp).leading(current_leader_epoch)
        return log.epochs.end_offset_for(epoch, log.log_end_offset)


def _bound(log: PartitionLog, *, read_committed: bool, from_consumer: bool) -> int:
    if not from_consumer:
        return log.log_end_offset
    return log.last_stable_offset if read_committed else log.high_watermark


def _not_available(tp: TopicPartition, leader: LeaderState, log: PartitionLog) -> KafkaError:
    return KafkaError(
        ErrorCode.OFFSET_NOT_AVAILABLE,
        f"the high watermark of {tp} ({log.high_watermark}) has not reached the start of leader epoch {leader.leader_epoch} "
        f"({leader.epoch_start}) yet",
    )
