"""One partition's log: the only writer of its folder (spec S1–S7).

Offsets: log start ≤ local log start ≤ high watermark ≤ log end; the last stable offset is the high watermark or the first record of a
transaction that is not known to have ended on all in-sync replicas. The log itself holds these, appends, and keeps its parts
in step where it loses records. All else is asked of a part:

    segments        which there are                       epochs           which leader epoch wrote what (pure)
    store           their files: rolled, cut, exchanged   side_files       epochs, producers' snapshots, topic id on disk
    reader          positions, timestamps                 producer_state   idempotent and transactional producers (pure)
    recovery        what is flushed, what may be acknowledged                    health   failed, closed

All methods are called from the broker's one loop. What changes offsets across an await (a cut) runs under `Partition.turn`, as
the partition's roles do; whatever else waits (a flush, a checkpoint) looks afterwards whether the log was cut meanwhile.
"""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, Self

from msgspec import Struct

from broker_core.config import TopicConfig
from broker_core.errors import CorruptData, ErrorCode, KafkaError
from broker_core.model import TopicPartition
from broker_core.records.batch import BatchHeader
from broker_core.seams import Node
from broker_core.storage.folder.files import FilePool, LogFolder
from broker_core.storage.leader_epoch_cache import LeaderEpochCache
from broker_core.storage.loading import LoadedLog, LogLoader
from broker_core.storage.log_health import LogHealth
from broker_core.storage.producer_state import AppendOrigin, BatchMetadata, ProducerAppendInfo, ProducerStateManager
from broker_core.storage.reader import LogSlice, Reader, ReadLimits, TimestampAndOffset
from broker_core.storage.recovery import commit_update, rebuild_producers, recover_segment
from broker_core.storage.recovery_point import RecoveryPoint
from broker_core.storage.retention import expired_count
from broker_core.storage.segments.log_segments import LogSegments
from broker_core.storage.segments.segment_store import SegmentStore
from broker_core.storage.side_files import SideFiles
from broker_core.storage.validation.log_validator import ValidationResult
from broker_core.storage.validation.prepared_append import NO_TIMESTAMP, Prepared, Rules, prepare_follower, prepare_leader

__all__ = ["AppendInfo", "AppendOrigin", "LogSlice", "PartitionLog", "TimestampAndOffset"]


