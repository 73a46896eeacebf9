"""`.txnindex`: the aborted transactions that ended in a segment.

Entry, 34 bytes: version 0 (int16), producer id, first offset, last offset (the abort marker's), last stable offset after
the marker (int64 each). Entries stay in memory until the disk has them: losing one would show an aborted record to a
read_committed consumer (KAFKA-7866), so a full disk delays the recovery point instead.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from broker_core.errors import CorruptData
from broker_core.storage.folder.files import FilePool

_LAYOUT = struct.Struct(">hqqqq")
_AT_ONCE = 128
"""Entries that are read in one go."""


class AbortedTxn(NamedTuple):
    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


class TransactionIndex:
    """The aborted transactions of one segment; the file exists only when there is one."""

    __slots__ = ("_count", "_pending", "_pool", "path")

    def __init__(self, pool: FilePool, path: str) -> None:
        self._pool = pool
        self.path = path
        self._count = -1
        self._pending: list[AbortedTxn] | None = None

    def _count_on_disk(self) -> int:
        if self._count < 0:
            self._count = self._pool.size(self.path) // _LAYOUT.size if self._pool.disk.exists(self.path) else 0
        return self._count

    @property
    def is_empty(self) -> bool:
        return not self._pending and not self._count_on_disk()

    def append(self, aborted: AbortedTxn) -> None:
        self._pending = [*(self._pending or []), aborted]
        try:
            self.flush()
        except OSError:
            return  # kept in memory; flush() reports it before the recovery point moves

    def flush(self) -> None:
        """Hands waiting entries to the operating system; `OSError` when it refuses."""
        if not self._pending:
            return
        count = self._count_on_disk()
        file = self._pool.get(self.path) if count else self._pool.create(self.path)
        file.append(b"".join(_LAYOUT.pack(0, *aborted) for aborted in self._pending))
        self._count = count + len(self._pending)
        self._pending = None

    async def sync(self) -> None:
        self.flush()
        if self._count_on_disk():
            await self._pool.get(self.path).fsync()

    def entries(self) -> list[AbortedTxn]:
        """All entries in the order their transactions ended; `CorruptData` names the file and position."""
        return self._read(0, self._count_on_disk()) + (self._pending or [])

    def _read(self, start: int, end: int) -> list[AbortedTxn]:
        """The entries on disk from number `start` to before `end`."""
        at = start * _LAYOUT.size
        data = self._pool.get(self.path).pread(at, (end - start) * _LAYOUT.size) if end > start else b""
        found = []
        for position in range(0, len(data) - _LAYOUT.size + 1, _LAYOUT.size):
            version, *fields = _LAYOUT.unpack_from(data, position)
            if version != 0:
                raise CorruptData(f"{self.path}: entry at byte {at + position} has version {version}, known is 0")
            found.append(AbortedTxn(*fields))
        return found

    def _ended_from(self, offset: int) -> Iterator[AbortedTxn]:
        """Those that ended at `offset` or later, in that order: their markers' offsets only rise, so that the first is found by halves."""
        count = self._count_on_disk()
        low, high = 0, count
        while high - low > _AT_ONCE:
            middle = (low + high) // 2
            found = self._read(middle, middle + 1)
            if found and found[0].last_offset < offset:
                low = middle + 1
            else:
                high = middle
        for start in range(low, count, _AT_ONCE):
            yield from self._read(start, min(start + _AT_ONCE, count))
        yield from self._pending or ()

    def collect(self, fetch_offset: int, upper_bound: int, into: list[tuple[int, int]]) -> bool:
        """Adds (producer id, first offset) of the transactions that touch [fetch_offset, upper_bound).

        True once no later segment can have one: its last stable offset has passed the upper bound. That offset is at most the one after
        the marker, whatever the entry says: Kafka's followers, and ours before, took in transactions that began after it.
        """
        if self.is_empty:
            return False
        for aborted in self._ended_from(fetch_offset):
            if aborted.last_offset >= fetch_offset and aborted.first_offset < upper_bound:
                into.append((aborted.producer_id, aborted.first_offset))
            if min(aborted.last_stable_offset, aborted.last_offset + 1) >= upper_bound:
                return True
        return False

    def truncate(self, offset: int) -> None:
        """Drops the transactions that ended at `offset` or later."""
        if not self.is_empty:
            self._rewrite([aborted for aborted in self.entries() if aborted.last_offset < offset])

    def reset(self) -> None:
        if not self.is_empty or self._pool.disk.exists(self.path):
            self._rewrite([])

    def _rewrite(self, entries: list[AbortedTxn]) -> None:
        self._pending = None
        if self._count_on_disk() or self._pool.disk.exists(self.path):
            self._pool.create(self.path)
        self._count = 0
        for aborted in entries:
            self.append(aborted)

    def is_sane(self, base_offset: int) -> bool:
        """Whether it is whole, and in the order by which it is searched."""
        if not self._pool.disk.exists(self.path):
            return True
        if self._pool.size(self.path) % _LAYOUT.size:
            return False
        try:
            ends = [base_offset - 1, *(aborted.last_offset for aborted in self.entries())]
        except CorruptData:
            return False
        return all(one < other for one, other in pairwise(ends))
