"""One segment of a log: a file of batches and its indexes (spec S1, S2).

    <base>.log        batches, one after the other; the first starts at or after the base offset
    <base>.index      offset → position            <base>.timeindex   timestamp → offset
    <base>.txnindex   aborted transactions, only where there are some

Crash: the log may end in a torn batch and the indexes may lack their newest entries. Recovery (recovery.py) keeps the
batches up to the first bad one and makes the indexes anew. `size_bytes` is what is known to be whole batches.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from broker_core.seams import DiskFile
from broker_core.storage.folder import names
from broker_core.storage.folder.files import FilePool
from broker_core.storage.segments.batch_scan import Span, spans
from broker_core.storage.segments.offset_index import RELATIVE_OFFSET_MAX, OffsetIndex
from broker_core.storage.segments.time_index import NO_TIMESTAMP, TimeIndex
from broker_core.storage.segments.transaction_index import TransactionIndex


class Way(NamedTuple):
    """What the indexes say of an offset or a time: `wanted` is the offset that the offset index was asked for, entries are numbers (-1:
    none applies, or none was asked), and the walk over the batches begins at `position`."""

    time_entry: int
    wanted: int
    offset_entry: int
    position: int


class Segment:
    """A segment whose files are opened when they are needed."""

    __slots__ = (
        "_first_timestamp",
        "_largest",
        "_pool",
        "base_offset",
        "bytes_since_index",
        "created_ms",
        "directory",
        "offset_index",
        "path",
        "roll_jitter_ms",
        "size_bytes",
        "suffix",
        "time_index",
        "txn_index",
    )

    def __init__(self, pool: FilePool, directory: str, base_offset: int, created_ms: int, suffix: str = "") -> None:
        self._pool = pool
        self.directory = directory
        self.base_offset = base_offset
        self.created_ms = created_ms
        self.suffix = suffix
        self.path = self._path(names.LOG)
        self.offset_index = OffsetIndex(pool, self._path(names.OFFSET_INDEX), base_offset)
        self.time_index = TimeIndex(pool, self._path(names.TIME_INDEX), base_offset)
        self.txn_index = TransactionIndex(pool, self._path(names.TXN_INDEX))
        self.size_bytes = 0
        self.bytes_since_index = 0
        self.roll_jitter_ms = 0.0
        self._largest: tuple[int, int] | None = None
        self._first_timestamp: int | None = None

    def _path(self, kind: str) -> str:
        return names.segment_path(self.directory, self.base_offset, kind, self.suffix)

    @classmethod
    def create(cls, pool: FilePool, directory: str, base_offset: int, created_ms: int, suffix: str = "") -> Segment:
        """An empty segment and its files; `OSError` when the disk refuses, and then there is no log: a start drops stray indexes."""
        segment = cls(pool, directory, base_offset, created_ms, suffix)
        segment.offset_index.create()
        segment.time_index.create()
        pool.create(segment.path)
        return segment

    @classmethod
    def existing(cls, pool: FilePool, directory: str, base_offset: int, suffix: str = "") -> Segment:
        """A segment found on disk, taken as it is."""
        segment = cls(pool, directory, base_offset, 0, suffix)
        segment.created_ms = pool.disk.modified_ms(segment.path)
        segment.size_bytes = pool.size(segment.path)
        return segment

    @property
    def file(self) -> DiskFile:
        return self._pool.get(self.path)

    @property
    def largest(self) -> tuple[int, int]:
        """(largest timestamp, last offset of the batch that has it); (-1, base offset) where there is none."""
        if self._largest is None:
            self._largest = self.time_index.last()
        return self._largest

    @property
    def largest_timestamp(self) -> int:
        """The largest timestamp, or the file's modification time where records have none."""
        timestamp = self.largest[0]
        return timestamp if timestamp >= 0 else self._pool.disk.modified_ms(self.path)

    @property
    def first_timestamp(self) -> int:
        """The first batch's timestamp, from which a segment's age counts; -1 where there is none."""
        if self._first_timestamp is None:
            first = next(self.spans(), None)
            if first is None:
                return NO_TIMESTAMP
            self._first_timestamp = first.max_timestamp
        return self._first_timestamp

    def takes(self, last_offset: int) -> bool:
        """Whether an offset can be told relative to this segment's base."""
        return 0 <= last_offset - self.base_offset <= RELATIVE_OFFSET_MAX

    def append(self, data: bytes | bytearray | memoryview, batches: Sequence[Span], index_interval_bytes: int) -> int:
        """Writes whole batches at the end and returns their position; `batches` are at positions relative to `data`.

        On `OSError` nothing has changed: what reached the file is cut off or lies beyond `size_bytes`.
        """
        file = self.file
        if file.size != self.size_bytes:
            file.truncate(self.size_bytes)
        start = file.append(data)
        self.size_bytes = start + len(data)
        for batch in batches:
            self.note(batch, start + batch.position, index_interval_bytes)
        return start

    def note(self, batch: Span, position: int, index_interval_bytes: int) -> None:
        """Takes a batch at `position` into the indexes."""
        if position == 0:
            self._first_timestamp = batch.max_timestamp
        largest = self.largest
        if batch.max_timestamp > largest[0]:
            largest = self._largest = (batch.max_timestamp, batch.last_offset)
        if self.bytes_since_index > index_interval_bytes:
            self.offset_index.append(batch.last_offset, position)
            self.time_index.maybe_append(*largest)
            self.bytes_since_index = 0
        self.bytes_since_index += batch.size_bytes

    def spans(self, position: int = 0, end: int | None = None) -> Iterator[Span]:
        """The batches from a position on that is a batch's start."""
        end = self.size_bytes if end is None else end
        return spans(self.file, position, end) if position < end else iter(())

    def way_to(self, offset: int) -> Way:
        """Where to begin to look for an offset."""
        return Way(-1, offset, *self.offset_index.entry_for(offset))

    def way_to_time(self, timestamp_ms: int) -> Way:
        """Where to begin to look for the first record that is not older: behind all that are known to be."""
        number, offset = self.time_index.entry_for(timestamp_ms - 1)
        return self.way_to(offset)._replace(time_entry=number)

    def find(self, offset: int) -> Span | None:
        """The first batch that ends at or after `offset`, None beyond the last one."""
        for span in self.spans(self.way_to(offset).position):
            if span.last_offset >= offset:
                return span
        return None

    def last_span_before(self, limit: int, start: int) -> Span | None:
        """The last batch that lies wholly in [start, limit); `start` is a batch's start."""
        indexed = self.offset_index.position_floor(limit)
        found = self._last_in(max(start, indexed), limit)
        if found is None and indexed > start:
            found = self._last_in(max(start, self.offset_index.position_floor(indexed - 1)), limit)
        return found

    def _last_in(self, start: int, limit: int) -> Span | None:
        found = None
        for span in self.spans(start):
            if span.end > limit:
                break
            found = span
        return found

    def next_offset(self) -> int:
        """The offset after the last batch; the base offset while empty."""
        end = self.base_offset
        for span in self.spans(self.offset_index.last_position()):
            end = span.last_offset + 1
        return end

    def truncate(self, offset: int, now_ms: int) -> int:
        """Cuts off every batch that ends at or after `offset`; returns the log's new end. `OSError` when the disk refuses."""
        span = self.find(offset)
        # The indexes first: a kill in between leaves batches that no entry points at, which a walk finds. The other way round entries
        # would point beyond the file's end.
        self.offset_index.truncate(offset)
        self.time_index.truncate(offset)
        self.txn_index.truncate(offset)
        if span is None:
            return offset
        self.file.truncate(span.position)
        self.size_bytes = span.position
        self._after_truncation(now_ms)
        return min(offset, span.base_offset)

    def _after_truncation(self, now_ms: int) -> None:
        self.bytes_since_index = 0
        if self.size_bytes == 0:
            self.created_ms, self._first_timestamp = now_ms, None
        self._largest = self.time_index.last()
        for span in self.spans(self.offset_index.last_position()):
            if span.max_timestamp > self._largest[0]:
                self._largest = (span.max_timestamp, span.last_offset)

    def forget_indexes(self) -> None:
        """Empties all three indexes, to be built anew by `note`."""
        self.offset_index.create()
        self.time_index.create()
        self.txn_index.reset()
        self.bytes_since_index, self._largest, self._first_timestamp = 0, (NO_TIMESTAMP, self.base_offset), None

    def has_sane_indexes(self) -> bool:
        return (
            self.offset_index.exists()
            and self.time_index.exists()
            and self.offset_index.is_sane(self.size_bytes)
            and self.time_index.is_sane()
            and self.txn_index.is_sane(self.base_offset)
        )

    def finish(self) -> None:
        """Completes the indexes at a roll or clean stop: the time index ends with the largest timestamp."""
        if self.largest[0] >= 0:
            self.time_index.maybe_append(*self.largest)
        self.flush_indexes()

    def flush_indexes(self) -> None:
        self.offset_index.flush()
        self.time_index.flush()
        self.txn_index.flush()

    async def sync(self) -> None:
        """Makes the segment survive a power loss: the log first, for an index that survives alone would speak of bytes that are gone."""
        await self.file.fsync()
        await self.offset_index.sync()
        await self.time_index.sync()
        await self.txn_index.sync()

    def rename(self, suffix: str) -> None:
        """Gives all files of the segment another suffix; the log goes first, as a start removes indexes that have none."""
        self.suffix = suffix
        self._pool.rename(self.path, self._path(names.LOG))
        self.path = self._path(names.LOG)
        for index, kind in (
            (self.offset_index, names.OFFSET_INDEX),
            (self.time_index, names.TIME_INDEX),
            (self.txn_index, names.TXN_INDEX),
        ):
            if self._pool.disk.exists(index.path):
                self._pool.rename(index.path, self._path(kind))
            index.path = self._path(kind)

    def moved_to(self, directory: str) -> None:
        """The folder was renamed, the files in it are the same."""
        self.directory = directory
        self.path = self._path(names.LOG)
        self.offset_index.path = self._path(names.OFFSET_INDEX)
        self.time_index.path = self._path(names.TIME_INDEX)
        self.txn_index.path = self._path(names.TXN_INDEX)

    async def remove(self) -> None:
        """Unlinks the files; what a response still sends stays readable."""
        for path in (self.path, self.offset_index.path, self.time_index.path, self.txn_index.path):
            self._pool.forget(path)
            await self._pool.disk.remove(path)