class AppendInfo(Struct, frozen=True):
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
    """Made by `open`."""

    __slots__ = (
        "_config",
        "_folder",
        "_node",
        "directory",
        "epochs",
        "health",
        "high_watermark",
        "local_log_start_offset",
        "log_end_offset",
        "log_start_offset",
        "producer_state",
        "reader",
        "recovery",
        "segments",
        "side_files",
        "store",
        "successor",
        "topic_id",
        "topic_partition",
    )

    def __init__(self, folder: LogFolder, topic_partition: TopicPartition, config: Callable[[], TopicConfig], loaded: LoadedLog) -> None:
        self._config = config
        self._folder = folder
        self._node = folder.node
        self.directory = folder.path
        self.topic_partition = topic_partition
        self.topic_id = loaded.topic_id
        self.log_start_offset = loaded.log_start_offset
        self.local_log_start_offset = loaded.log_start_offset
        """Where the records in this folder begin; the log's own start, as long as no archive keeps what is older."""
        self.log_end_offset = loaded.log_end_offset
        self.high_watermark = loaded.log_start_offset
        self.successor: PartitionLog | None = None
        """The log that has taken this one's place, in another data folder."""
        self.health = LogHealth(topic_partition)
        self.epochs: LeaderEpochCache = loaded.epochs
        self.producer_state: ProducerStateManager = loaded.producers
        self.segments: LogSegments = loaded.segments
        self.reader = Reader(loaded.segments, self.health)
        self.store = SegmentStore(folder, loaded.segments, config, reader=self.reader, health=self.health)
        self.side_files = SideFiles(folder, loaded.epochs, self.health)
        self.recovery = RecoveryPoint(
            loaded.recovery_point,
            self._node,
            self.health,
            store=self.store,
            side_files=self.side_files,
            log_end=lambda: self.log_end_offset,
        )

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
        folder = LogFolder(node, FilePool(node.disk) if pool is None else pool, directory)
        loader = LogLoader(folder, config(), recovery_point=recovery_point, log_start_offset=log_start_offset, clean=clean)
        return cls(folder, topic_partition, config, await loader.load())

    @property
    def data_folder(self) -> str:
        """The path of the data folder that the log is in."""
        return self.directory.rpartition("/")[0]

    @property
    def newest(self) -> PartitionLog:
        """This log, or the one that the partition has now in its place."""
        return self if self.successor is None else self.successor.newest

    @property
    def config(self) -> TopicConfig:
        return self._config()

    @property
    def last_stable_offset(self) -> int:
        """Up to where read_committed readers may read (exclusive)."""
        unstable = self.producer_state.first_unstable_offset
        if unstable is None:
            return self.high_watermark
        return min(max(unstable, self.log_start_offset), self.high_watermark)

    def update_high_watermark(self, high_watermark: int) -> int:
        """Sets the high watermark, held within the log, and returns it."""
        self.high_watermark = min(max(high_watermark, self.log_start_offset), self.log_end_offset)
        self.producer_state.on_high_watermark(self.high_watermark)
        return self.high_watermark

    # Reading

    def read(self, offset: int, max_bytes: int, end_offset: int, min_one_batch: bool = False) -> LogSlice:
        """Whole batches from the one that has `offset` on, ending below `end_offset`; `KafkaError` OFFSET_OUT_OF_RANGE."""
        if not self.local_log_start_offset <= offset <= self.log_end_offset:
            raise KafkaError(
                ErrorCode.OFFSET_OUT_OF_RANGE,
                f"offset {offset} of {self.topic_partition} is not in [{self.local_log_start_offset}, {self.log_end_offset}]",
            )
        end_offset = min(end_offset, self.log_end_offset)
        if offset >= end_offset:
            return LogSlice(None, 0, offset, offset, [])
        limits = ReadLimits(max_bytes, end_offset, self.log_end_offset, min_one_batch)
        try:
            return self.reader.read(offset, limits)
        except (OSError, CorruptData) as error:
            raise self.health.unreadable(error) from error

    def size_between(self, offset: int, end_offset: int) -> int:
        """Bytes of the batches in [offset, end_offset)."""
        start, end = max(offset, self.local_log_start_offset), min(end_offset, self.log_end_offset)
        try:
            return self.reader.size_between(start, end, self.log_end_offset)
        except (OSError, CorruptData) as error:
            raise self.health.unreadable(error) from error

    # Appending

    def append_as_leader(
        self,
        data: bytes | bytearray | memoryview,
        leader_epoch: int,
        origin: AppendOrigin,
        now_ms: int,
        validated: ValidationResult | None = None,
    ) -> AppendInfo:
        """Gives the batches the next offsets and appends them; nothing is written when it raises.

        A client's records are looked into here, on the spot, unless the caller has had that done in slices: `validated`.

        `KafkaError`: CORRUPT_MESSAGE, MESSAGE_TOO_LARGE, RECORD_LIST_TOO_LARGE, INVALID_RECORD, INVALID_TIMESTAMP,
        OUT_OF_ORDER_SEQUENCE_NUMBER, INVALID_PRODUCER_EPOCH, INVALID_TXN_STATE, TRANSACTION_COORDINATOR_FENCED, KAFKA_STORAGE_ERROR,
        UNKNOWN_SERVER_ERROR for what cannot be decompressed.
        """
        self.health.check_writable()
        prepared = prepare_leader(data, self.log_end_offset, leader_epoch, Rules(origin, self._config(), now_ms), validated)
        if origin is AppendOrigin.CLIENT:
            duplicate = self._duplicate(prepared.headers)
            if duplicate is not None:
                return AppendInfo(duplicate.first_offset, duplicate.last_offset, duplicate.timestamp, self.log_start_offset, True, 0)
        return self._append(prepared, origin, now_ms)

    def append_as_follower(self, data: bytes | bytearray | memoryview, now_ms: int) -> AppendInfo:
        """Appends what the leader sent as it is, without an incomplete last batch; it must begin at the log's end or later."""
        self.health.check_writable()
        prepared = prepare_follower(data, self.log_end_offset, log_is_empty=self.log_start_offset == self.log_end_offset)
        if not prepared.headers:
            return AppendInfo(self.log_end_offset, self.log_end_offset - 1, NO_TIMESTAMP, self.log_start_offset, False, 0)
        return self._append(prepared, AppendOrigin.REPLICATION, now_ms)

    def _duplicate(self, headers: list[BatchHeader]) -> BatchMetadata | None:
        for header in headers:
            if header.producer_id >= 0:
                found = self.producer_state.duplicate_of(header)
                if found is not None:
                    return found
        return None

    def _append(self, prepared: Prepared, origin: AppendOrigin, now_ms: int) -> AppendInfo:
        # First what may refuse, with nothing changed: `update` holds what producers would become until the bytes are written.
        config = self._config()
        update: ProducerAppendInfo | None = None
        for header, marker in zip(prepared.headers, prepared.markers, strict=True):
            if header.has_producer_id:
                update = update or ProducerAppendInfo(self.producer_state, origin)
                update.add(header, marker)
        first_offset, last_offset = prepared.first_offset, prepared.last_offset
        try:
            if first_offset < self.log_end_offset:  # only an empty log, whose start lies inside the leader's first batch
                self.store.start_anew(first_offset)
            next_base = self.store.next_base(prepared, self.log_end_offset, now_ms, config)
            if next_base is not None:
                self.roll(now_ms, next_base)
            segment = self.store.active
            position = segment.append(prepared.data, prepared.spans, config.index_interval_bytes)
        except OSError as error:
            raise self.health.failed(error, "append") from error
        # The bytes are in the page cache: a killed process leaves them, or a torn end, and the next start finds the producers and
        # epochs in them again. From here to the return nothing waits, so nobody sees the one without the other.
        self.log_end_offset = last_offset + 1
        if update is not None:
            commit_update(self.producer_state, segment, update)
        self.producer_state.reach(self.log_end_offset)
        self.reader.remember(first_offset, segment, position)
        self._note_epochs(prepared.headers)
        if self.log_end_offset - self.recovery.point >= config.flush_messages:
            self.recovery.appended(first_offset, config.flush_messages)
        return AppendInfo(first_offset, last_offset, prepared.log_append_time_ms, self.log_start_offset, False, len(prepared.headers))

    def _note_epochs(self, headers: list[BatchHeader]) -> None:
        news = False
        for header in headers:
            if header.leader_epoch > (-1 if self.epochs.latest is None else self.epochs.latest):
                news = self.epochs.assign(header.leader_epoch, header.base_offset) or news
        if news:
            self._node.spawn(self._unawaited(self.side_files.save), name=f"epochs {self.topic_partition}")

    async def _unawaited(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Nobody waits for it: what the disk does to it is told by the log's health, and asked of it by whoever writes next."""
        with contextlib.suppress(KafkaError):
            await work()

    def roll(self, now_ms: int, base_offset: int | None = None) -> None:
        """Closes the active segment and starts the next one at the log's end (or later); `OSError` when the disk refuses."""
        base_offset = self.log_end_offset if base_offset is None else base_offset
        if not self.store.roll(base_offset, now_ms):
            return
        # A snapshot per segment, so that a start reads the batches of one segment at most. It is on disk before the recovery point
        # passes it; a crash before that leaves the one before, and more batches to read.
        self.producer_state.end_offset = self.log_end_offset
        self.side_files.snapshot(self.producer_state)
        self._node.spawn(self._unawaited(partial(self.recovery.flush, base_offset)), name=f"flush {self.topic_partition}")

    # Losing records: at the end, at the start

    async def truncate_to(self, offset: int) -> bool:
        """Cuts the log so that it ends at `offset` (below it, if that is inside a batch); whether there was anything to cut.

        Durable on return: otherwise a power loss could bring cut records back below newer ones.
        """
        if offset >= self.log_end_offset:
            self.epochs.truncate_from_end(self.log_end_offset)
            return False
        if offset < self.segments[0].base_offset:
            await self.truncate_fully_and_start_at(offset)
            return True
        try:
            offset = self.store.truncate(offset)
        except OSError as error:
            raise self.health.failed(error, "truncation", heals=False) from error
        self.epochs.truncate_from_end(offset)
        await self._after_truncation(offset, self.log_start_offset)
        return True

    async def truncate_fully_and_start_at(self, offset: int) -> None:
        """Empties the log; the next record has `offset`."""
        try:
            self.store.start_anew(offset)
        except OSError as error:
            raise self.health.failed(error, "truncation", heals=False) from error
        self.epochs.clear()
        await self._after_truncation(offset, offset)

    async def _after_truncation(self, end_offset: int, start_offset: int) -> None:
        # The offsets at once, before any wait: whoever reads or flushes meanwhile must not count on what is gone.
        self.log_end_offset = end_offset
        self.log_start_offset = self.local_log_start_offset = min(start_offset, end_offset)
        self.high_watermark = min(max(self.high_watermark, self.log_start_offset), end_offset)
        self.recovery.cut(end_offset)
        # Then, on disk, what speaks of the cut records, before others can stand at their offsets: snapshots beyond the end, epochs,
        # the bytes themselves, and last the recovery point. A crash on the way finds the point where it was: what lies above it is
        # checked, and snapshots and epochs beyond the log's end are dropped at the next start.
        await self.side_files.drop_snapshots(end_offset + 1)
        await self._rebuild_producers()
        await self.side_files.save()
        try:
            await self.store.active.sync()
        except OSError as error:
            raise self.health.failed(error, "truncation", heals=False) from error
        await self.recovery.save()

    def advance_log_start(self, offset: int) -> bool:
        """Makes records below `offset` unreadable; whether that was news. `KafkaError` OFFSET_OUT_OF_RANGE above the high watermark."""
        if offset > self.high_watermark:
            raise KafkaError(
                ErrorCode.OFFSET_OUT_OF_RANGE,
                f"log start {offset} of {self.topic_partition} is above the high watermark {self.high_watermark}",
            )
        if offset <= self.log_start_offset:
            return False
        # In memory only: the checkpoint of log starts is periodic, as Kafka's. A crash before it makes the records readable again.
        self._start_at(offset)
        return True

    def _start_at(self, offset: int) -> None:
        self.log_start_offset = self.local_log_start_offset = offset
        self.epochs.truncate_from_start(offset)
        self.producer_state.on_log_start(offset)

    async def delete_expired(self, now_ms: int) -> int:
        """Removes the segments that retention no longer covers; returns how many. In a closed log's folder may be another by now."""
        if self.health.closed:
            return 0
        count = expired_count(self.store.ages(self.log_end_offset), self._config(), self.log_start_offset, self.high_watermark, now_ms)
        if not count:
            return 0
        try:
            if count == len(self.segments):
                self.roll(now_ms)  # or nothing on disk would say where the log ends
            # The oldest first, so that a crash in between leaves a log that begins later and has no hole. Epochs and snapshots that
            # speak of what is gone follow; a start that still finds them drops them by the log's start.
            self.store.retire(list(self.segments)[:count])
        except OSError as error:
            raise self.health.failed(error, "deletion") from error
        first = self.segments[0].base_offset
        if first > self.log_start_offset:
            self._start_at(first)
        await self.side_files.drop_snapshots(0, first)
        await self.side_files.save()
        return count

    async def _rebuild_producers(self) -> None:
        """Producer state from snapshots and batches, again if the log's end moved meanwhile; the old one serves until then."""
        end_offset = -1
        while end_offset != self.log_end_offset:
            end_offset = self.log_end_offset
            state = await rebuild_producers(self._folder, self.segments, self.log_start_offset, end_offset)
        state.on_high_watermark(self.high_watermark)
        self.producer_state = state

    # Looked after, closed, recovered

    async def look_after(self, now_ms: int) -> None:
        """The periodic part: comes back after handles ran out, and flushes when `flush.ms` is over or an earlier flush failed.

        Raises as `recover` and `RecoveryPoint.flush` do.
        """
        if self.health.failure is not None:
            try:
                await self.recover()
            except OSError as error:
                raise self.health.failed(error, "recovery", heals=False) from error
        elif self.recovery.is_due(now_ms, self._config().flush_ms):
            await self.recovery.flush()
        self.recovery.flush_held()

    async def recover(self) -> None:
        """Checks the unflushed segments after a failure and opens the log for appends again; `OSError` when it cannot yet.

        `KafkaError` KAFKA_STORAGE_ERROR when records that were there are not readable any more: then the replica is lost.
        """
        self._folder.pool.forget_folder(self.directory)
        unflushed = self.segments.from_offset(self.recovery.point)
        state = await rebuild_producers(self._folder, self.segments, self.log_start_offset, unflushed[0].base_offset)
        for segment in unflushed:
            await recover_segment(self._node, segment, state, self.epochs, self._config().index_interval_bytes)
        self.reader.forget()
        if self.store.active.next_offset() < self.log_end_offset:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"{self.topic_partition} lost records from offset {state.end_offset} on")
        await self._rebuild_producers()
        self.health.failure = None

    def abandon(self) -> None:
        """The data folder is offline: nothing is written any more, whoever waits for a flush is told."""
        self.health.closed = True
        self.recovery.abandon("is offline")

    async def close(self, clean: bool = True) -> None:
        """Gives the files up; a clean close first completes and flushes everything, so that the next start need not check.

        `OSError` or `KafkaError` KAFKA_STORAGE_ERROR when that fails: the log must not be taken for clean then.
        """
        if self.health.closed:
            return
        self.health.closed = True
        try:
            if clean and self.health.failure is None:
                self.store.active.finish()
                if self.producer_state.end_offset <= self.log_end_offset:  # else a cut was broken off, and the next start makes it anew
                    self.producer_state.end_offset = self.log_end_offset
                    self.side_files.snapshot(self.producer_state)
                await self.side_files.write()
                await self.recovery.flush_last()
        finally:
            self.recovery.abandon("was closed")
            self.recovery.let_go()
            self._folder.pool.forget_folder(self.directory)

    def move_to(self, directory: str) -> None:
        """Renames the log's folder; whoever reads or appends does not notice. `OSError` when the disk refuses: nothing has changed then.

        To be called while `side_files.still`.
        """
        self._folder.pool.forget_folder(self.directory)
        self._node.disk.rename(self.directory, directory)
        self._folder.path = self.directory = directory
        self.store.moved_to(directory)

    async def set_topic_id(self, topic_id: uuid.UUID) -> None:
        """Records the topic's id; `KafkaError` INCONSISTENT_TOPIC_ID when the log is another topic's."""
        if self.topic_id is not None and self.topic_id != topic_id:
            raise KafkaError(
                ErrorCode.INCONSISTENT_TOPIC_ID, f"the log of {self.topic_partition} belongs to topic id {self.topic_id}, not {topic_id}"
            )
        if self.topic_id is None:
            self.topic_id = topic_id
            await self.side_files.write_topic_id(topic_id)
