"""What a partition knows of its idempotent and transactional producers, pure (spec G4, G5).

Of each producer id the last five batches are kept: an exact repeat of one of them is a duplicate and gets the old offset.
The first unstable offset is that of the oldest transaction that is still going on, or that has ended above the high
watermark: until its marker is replicated a new leader might not have it.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import NamedTuple

from broker_core.errors import ErrorCode, KafkaError
from broker_core.records.batch import BatchHeader

BATCHES_KEPT = 5
SEQUENCE_MAX = 2**31 - 1
NO_EPOCH = -1
NO_SEQUENCE = -1
NO_OFFSET = -1


class AppendOrigin(Enum):
    """Who asks for an append, and so how far it is checked (spec R12)."""

    CLIENT = "client"
    REPLICATION = "replication"
    COORDINATOR = "coordinator"


class BatchMetadata(NamedTuple):
    """One appended batch of a producer."""

    last_sequence: int
    last_offset: int
    offset_delta: int
    timestamp: int

    @property
    def first_sequence(self) -> int:
        first = self.last_sequence - self.offset_delta
        return first if first >= 0 else first + SEQUENCE_MAX + 1

    @property
    def first_offset(self) -> int:
        return self.last_offset - self.offset_delta


class ProducerStateEntry(NamedTuple):
    """One producer id's state; replaced, never changed."""

    producer_id: int
    epoch: int = NO_EPOCH
    coordinator_epoch: int = -1
    last_timestamp: int = -1
    txn_first_offset: int = NO_OFFSET
    batches: tuple[BatchMetadata, ...] = ()

    @property
    def last_sequence(self) -> int:
        return self.batches[-1].last_sequence if self.batches else NO_SEQUENCE

    @property
    def last_offset(self) -> int:
        return self.batches[-1].last_offset if self.batches else NO_OFFSET


class EndTxnMarker(NamedTuple):
    """The control record that ends a transaction."""

    commit: bool
    coordinator_epoch: int


class CompletedTxn(NamedTuple):
    producer_id: int
    first_offset: int
    last_offset: int
    aborted: bool


def next_sequence(last_sequence: int) -> int:
    return 0 if last_sequence == SEQUENCE_MAX else last_sequence + 1


class ProducerStateManager:
    """The producers of one log; `end_offset` says up to where its batches are in here."""

    __slots__ = ("end_offset", "entries", "ongoing", "unreplicated")

    def __init__(self, end_offset: int = 0, entries: Iterable[ProducerStateEntry] = ()) -> None:
        self.end_offset = end_offset
        self.entries = {entry.producer_id: entry for entry in entries}
        open_txns = ((entry.txn_first_offset, entry.producer_id) for entry in self.entries.values() if entry.txn_first_offset >= 0)
        self.ongoing: dict[int, int] = dict(sorted(open_txns))
        """First offset → producer id, first offsets rising."""
        self.unreplicated: dict[int, int] = {}
        """First offset → marker's offset, of transactions whose end the high watermark has not passed."""

    @property
    def first_unstable_offset(self) -> int | None:
        if not self.ongoing and not self.unreplicated:
            return None
        ongoing = next(iter(self.ongoing), None)
        if not self.unreplicated:
            return ongoing
        ended = min(self.unreplicated)
        return ended if ongoing is None else min(ended, ongoing)

    def duplicate_of(self, header: BatchHeader) -> BatchMetadata | None:
        """The kept batch that this one repeats exactly."""
        entry = self.entries.get(header.producer_id)
        if entry is None or entry.epoch != header.producer_epoch:
            return None
        wanted = (header.base_sequence, header.last_sequence)
        return next((meta for meta in entry.batches if (meta.first_sequence, meta.last_sequence) == wanted), None)

    def commit(self, update: ProducerAppendInfo) -> None:
        """Takes over what an append has changed, once it is in the log."""
        self.entries.update(update.entries)
        self.ongoing.update(update.started)
        self.end_offset = max(self.end_offset, update.end_offset)

    def reach(self, end_offset: int) -> None:
        """Everything below `end_offset` is in here, with producers or without."""
        self.end_offset = max(self.end_offset, end_offset)

    def stable_offset_after(self, completed: CompletedTxn) -> int:
        """The last stable offset once this transaction is complete (for the transaction index).

        One append may bring the end of a transaction and the begin of others after it (a follower's does): those hold back nothing yet.
        """
        others = (first for first, producer_id in self.ongoing.items() if producer_id != completed.producer_id)
        return min(next(others, completed.last_offset + 1), completed.last_offset + 1)

    def complete(self, completed: CompletedTxn) -> None:
        """Ends a transaction; it stays unstable until the high watermark passes its marker."""
        self.ongoing.pop(completed.first_offset, None)
        self.unreplicated[completed.first_offset] = completed.last_offset

    def on_high_watermark(self, high_watermark: int) -> None:
        if self.unreplicated:
            self.unreplicated = {first: last for first, last in self.unreplicated.items() if last >= high_watermark}

    def on_log_start(self, log_start_offset: int) -> None:
        """Forgets ended transactions that lie below a log's new start."""
        self.on_high_watermark(log_start_offset)
        self.end_offset = max(self.end_offset, log_start_offset)

    def expire(self, now_ms: int, expiration_ms: int) -> None:
        """Forgets producers without a transaction that have been silent for too long."""
        for entry in list(self.entries.values()):
            if entry.txn_first_offset < 0 and now_ms - entry.last_timestamp >= expiration_ms:
                del self.entries[entry.producer_id]


