"""What compaction keeps of a log, batch by batch. Pure.

Of each key only the record with the largest offset stays; a tombstone (null value) goes `delete.retention.ms` after it was
first compacted, so that a reader from the start sees it in time. Records of aborted transactions go at once, their markers
once no batch of the transaction is left. The last batch of a producer stays, empty if need be: it carries its sequence number.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from broker_core.config.key import LONG_MAX
from broker_core.records.batch import BatchHeader, Record
from broker_core.records.steps import Steps
from broker_core.storage.cleaning.rewrite import delete_horizon, rewriting
from broker_core.storage.producer_state import EndTxnMarker
from broker_core.storage.segments.transaction_index import AbortedTxn

ENTRY_OVERHEAD_BYTES = 160


class OffsetMap:
    """Key → largest offset, within a memory limit; `next_offset` is up to where the log was taken in."""

    __slots__ = ("_offsets", "_room_bytes", "next_offset")

    def __init__(self, limit_bytes: int, first_offset: int) -> None:
        self._offsets: dict[bytes, int] = {}
        self._room_bytes = limit_bytes
        self.next_offset = first_offset

    def __len__(self) -> int:
        return len(self._offsets)

    def adding(self, chunks: Iterable[Sequence[Record]], next_offset: int) -> Steps[bool]:
        """Takes a batch's records in; False, and nothing of a later batch may be added, once the room is used up."""
        for records in chunks:
            for record in records:
                if record.key is not None:
                    if record.key not in self._offsets:
                        self._room_bytes -= len(record.key) + ENTRY_OVERHEAD_BYTES
                    self._offsets[record.key] = record.offset
            yield
        self.next_offset = next_offset
        return self._room_bytes > 0

    def is_latest(self, record: Record) -> bool:
        """Whether no later record of the same key is known; what lies beyond the map is always kept."""
        if record.offset >= self.next_offset:
            return True
        return record.key is not None and self._offsets.get(record.key, -1) <= record.offset


class CleanedTransactions:
    """Follows the transactions of a log from its start on, to tell aborted batches and markers without a purpose."""

    __slots__ = ("_aborted", "_markers", "_with_batches")

    def __init__(self, aborted: Iterable[AbortedTxn]) -> None:
        self._aborted: dict[int, list[AbortedTxn]] = {}
        self._markers: dict[int, AbortedTxn] = {}
        self._with_batches: dict[int, bool] = {}
        for txn in aborted:
            self._aborted.setdefault(txn.producer_id, []).append(txn)
            self._markers[txn.last_offset] = txn

    def is_aborted(self, header: BatchHeader) -> bool:
        if not header.is_transactional or header.is_control:
            return False
        found = self._aborted.get(header.producer_id, ())
        return any(txn.first_offset <= header.base_offset < txn.last_offset for txn in found)

    def saw_batch(self, header: BatchHeader) -> None:
        """Notes a data batch that is still in the log."""
        if header.is_transactional:
            self._with_batches[header.producer_id] = True

    def marker_is_idle(self, header: BatchHeader) -> bool:
        """Whether a marker ends a transaction of which no batch is left; asked once for each marker, in order."""
        return not self._with_batches.pop(header.producer_id, False)

    def aborted_by(self, header: BatchHeader) -> AbortedTxn | None:
        """The index entry that belongs to an abort marker."""
        return self._markers.get(header.base_offset)


class Compactor:
    """Decides for each batch what is written in its place."""

    __slots__ = ("_horizon_ms", "_last_offsets", "_now_ms", "_offsets", "_transactions")

    def __init__(
        self,
        offsets: OffsetMap,
        transactions: CleanedTransactions,
        last_offsets: frozenset[int],
        *,
        now_ms: int,
        delete_retention_ms: int,
    ) -> None:
        self._offsets = offsets
        self._transactions = transactions
        self._last_offsets = last_offsets
        self._now_ms = now_ms
        self._horizon_ms = min(now_ms + delete_retention_ms, LONG_MAX)

    def replacing(
        self, header: BatchHeader, marker: EndTxnMarker | None, chunks: Iterable[Sequence[Record]], original: bytes
    ) -> Steps[bytes | None]:
        """What is written in a batch's place, None for nothing; `original` is the batch as it is, `chunks` its records, few at a time.

        What lies beyond the map may belong to a transaction that is not known to have ended: it stays.
        """
        if header.last_offset >= self._offsets.next_offset:
            return original
        if header.is_control:
            return (yield from self._control(header, marker, [record for records in chunks for record in records], original))
        return (yield from self._data(header, chunks, original))

    def _control(self, header: BatchHeader, marker: EndTxnMarker | None, records: list[Record], original: bytes) -> Steps[bytes | None]:
        """A marker whose transaction has lost all batches goes like a tombstone."""
        if not records:
            return (yield from self._emptied(header))
        if marker is None or not self._transactions.marker_is_idle(header):
            return original
        horizon = delete_horizon(header)
        if horizon is None:
            return (yield from rewriting(header, records, self._horizon_ms))
        return original if self._now_ms <= horizon else (yield from self._emptied(header))

    def _data(self, header: BatchHeader, chunks: Iterable[Sequence[Record]], original: bytes) -> Steps[bytes | None]:
        horizon = delete_horizon(header)
        tombstones_stay = horizon is None or self._now_ms <= horizon
        kept: list[Record] = []
        if not self._transactions.is_aborted(header):
            for records in chunks:
                kept += [r for r in records if self._offsets.is_latest(r) and (r.value is not None or tombstones_stay)]
                yield
        if not kept:
            return (yield from self._emptied(header))
        self._transactions.saw_batch(header)
        if horizon is None and any(record.value is None for record in kept):
            return (yield from rewriting(header, kept, self._horizon_ms))
        return original if len(kept) == header.record_count else (yield from rewriting(header, kept, horizon))

    def _emptied(self, header: BatchHeader) -> Steps[bytes | None]:
        """The batch without records, where it is a producer's last one; it still belongs to its transaction then."""
        if header.last_offset not in self._last_offsets:
            return None
        self._transactions.saw_batch(header)
        return (yield from rewriting(header, [], delete_horizon(header)))
