"""One partition's log: the only writer of its folder (spec S1–S7).

Offsets: log start ≤ high watermark ≤ log end; the last stable offset is the high watermark or the first record of a
transaction that is not known to have ended on all in-sync replicas. Records below the recovery point survive a power loss;
below the settled offset all are as durable as `flush.messages` asks.

Each part of a log's work stands on the one before: readable_log → durable_log (disk) → cuttable_log (segments) → appending, here.
"""

from __future__ import annotations

import uuid

from msgspec import Struct

from broker_core.errors import ErrorCode, KafkaError
from broker_core.records.batch import BatchHeader
from broker_core.storage.cuttable_log import CuttableLog
from broker_core.storage.looking import Looked
from broker_core.storage.producer_state import AppendOrigin, BatchMeta, ProducerUpdate
from broker_core.storage.reader import FoundTimestamp, LogSlice
from broker_core.storage.recovery import commit_update
from broker_core.storage.validation import NO_TIMESTAMP, Prepared, Rules, prepare_follower, prepare_leader

__all__ = ["AppendInfo", "AppendOrigin", "FoundTimestamp", "LogSlice", "PartitionLog"]


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


class PartitionLog(CuttableLog):
    """Made by `open`; all methods are called from the broker's one loop."""

    __slots__ = ()

    # Appending

    def append_as_leader(
        self, data: bytes | bytearray | memoryview, leader_epoch: int, origin: AppendOrigin, now_ms: int, looked: Looked | None = None
    ) -> AppendInfo:
        """Gives the batches the next offsets and appends them; nothing is written when it raises.

        A client's records are looked into here, on the spot, unless the caller has had that done in slices: `looked`.

        `KafkaError`: CORRUPT_MESSAGE, MESSAGE_TOO_LARGE, RECORD_LIST_TOO_LARGE, INVALID_RECORD, INVALID_TIMESTAMP,
        OUT_OF_ORDER_SEQUENCE_NUMBER, INVALID_PRODUCER_EPOCH, INVALID_TXN_STATE, TRANSACTION_COORDINATOR_FENCED, KAFKA_STORAGE_ERROR,
        UNKNOWN_SERVER_ERROR for what cannot be decompressed.
        """
        self._check_writable()
        prepared = prepare_leader(data, self.log_end_offset, leader_epoch, Rules(origin, self._config(), now_ms), looked)
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