class ProducerAppendInfo:
    """What one append would change; raises before anything is written."""

    __slots__ = ("_origin", "_state", "completed", "end_offset", "entries", "started")

    def __init__(self, state: ProducerStateManager, origin: AppendOrigin) -> None:
        self._state = state
        self._origin = origin
        self.entries: dict[int, ProducerStateEntry] = {}
        self.started: dict[int, int] = {}
        self.completed: list[CompletedTxn] = []
        self.end_offset = state.end_offset

    def add(self, header: BatchHeader, marker: EndTxnMarker | None) -> None:
        """Takes one batch with its final offsets; `marker` is a control batch's record, None in a data batch.

        `KafkaError`: INVALID_PRODUCER_EPOCH, OUT_OF_ORDER_SEQUENCE_NUMBER, INVALID_TXN_STATE, TRANSACTION_COORDINATOR_FENCED.
        """
        self.end_offset = header.last_offset + 1
        if header.producer_id < 0:
            return
        entry = self._entry(header.producer_id)
        self._check_epoch(entry, header)
        if header.is_control:
            if marker is not None:
                self._end_transaction(entry, header, marker)
            return
        if self._origin is AppendOrigin.CLIENT:
            check_sequence(entry, header)
        self._add_data(entry, header)

    def _entry(self, producer_id: int) -> ProducerStateEntry:
        return self.entries.get(producer_id) or self._state.entries.get(producer_id) or ProducerStateEntry(producer_id)

    def _check_epoch(self, entry: ProducerStateEntry, header: BatchHeader) -> None:
        if header.producer_epoch < entry.epoch and self._origin is not AppendOrigin.REPLICATION:
            raise KafkaError(
                ErrorCode.INVALID_PRODUCER_EPOCH,
                f"producer {entry.producer_id} has epoch {header.producer_epoch}, but epoch {entry.epoch} was seen already",
            )

    def _add_data(self, entry: ProducerStateEntry, header: BatchHeader) -> None:
        txn_first_offset = entry.txn_first_offset
        if txn_first_offset >= 0 and not header.is_transactional:
            raise KafkaError(ErrorCode.INVALID_TXN_STATE, f"producer {entry.producer_id} has an open transaction and wrote outside of it")
        if header.is_transactional and txn_first_offset < 0:
            txn_first_offset = header.base_offset
            self.started[txn_first_offset] = entry.producer_id
        meta = BatchMetadata(header.last_sequence, header.last_offset, header.last_offset - header.base_offset, header.max_timestamp)
        kept = entry.batches[-(BATCHES_KEPT - 1) :] if header.producer_epoch == entry.epoch else ()
        self.entries[entry.producer_id] = ProducerStateEntry(
            entry.producer_id, header.producer_epoch, entry.coordinator_epoch, header.max_timestamp, txn_first_offset, (*kept, meta)
        )

    def _end_transaction(self, entry: ProducerStateEntry, header: BatchHeader, marker: EndTxnMarker) -> None:
        if marker.coordinator_epoch < entry.coordinator_epoch and self._origin is not AppendOrigin.REPLICATION:
            raise KafkaError(
                ErrorCode.TRANSACTION_COORDINATOR_FENCED,
                f"marker for producer {entry.producer_id} has epoch {marker.coordinator_epoch}, {entry.coordinator_epoch} was seen",
            )
        if entry.txn_first_offset >= 0:
            self.completed.append(CompletedTxn(entry.producer_id, entry.txn_first_offset, header.base_offset, not marker.commit))
        kept = entry.batches if header.producer_epoch == entry.epoch else ()
        self.entries[entry.producer_id] = ProducerStateEntry(
            entry.producer_id, header.producer_epoch, marker.coordinator_epoch, header.max_timestamp, NO_OFFSET, kept
        )


def check_sequence(entry: ProducerStateEntry, header: BatchHeader) -> None:
    """`KafkaError` OUT_OF_ORDER_SEQUENCE_NUMBER unless the batch follows the producer's last one.

    A producer id of which nothing is known (retention may have removed it) may start with any sequence.
    """
    if entry.epoch == NO_EPOCH:
        return
    if header.producer_epoch != entry.epoch:
        if header.base_sequence != 0:
            raise KafkaError(
                ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
                f"producer {entry.producer_id} starts epoch {header.producer_epoch} with sequence {header.base_sequence}, not 0",
            )
    elif header.base_sequence != next_sequence(entry.last_sequence):
        raise KafkaError(
            ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
            f"producer {entry.producer_id} sent sequence {header.base_sequence} after {entry.last_sequence}",
        )
