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
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Self

from broker_core.config import TopicConfig
from broker_core.errors import ErrorCode, KafkaError
from broker_core.model import TopicPartition
from broker_core.records.batch import BatchHeader
from broker_core.seams import Node
from broker_core.storage import names
from broker_core.storage.epoch_cache import EpochCache
from broker_core.storage.files import FilePool, LogFolder
from broker_core.storage.loading import LoadedLog, LogLoader
from broker_core.storage.producer_state import AppendOrigin, BatchMeta, ProducerState, ProducerUpdate
from broker_core.storage.reader import FoundTimestamp, LogSlice, Reader, ReadLimits
from broker_core.storage.recovery import commit_update, rebuild_producers, recover_segment
from broker_core.storage.retention import RollState, SegmentAge, expired_count, should_roll
from broker_core.storage.segment import Segment
from broker_core.storage.segments import Segments
from broker_core.storage.side_files import SideFiles
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


class PartitionLog:
    """Made by `open`; all methods are called from the broker's one loop."""

    __slots__ = (
        "_config",
        "_folder",
        "_node",
        "_reader",
        "_segments",
        "_side_files",
        "_truncations",
        "closed",
        "failure",
        "high_watermark",
        "last_flush_ms",
        "log_end_offset",
        "log_start_offset",
        "on_truncated",
        "producer_state",
        "recovery_point",
        "topic_id",
        "topic_partition",
    )

    def __init__(
        self,
        folder: LogFolder,
        topic_partition: TopicPartition,
        config: Callable[[], TopicConfig],
        loaded: LoadedLog,
    ) -> None:
        self._folder = folder
        self._node = folder.node
        self.topic_partition = topic_partition
        self._config = config
        self._segments: Segments = loaded.segments
        self._reader = Reader(self._segments)
        self._side_files = SideFiles(folder, loaded.epochs)
        self._truncations = 0
        self.topic_id = loaded.topic_id
        self.log_start_offset = loaded.log_start_offset
        self.log_end_offset = loaded.log_end_offset
        self.high_watermark = loaded.log_start_offset
        self.recovery_point = loaded.recovery_point
        self.producer_state: ProducerState = loaded.producers
        self.last_flush_ms = folder.node.clock.now_ms()
        self.failure: OSError | None = None
        self.closed = False
        self.on_truncated: Callable[[], Awaitable[None]] | None = None
        """Awaited after the log's end fell, so that a recovery point beyond it does not outlive a crash."""

    @classmethod
    async def open(
        cls,
        node: Node,
        directory: str,
        topic_partition: TopicPartition,
        config: Callable[[], TopicConfig],
        *,
        recovery_point: int = 0,
        log_start_offset: int = 0,
        clean: bool = False,
        pool: FilePool | None = None,
    ) -> Self:
        """Opens or makes the log; `OSError` when the disk refuses."""
        folder = LogFolder(node, pool or FilePool(node.disk), directory)
        loader = LogLoader(folder, config(), recovery_point=recovery_point, log_start_offset=log_start_offset, clean=clean)
        return cls(folder, topic_partition, config, await loader.load())

    @property
    def directory(self) -> str:
        return self._folder.path

    @property
    def config(self) -> TopicConfig:
        return self._config()

    @property
    def epochs(self) -> EpochCache:
        return self._side_files.epochs

    @property
    def segments(self) -> Segments:
        return self._segments

    @property
    def size_bytes(self) -> int:
        return self._segments.size_bytes

    @property
    def segments_count(self) -> int:
        return len(self._segments)

    @property
    def last_stable_offset(self) -> int:
        """Up to where read_committed readers may read (exclusive)."""
        unstable = self.producer_state.first_unstable_offset
        if unstable is None:
            return self.high_watermark
        return min(max(unstable, self.log_start_offset), self.high_watermark)

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
        prepared = prepare_follower(data, self.log_end_offset)
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
            segment = self._segment_for(prepared, now_ms)
            position = segment.append(prepared.data, prepared.spans, self._config().index_interval_bytes)
        except OSError as error:
            raise self._failed(error, "append") from error
        self.log_end_offset = prepared.last_offset + 1
        commit_update(self.producer_state, segment, update)
        self._reader.remember(prepared.first_offset, segment, position)
        self._note_epochs(prepared.headers)
        if self.log_end_offset - self.recovery_point >= self._config().flush_messages:
            self._node.spawn(self.flush(), name=f"flush {self.topic_partition}")
        return AppendInfo(
            prepared.first_offset, prepared.last_offset, prepared.log_append_time_ms, self.log_start_offset, False, len(prepared.headers)
        )

    def _note_epochs(self, headers: list[BatchHeader]) -> None:
        for header in headers:
            latest = self.epochs.latest
            if header.leader_epoch >= 0 and header.leader_epoch > (-1 if latest is None else latest):
                self.epochs.assign(header.leader_epoch, header.base_offset)
        if self.epochs.dirty:
            self._node.spawn(self._write_side_files(), name=f"epochs {self.topic_partition}")

    def _check_writable(self) -> None:
        if self.closed:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"the log of {self.topic_partition} is closed")
        if self.failure is not None:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"the log of {self.topic_partition} waits for recovery from: {self.failure}")

    def _failed(self, error: OSError, what: str) -> KafkaError:
        """The error to raise; the log stays closed for appends unless the cause can go away by itself."""
        logger.error("log write failed", extra={"partition": str(self.topic_partition), "what": what, "error": str(error)})
        if error.errno not in _HEALING_ERRORS:
            self.failure = error
        return KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"{what} of {self.topic_partition} failed: {error}")

    async def recover(self) -> None:
        """Checks the unflushed segments after an I/O error and opens the log for appends again; `OSError` when it cannot yet.

        `KafkaError` KAFKA_STORAGE_ERROR when records that were there are not readable any more: then the replica is lost.
        """
        end_offset = self.log_end_offset
        self._folder.pool.forget_folder(self.directory)
        active = self._segments.active
        state = await rebuild_producers(self._folder, self._segments, self.log_start_offset, active.base_offset)
        await recover_segment(self._node, active, state, self.epochs, self._config().index_interval_bytes)
        self._reader.forget()
        if state.end_offset < end_offset:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"{self.topic_partition} lost records from offset {state.end_offset} on")
        self._take_producers(state)
        self.failure = None

    # Rolling

    def _segment_for(self, prepared: Prepared, now_ms: int) -> Segment:
        """The active segment, rolled before if it has to be."""
        active = self._segments.active
        state = RollState(
            active.size_bytes,
            active.created_ms,
            active.first_timestamp if active.size_bytes else NO_TIMESTAMP,
            active.roll_jitter_ms,
            active.offset_index.count,
            active.time_index.count,
        )
        if active.takes(prepared.last_offset) and not should_roll(
            state, self._config(), len(prepared.data), prepared.max_timestamp, now_ms
        ):
            return active
        return self.roll(now_ms, max(self.log_end_offset, prepared.first_offset if not active.takes(prepared.last_offset) else 0))

    def roll(self, now_ms: int, base_offset: int | None = None) -> Segment:
        """Closes the active segment and starts the next one at the log's end (or later); `OSError` when the disk refuses."""
        base_offset = self.log_end_offset if base_offset is None else base_offset
        active = self._segments.active
        if active.base_offset == base_offset:
            return active
        active.finish()
        segment = Segment.create(self._folder.pool, self._folder.path, base_offset, now_ms)
        config = self._config()
        segment.roll_jitter_ms = (
            self._node.entropy.random() * min(config.segment_jitter_ms, config.segment_ms) if config.segment_jitter_ms else 0
        )
        self._segments.add(segment)
        self.producer_state.end_offset = self.log_end_offset
        self._side_files.snapshot(self.producer_state)
        self._node.spawn(self.flush(base_offset), name=f"flush {self.topic_partition}")
        return segment

    # Reading

    def read(self, offset: int, max_bytes: int, end_offset: int, min_one_batch: bool = False) -> LogSlice:
        """Whole batches from the one that has `offset` on, ending below `end_offset`; `KafkaError` OFFSET_OUT_OF_RANGE."""
        if not self.log_start_offset <= offset <= self.log_end_offset:
            raise KafkaError(
                ErrorCode.OFFSET_OUT_OF_RANGE,
                f"offset {offset} of {self.topic_partition} is not in [{self.log_start_offset}, {self.log_end_offset}]",
            )
        try:
            return self._reader.read(
                offset, ReadLimits(max_bytes, min(end_offset, self.log_end_offset), self.log_end_offset, min_one_batch)
            )
        except OSError as error:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"read of {self.topic_partition} at {offset} failed: {error}") from error

    def size_between(self, offset: int, end_offset: int) -> int:
        """Bytes of the batches in [offset, end_offset)."""
        return self._reader.size_between(max(offset, self.log_start_offset), min(end_offset, self.log_end_offset), self.log_end_offset)

    def offset_for_timestamp(self, timestamp_ms: int) -> FoundTimestamp | None:
        """The first record whose timestamp is at least `timestamp_ms`."""
        return self._reader.find_timestamp(timestamp_ms, self.log_start_offset)

    def offset_of_max_timestamp(self) -> FoundTimestamp | None:
        """The first record that has the largest timestamp."""
        return self._reader.max_timestamp(self.log_start_offset)

    # High watermark, epochs

    def update_high_watermark(self, high_watermark: int) -> int:
        """Sets the high watermark, held within the log, and returns it."""
        self.high_watermark = min(max(high_watermark, self.log_start_offset), self.log_end_offset)
        self.producer_state.on_high_watermark(self.high_watermark)
        return self.high_watermark

    async def assign_epoch(self, epoch: int, start_offset: int) -> None:
        """Notes that a leader epoch begins; durable when it returns."""
        self.epochs.assign(epoch, start_offset)
        await self._write_side_files()

    @property
    def latest_epoch(self) -> int | None:
        return self.epochs.latest

    def end_offset_for_epoch(self, epoch: int) -> tuple[int, int]:
        """(largest known epoch not above `epoch`, its end offset), or (-1, -1)."""
        return self.epochs.end_offset_for(epoch, self.log_end_offset)

    async def _write_side_files(self) -> None:
        try:
            await self._side_files.write()
        except OSError as error:
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
        """Cuts the log so that it ends at `offset` (below, if that is inside a batch); whether there was anything to cut. Durable on return."""
        if offset >= self.log_end_offset:
            self.epochs.truncate_from_end(self.log_end_offset)
            return False
        if offset < self._segments[0].base_offset:
            await self.truncate_fully_and_start_at(offset)
            return True
        try:
            later = [segment for segment in self._segments if segment.base_offset > offset]
            self._retire(list(reversed(later)))
            offset = self._segments.active.truncate(offset, self._node.clock.now_ms())
        except OSError as error:
            raise self._failed(error, "truncation") from error
        self.epochs.truncate_from_end(offset)
        await self._after_truncation(offset, self.log_start_offset)
        return True

    async def truncate_fully_and_start_at(self, offset: int) -> None:
        """Empties the log; the next record has `offset`."""
        try:
            self._retire(list(reversed(list(self._segments))))
            self._segments.add(Segment.create(self._folder.pool, self._folder.path, offset, self._node.clock.now_ms()))
        except OSError as error:
            raise self._failed(error, "truncation") from error
        self.epochs.clear()
        await self._after_truncation(offset, offset)

    async def _after_truncation(self, end_offset: int, start_offset: int) -> None:
        self._truncations += 1
        self._reader.forget()
        self.log_end_offset = end_offset
        self.log_start_offset = min(start_offset, end_offset)
        self.recovery_point = min(self.recovery_point, end_offset)
        self.high_watermark = min(max(self.high_watermark, self.log_start_offset), end_offset)
        truncations = self._truncations
        await self._side_files.drop_snapshots(end_offset + 1)
        state = await rebuild_producers(self._folder, self._segments, self.log_start_offset, end_offset)
        if truncations == self._truncations:
            self._take_producers(state)
        await self._write_side_files()
        if self.on_truncated is not None:
            await self.on_truncated()

    def _take_producers(self, state: ProducerState) -> None:
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
        count = expired_count(self._ages(), self._config(), self.log_start_offset, self.high_watermark, now_ms)
        if not count:
            return 0
        try:
            if count == len(self._segments):
                self.roll(now_ms)
            gone = list(self._segments)[:count]
            self._retire(gone)
        except OSError as error:
            raise self._failed(error, "deletion") from error
        first = self._segments[0].base_offset
        if first > self.log_start_offset:
            self.log_start_offset = first
            self.epochs.truncate_from_start(first)
            self.producer_state.on_log_start(first)
        await self._side_files.drop_snapshots(0, first)
        await self._write_side_files()
        return count

    def _ages(self) -> list[SegmentAge]:
        return [
            SegmentAge(segment.size_bytes, segment.largest_timestamp, self._segments.end_offset(segment, self.log_end_offset))
            for segment in self._segments
        ]

    def _retire(self, gone: list[Segment]) -> None:
        """Takes segments out of the log in the given order; their files go after `file.delete.delay.ms`."""
        for segment in gone:
            segment.rename(names.DELETED)
            self._segments.remove([segment])
        self._reader.forget()
        if gone:
            self._node.spawn(self._remove_later(gone), name=f"remove segments {self.topic_partition}")

    def new_segment(self, base_offset: int, suffix: str) -> Segment:
        """An empty segment in the log's folder that is not part of the log; `OSError` when the disk refuses."""
        return Segment.create(self._folder.pool, self._folder.path, base_offset, self._node.clock.now_ms(), suffix)

    def replace_segments(self, old: Sequence[Segment], new: Segment) -> bool:
        """Puts a compacted segment in the place of those it was made from; False when they are not all in the log any more."""
        if self.closed or self.failure is not None or not all(any(each is kept for kept in self._segments) for each in old):
            return False
        try:
            new.rename(names.SWAP)
            self._retire(list(old))
            new.rename("")
        except OSError as error:
            raise self._failed(error, "compaction") from error
        self._segments.add(new)
        return True

    async def _remove_later(self, gone: list[Segment]) -> None:
        await self._node.clock.sleep(self._config().file_delete_delay_ms)
        for segment in gone:
            await segment.remove()

    # Durability

    async def flush(self, up_to: int | None = None) -> None:
        """Makes all records below `up_to` (the log's end) survive a power loss and moves the recovery point there."""
        target = self.log_end_offset if up_to is None else min(up_to, self.log_end_offset)
        if target <= self.recovery_point or self.closed:
            return
        truncations, due = self._truncations, [s for s in self._segments.from_offset(self.recovery_point) if s.base_offset < target]
        try:
            await self._side_files.write()
            for segment in due:
                await self._sync(segment)
        except OSError as error:
            raise self._failed(error, "flush") from error
        if truncations == self._truncations:
            self.recovery_point = max(self.recovery_point, target)
            self.last_flush_ms = self._node.clock.now_ms()

    async def _sync(self, segment: Segment) -> None:
        try:
            await segment.sync()
        except FileNotFoundError:
            if any(segment is kept for kept in self._segments):
                raise

    async def close(self, clean: bool = True) -> None:
        """Gives the files up; a clean close first completes and flushes everything, so that the next start need not check."""
        if clean and not self.closed and self.failure is None:
            self._segments.active.finish()
            self.producer_state.end_offset = self.log_end_offset
            self._side_files.snapshot(self.producer_state)
            await self._write_side_files()
            await self.flush()
        self.closed = True
        self._folder.pool.forget_folder(self.directory)


def duplicate_time(prepared: Prepared, duplicate: BatchMeta) -> int:
    """The append time to report for a repeated batch: that of the first one, where the broker sets timestamps."""
    return duplicate.timestamp if prepared.log_append_time_ms != NO_TIMESTAMP else NO_TIMESTAMP
