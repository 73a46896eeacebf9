"""What the sparse indexes of a segment share: fixed-size big-endian entries, appended in rising order.

New entries wait in memory and go to the file a kilobyte at a time. A crash may lose them: the index of a segment at or above
the recovery point is rebuilt from its log, and a flush writes them before the recovery point moves past them.
Nothing is preallocated, so a file is always as long as its entries (Kafka's form after a roll or a clean stop).
"""

from __future__ import annotations

import struct
from typing import ClassVar

from broker_core.storage.folder.files import FilePool

SPILL_BYTES = 1024
PENDING_LIMIT_BYTES = 64 * 1024
WARM_BYTES = 8192


class IndexFile:
    """One index; subclasses give the entry's layout and the meaning of its fields."""

    layout: ClassVar[struct.Struct]
    __slots__ = ("_last", "_on_disk", "_pending", "_pool", "base_offset", "path")

    def __init__(self, pool: FilePool, path: str, base_offset: int) -> None:
        self._pool = pool
        self.path = path
        self.base_offset = base_offset
        self._on_disk = -1
        self._pending: bytearray | None = None
        self._last: tuple[int, int] | None = None

    @property
    def count(self) -> int:
        on_disk = self._on_disk if self._on_disk >= 0 else self._count_on_disk()
        return on_disk + len(self._pending) // self.layout.size if self._pending else on_disk

    def _count_on_disk(self) -> int:
        if self._on_disk < 0:
            self._on_disk = self._pool.size(self.path) // self.layout.size if self._pool.disk.exists(self.path) else 0
        return self._on_disk

    def exists(self) -> bool:
        return self._pool.disk.exists(self.path)

    def create(self) -> None:
        """Makes the file anew."""
        self._pool.create(self.path)
        self._on_disk, self._pending, self._last = 0, None, None

    def _read(self, index: int, count: int) -> bytes:
        """Raw bytes of `count` entries from number `index`, all on disk."""
        return self._pool.get(self.path).pread(index * self.layout.size, count * self.layout.size)

    def _entry(self, index: int) -> tuple[int, int]:
        """The two fields of entry number `index`, as stored."""
        on_disk = self._count_on_disk()
        if index < on_disk:
            first, second = self.layout.unpack(self._read(index, 1))
        else:
            assert self._pending is not None
            first, second = self.layout.unpack_from(self._pending, (index - on_disk) * self.layout.size)
        return first, second

    def neighbours(self, number: int) -> list[tuple[int, int, int]]:
        """Number and stored fields of the entries from two before `number` to two after it."""
        return [(at, *self._entry(at)) for at in range(max(number - 2, 0), min(max(number, 0) + 3, self.count))]

    def last_raw(self) -> tuple[int, int] | None:
        """The fields of the last entry, as stored."""
        if self._last is not None:
            return self._last
        if self.count:
            self._last = self._entry(self.count - 1)
        return self._last

    def _append(self, first: int, second: int) -> None:
        if self._pending is None:
            self._pending = bytearray()
        self._pending += self.layout.pack(first, second)
        self._last = (first, second)
        if len(self._pending) >= SPILL_BYTES:
            self._spill()

    def _spill(self) -> None:
        """Writes waiting entries if the disk takes them; a sparse index may do without, so a full disk only thins it."""
        assert self._pending is not None
        try:
            self.flush()
        except OSError:
            if len(self._pending) > PENDING_LIMIT_BYTES:
                self._pending, self._last = None, None

    def flush(self) -> None:
        """Hands waiting entries to the operating system; `OSError` when it refuses."""
        if self._pending:
            on_disk = self._count_on_disk()
            self._pool.get(self.path).append(self._pending)
            self._on_disk = on_disk + len(self._pending) // self.layout.size
            self._pending = None

    async def sync(self) -> None:
        """Makes all entries survive a power loss."""
        self.flush()
        if self._count_on_disk():
            await self._pool.get(self.path).fsync()

    def floor(self, field: int, key: int) -> tuple[int, tuple[int, int] | None]:
        """Number and fields of the last entry whose stored field `field` is at most `key`; (-1, None) when none is."""
        on_disk = self._count_on_disk()
        if self._pending and self.layout.unpack_from(self._pending, 0)[field] <= key:
            return self._floor_in(self._pending, on_disk, field, key)
        low, high = 0, on_disk
        block = WARM_BYTES // self.layout.size
        if high > block and self._entry(high - block)[field] <= key:
            low = high - block
        while high - low > block:
            middle = (low + high) // 2
            if self._entry(middle)[field] <= key:
                low = middle
            else:
                high = middle
        return self._floor_in(self._read(low, high - low), low, field, key) if high > low else (-1, None)

    def _floor_in(self, data: bytes | bytearray, first: int, field: int, key: int) -> tuple[int, tuple[int, int] | None]:
        """As `floor`, within `data`, whose first entry has number `first`."""
        unpack, size = self.layout.unpack_from, self.layout.size
        low, high = 0, len(data) // size
        while low < high:
            middle = (low + high) // 2
            if unpack(data, middle * size)[field] <= key:
                low = middle + 1
            else:
                high = middle
        if low == 0:
            return -1, None
        one, other = unpack(data, (low - 1) * size)
        return first + low - 1, (one, other)

    def keep(self, count: int) -> None:
        """Cuts the index to its first `count` entries."""
        if count >= self.count:
            return
        self.flush()
        self._pool.get(self.path).truncate(count * self.layout.size)
        self._on_disk, self._last = count, None
