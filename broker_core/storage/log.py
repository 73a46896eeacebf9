"""One partition's log: the only writer of its folder (SOURCES S1–S7).

Offsets: log start ≤ high watermark ≤ log end; the last stable offset is the high watermark or the first record of a
transaction that is not known to have ended on all in-sync replicas. Records below the recovery point survive a power loss.

A failed write leaves the log as it was. A full disk is only tried again at the next append, so the log heals as soon as
there is space; after any other I/O error nothing is appended until `recover` has checked the active segment (KAFKA-10778).
"""

from __future__ import annotations

import errno
import logging
import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from broker_core.errors import ErrorCode, KafkaError
from broker_core.records.batch import BatchHeader
from broker_core.storage.producer_state import AppendOrigin, BatchMeta, ProducerUpdate
from broker_core.storage.readable_log import ReadableLog
from broker_core.storage.reader import FoundTimestamp, LogSlice
from broker_core.storage.recovery import commit_update, rebuild_producers, recover_segment
from broker_core.storage.retention import expired_count
from broker_core.storage.segment import Segment
from broker_core.storage.validation import NO_TIMESTAMP, Prepared, Rules, prepare_follower, prepare_leader

logger = logging.getLogger(__name__)

__all__ = ["AppendInfo", "AppendOrigin", "FoundTimestamp", "LogSlice", "PartitionLog"]

_HEALING_ERRORS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE})


@dataclass(frozen=True, slots=True)
class AppendInfo:
    """What an append did; `log_append_time_ms` is -1 unless the broker sets timestamps.

    `duplicate`: nothing was written, the offsets are those of the batch that was there already.
    """

    first_offset: int
    last_offset: int
    log_append_time_ms: int
    log_start_offset: int
    duplicate: bool
    batches: int


