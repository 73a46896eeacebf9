"""One partition's log: the only writer of its folder (SOURCES S1–S7).

Offsets: log start ≤ high watermark ≤ log end; the last stable offset is the high watermark or the first record of a
transaction that is not known to have ended on all in-sync replicas. Records below the recovery point survive a power loss;
below the settled offset all are as durable as `flush.messages` asks.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from broker_core.errors import ErrorCode, KafkaError
from broker_core.records.batch import BatchHeader
from broker_core.storage.durable_log import DurableLog
from broker_core.storage.producer_state import AppendOrigin, BatchMeta, ProducerUpdate
from broker_core.storage.reader import FoundTimestamp, LogSlice
from broker_core.storage.recovery import commit_update
from broker_core.storage.retention import expired_count
from broker_core.storage.segment import Segment
from broker_core.storage.validation import NO_TIMESTAMP, Prepared, Rules, prepare_follower, prepare_leader

__all__ = ["AppendInfo", "AppendOrigin", "FoundTimestamp", "LogSlice", "PartitionLog"]


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


class PartitionLog(DurableLog):
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
                return AppendInfo(duplicate.first_offset, duplicate.last_offset, duplicate.timestamp, self.log_start_offset, True, 0)
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
        flush_messages = self._config().flush_messages
        if self.log_end_offset - self.recovery_point >= flush_messages:
            self._hold(prepared.first_offset, flush_messages)
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
        if self._held is not None:
            self._held.cut(end_offset)
            self._release_held()
        await self._side_files.drop_snapshots(end_offset + 1)
        await self._rebuild_producers()
        await self._write_side_files()
        try:
            await self._store.active.sync()
        except OSError as error:
            raise self._failed(error, "truncation", heals=False) from error
        await self.save_recovery_point()

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
