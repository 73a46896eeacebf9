"""Reads a partition of a coordinator's topic from start to end, in slices, so that the broker goes on serving meanwhile.

The topic is compacted, which makes its log its own snapshot: the last record of each key that has not ended, and what came since.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Protocol

from broker_core.errors import CorruptData
from broker_core.records.batch import BatchHeader, Record, iter_headers, reading_records
from broker_core.records.budget import Budget
from broker_core.records.steps import Steps
from broker_core.seams import Node
from broker_core.storage.log import LogSlice, PartitionLog
from broker_core.storage.slices import in_slices

log = logging.getLogger(__name__)

RECORDS_PER_SLICE = 200
MAX_READ_BYTES = 1 << 20
_COMMIT_MARKER = b"\x00\x01"


class Playback(Protocol):
    """Takes a partition's batches in log order. `skipped` counts records that could not be read or are of a later release."""

    skipped: int

    def batch(self, base_offset: int, producer_id: int | None, records: Iterable[tuple[bytes | None, bytes | None]]) -> None:
        """One data batch; `producer_id` is None for one that is not part of a transaction."""

    def marker(self, producer_id: int, *, commit: bool) -> None:
        """The end of a producer's transaction."""


class Loader:
    """Stops early when `is_wanted` says so: the partition has another leader now."""

    def __init__(self, node: Node, log: PartitionLog, playback: Playback, is_wanted: Callable[[], bool]) -> None:
        self._node = node
        self._log = log
        self._playback = playback
        self._is_wanted = is_wanted
        self._since_pause = 0
        self.bytes_read = 0

    async def run(self, buffer_bytes: int) -> bool:
        """Reads from the log's start to its end, at most `buffer_bytes` at a time; False when it was stopped."""
        position = self._log.log_start_offset
        while self._is_wanted() and position < self._log.log_end_offset:
            log_slice = self._log.read(position, min(buffer_bytes, MAX_READ_BYTES), self._log.log_end_offset, True)
            if log_slice.next_offset <= position:
                break
            await self._apply(log_slice)
            position = log_slice.next_offset
        return self._is_wanted()

    async def _apply(self, log_slice: LogSlice) -> None:
        if log_slice.records is None:
            return
        data = log_slice.records.file.pread(log_slice.records.position, log_slice.records.length)
        self.bytes_read += len(data)
        for position, header in iter_headers(data):
            await in_slices(self._node, self._batch(data, position, header))
            self._since_pause += header.record_count
            if self._since_pause >= RECORDS_PER_SLICE:
                self._since_pause = 0
                await self._node.clock.sleep(0)
                if not self._is_wanted():
                    return

    def _batch(self, data: bytes, position: int, header: BatchHeader) -> Steps[None]:
        """One that cannot be read is left out: nothing of the partition could be served at all otherwise."""
        try:
            for records in (yield from reading_records(data, position, header, Budget())):
                self._records(header, records)
                yield
        except CorruptData as error:
            tp = str(self._log.topic_partition)
            log.error("unreadable batch left out", extra={"partition": tp, "offset": header.base_offset, "error": str(error)})
            self._playback.skipped += header.record_count

    def _records(self, header: BatchHeader, records: list[Record]) -> None:
        if header.is_control:
            self._playback.marker(header.producer_id, commit=(records[0].key or b"")[2:4] == _COMMIT_MARKER)
        else:
            producer_id = header.producer_id if header.is_transactional else None
            self._playback.batch(header.base_offset, producer_id, [(record.key, record.value) for record in records])