class PartitionLog(ReadableLog):
    """Made by `open`; all methods are called from the broker's one loop."""

    __slots__ = ()

    # Appending

    def append_as_leader(self, data: bytes | bytearray | memoryview, leader_epoch: int, origin: AppendOrigin, now_ms: int) -> AppendInfo:
        """Gives the batches the next offsets and appends them; nothing is written when it raises.

        `KafkaError`: CORRUPT_MESSAGE, MESSAGE_TOO_LARGE, RECORD_LIST_TOO_LARGE, INVALID_RECORD, INVALID_TIMESTAMP,
        OUT_OF_ORDER_SEQUENCE_NUMBER, INVALID_PRODUCER_EPOCH, INVALID_TXN_STATE, TRANSACTION_COORDINATOR_FENCED, KAFKA_STORAGE_ERROR.
        """
        self._check_writable()
        prepared = prepare_leader(data, self.log_end_offset, leader_epoch, Rules(origin, self._config(), now_ms))
        if origin is AppendOrigin.CLIENT:
            duplicate = self._duplicate(prepared.headers)
            if duplicate is not None:
                return AppendInfo(
                    duplicate.first_offset, duplicate.last_offset, duplicate_time(prepared, duplicate), self.log_start_offset, True, 0
                )
        return self._append(prepared, origin, now_ms)

    def append_as_follower(self, data: bytes | bytearray | memoryview, now_ms: int) -> AppendInfo:
        """Appends what the leader sent as it is, without an incomplete last batch; it must begin at the log's end or later."""
        self._check_writable()
        prepared = prepare_follower(data, self.log_end_offset, log_is_empty=self.log_start_offset == self.log_end_offset)
        if not prepared.headers:
            return AppendInfo(self.log_end_offset, self.log_end_offset - 1, NO_TIMESTAMP, self.log_start_offset, False, 0)
        return self._append(prepared, AppendOrigin.REPLICATION, now_ms)

    def _duplicate(self, headers: list[BatchHeader]) -> BatchMeta | None:
        for header in headers:
            if header.producer_id >= 0:
                found = self.producer_state.duplicate_of(header)
                if found is not None:
                    return found
        return None

    def _append(self, prepared: Prepared, origin: AppendOrigin, now_ms: int) -> AppendInfo:
        update = ProducerUpdate(self.producer_state, origin)
        for header, marker in zip(prepared.headers, prepared.markers, strict=True):
            update.add(header, marker)
        try:
            if prepared.first_offset < self.log_end_offset:
                self._store.start_anew(prepared.first_offset)
            if self._store.must_roll(prepared, now_ms):
                self.roll(now_ms, None if self._store.active.takes(prepared.last_offset) else prepared.first_offset)
            segment = self._store.active
            position = segment.append(prepared.data, prepared.spans, self._config().index_interval_bytes)
        except OSError as error:
            raise self._failed(error, "append") from error
        self.log_end_offset = prepared.last_offset + 1
        commit_update(self.producer_state, segment, update)
        self._store.reader.remember(prepared.first_offset, segment, position)
        self._note_epochs(prepared.headers)
        if self.log_end_offset - self.recovery_point >= self._config().flush_messages:
            self._node.spawn(self.flush(), name=f"flush {self.topic_partition}")
        return AppendInfo(
            prepared.first_offset, prepared.last_offset, prepared.log_append_time_ms, self.log_start_offset, False, len(prepared.headers)
        )

    def _note_epochs(self, headers: list[BatchHeader]) -> None:
        news = False
        for header in headers:
            latest = self.epochs.latest
            if header.leader_epoch >= 0 and header.leader_epoch > (-1 if latest is None else latest):
                news = self.epochs.assign(header.leader_epoch, header.base_offset) or news
        if news:
            self._node.spawn(self._write_side_files(), name=f"epochs {self.topic_partition}")

    def _check_writable(self) -> None:
        if self.closed:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"the log of {self.topic_partition} is closed")
        if self.failure is not None:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"the log of {self.topic_partition} waits for recovery from: {self.failure}")

    def _failed(self, error: OSError, what: str, *, heals: bool = True) -> KafkaError:
        """The error to raise; the log stays closed for appends unless the cause can go away by itself."""
        logger.error("log write failed", extra={"partition": str(self.topic_partition), "what": what, "error": str(error)})
        if not heals or error.errno not in _HEALING_ERRORS:
            self.failure = error
        return KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"{what} of {self.topic_partition} failed: {error}")

    async def recover(self) -> None:
        """Checks the unflushed segments after an I/O error and opens the log for appends again; `OSError` when it cannot yet.

        `KafkaError` KAFKA_STORAGE_ERROR when records that were there are not readable any more: then the replica is lost.
        """
        self._folder.pool.forget_folder(self.directory)
        unflushed = self._store.segments.from_offset(self.recovery_point)
        state = await rebuild_producers(self._folder, self._store.segments, self.log_start_offset, unflushed[0].base_offset)
        for segment in unflushed:
            await recover_segment(self._node, segment, state, self.epochs, self._config().index_interval_bytes)
        self._store.reader.forget()
        if self._store.active.next_offset() < self.log_end_offset:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"{self.topic_partition} lost records from offset {state.end_offset} on")
        await self._rebuild_producers()
        self.failure = None

    def roll(self, now_ms: int, base_offset: int | None = None) -> None:
        """Closes the active segment and starts the next one at the log's end (or later); `OSError` when the disk refuses."""
        base_offset = self.log_end_offset if base_offset is None else base_offset
        if not self._store.roll(base_offset, now_ms):
            return
        self.producer_state.end_offset = self.log_end_offset
        self._side_files.snapshot(self.producer_state)
        self._node.spawn(self.flush(base_offset), name=f"flush {self.topic_partition}")

    # Epochs, topic id

    async def assign_epoch(self, epoch: int, start_offset: int) -> None:
        """Notes that a leader epoch begins; durable when it returns."""
        self.epochs.assign(epoch, start_offset)
        await self._write_side_files()

    async def _write_side_files(self) -> None:
        try:
            await self._side_files.write()
        except OSError as error:
            if not self.closed:
                raise self._failed(error, "checkpoint") from error

    async def set_topic_id(self, topic_id: uuid.UUID) -> None:
        """Records the topic's id; `KafkaError` INCONSISTENT_TOPIC_ID when the log is another topic's."""
        if self.topic_id is not None and self.topic_id != topic_id:
            raise KafkaError(
                ErrorCode.INCONSISTENT_TOPIC_ID, f"the log of {self.topic_partition} belongs to topic id {self.topic_id}, not {topic_id}"
            )
        if self.topic_id is None:
            self.topic_id = topic_id
            await self._side_files.write_topic_id(topic_id)

    # Truncation, deletion

    async def truncate_to(self, offset: int) -> bool:
        """Cuts the log so that it ends at `offset` (below it, if that is inside a batch); whether there was anything to cut.

        Durable on return: otherwise a power loss could bring cut records back below newer ones.
        """
        if offset >= self.log_end_offset:
            self.epochs.truncate_from_end(self.log_end_offset)
            return False
        if offset < self._store.segments[0].base_offset:
            await self.truncate_fully_and_start_at(offset)
            return True
        try:
            offset = self._store.truncate(offset)
        except OSError as error:
            raise self._failed(error, "truncation", heals=False) from error
        self.epochs.truncate_from_end(offset)
        await self._after_truncation(offset, self.log_start_offset)
        return True

    async def truncate_fully_and_start_at(self, offset: int) -> None:
        """Empties the log; the next record has `offset`."""
        try:
            self._store.start_anew(offset)
        except OSError as error:
            raise self._failed(error, "truncation", heals=False) from error
        self.epochs.clear()
        await self._after_truncation(offset, offset)

    async def _after_truncation(self, end_offset: int, start_offset: int) -> None:
        self._truncations += 1
        self.log_end_offset = end_offset
        self.log_start_offset = min(start_offset, end_offset)
        self.recovery_point = min(self.recovery_point, end_offset)
        self.high_watermark = min(max(self.high_watermark, self.log_start_offset), end_offset)
        await self._side_files.drop_snapshots(end_offset + 1)
        await self._rebuild_producers()
        await self._write_side_files()
        try:
            await self._store.active.sync()
        except OSError as error:
            raise self._failed(error, "truncation", heals=False) from error
        await self.save_recovery_point()

    async def save_recovery_point(self) -> None:
        """Has the owner write the recovery point down now."""
        if self.on_recovery_point is not None:
            await self.on_recovery_point()

    async def _rebuild_producers(self) -> None:
        """Producer state from snapshots and batches, again if the log's end moved meanwhile; the old one serves until then."""
        end_offset = -1
        while end_offset != self.log_end_offset:
            end_offset = self.log_end_offset
            state = await rebuild_producers(self._folder, self._store.segments, self.log_start_offset, end_offset)
        state.on_high_watermark(self.high_watermark)
        self.producer_state = state

    def advance_log_start(self, offset: int) -> bool:
        """Makes records below `offset` unreadable; whether that was news. `KafkaError` OFFSET_OUT_OF_RANGE above the high watermark."""
        if offset > self.high_watermark:
            raise KafkaError(
                ErrorCode.OFFSET_OUT_OF_RANGE,
                f"log start {offset} of {self.topic_partition} is above the high watermark {self.high_watermark}",
            )
        if offset <= self.log_start_offset:
            return False
        self.log_start_offset = offset
        self.epochs.truncate_from_start(offset)
        self.producer_state.on_log_start(offset)
        return True

    async def delete_expired(self, now_ms: int) -> int:
        """Removes the segments that retention no longer covers; returns how many."""
        count = expired_count(self._store.ages(self.log_end_offset), self._config(), self.log_start_offset, self.high_watermark, now_ms)
        if not count:
            return 0
        try:
            if count == len(self._store.segments):
                self.roll(now_ms)
            self._store.retire(list(self._store.segments)[:count])
        except OSError as error:
            raise self._failed(error, "deletion") from error
        first = self._store.segments[0].base_offset
        if first > self.log_start_offset:
            self.log_start_offset = first
            self.epochs.truncate_from_start(first)
            self.producer_state.on_log_start(first)
        await self._side_files.drop_snapshots(0, first)
        await self._write_side_files()
        return count

    def replace_segments(self, old: Sequence[Segment], new: Segment) -> bool:
        """Puts a compacted segment in the place of those it was made from; False when they are not all in the log any more."""
        if self.closed or self.failure is not None or not self._store.has_all(old):
            return False
        try:
            self._store.replace(old, new)
        except OSError as error:
            raise self._failed(error, "compaction", heals=False) from error
        return True

    def new_segment(self, base_offset: int, suffix: str) -> Segment:
        """An empty segment in the log's folder that is not part of the log; `OSError` when the disk refuses."""
        return self._store.create(base_offset, suffix)

    # Durability

    async def flush(self, up_to: int | None = None) -> None:
        """Makes all records below `up_to` (the log's end) survive a power loss and moves the recovery point there."""
        if not self.closed:
            await self._flush(self.log_end_offset if up_to is None else min(up_to, self.log_end_offset))

    async def _flush(self, target: int) -> None:
        if target <= self.recovery_point:
            return
        truncations, was_closed = self._truncations, self.closed
        try:
            await self._side_files.write()
            await self._store.sync(self.recovery_point, target)
        except OSError as error:
            if self.closed and not was_closed:
                return
            raise self._failed(error, "flush") from error
        if truncations == self._truncations:
            self.recovery_point = max(self.recovery_point, target)
            self.last_flush_ms = self._node.clock.now_ms()

    async def close(self, clean: bool = True) -> None:
        """Gives the files up; a clean close first completes and flushes everything, so that the next start need not check.

        `OSError` or `KafkaError` KAFKA_STORAGE_ERROR when that fails: the log must not be taken for clean then.
        """
        if self.closed:
            return
        self.closed = True
        try:
            if clean and self.failure is None:
                self._store.active.finish()
                self.producer_state.end_offset = self.log_end_offset
                self._side_files.snapshot(self.producer_state)
                await self._side_files.write()
                await self._flush(self.log_end_offset)
        finally:
            self._folder.pool.forget_folder(self.directory)


def duplicate_time(prepared: Prepared, duplicate: BatchMeta) -> int:
    """The append time to report for a repeated batch: that of the first one, where the broker sets timestamps."""
    return duplicate.timestamp if prepared.log_append_time_ms != NO_TIMESTAMP else NO_TIMESTAMP
