"""`.index`: from an offset to where in the segment's log to start looking (spec S2).

Entry, 8 bytes: offset relative to the segment's base (int32), position in the log (int32). An entry names the *last*
offset of a batch and the position where that batch starts; there is one for about every `index.interval.bytes` of log.
"""

from __future__ import annotations

import struct
from typing import ClassVar

from broker_core.storage.segments.index_file import IndexFile

RELATIVE_OFFSET_MAX = 2**31 - 1


class OffsetIndex(IndexFile):
    __slots__ = ()
    layout: ClassVar[struct.Struct] = struct.Struct(">ii")

    def append(self, offset: int, position: int) -> None:
        """Notes a batch; one that does not lie beyond the last entry is refused (an index must rise)."""
        relative, last = offset - self.base_offset, self.last_raw()
        if last is not None and relative <= last[0]:
            raise ValueError(f"{self.path}: offset {offset} is not above the last entry's {self.base_offset + last[0]}")
        self._append(relative, position)

    def entry_for(self, offset: int) -> tuple[int, int]:
        """Number and position of the entry with the largest offset at most `offset`; (-1, 0) when there is none."""
        number, entry = self.floor(0, offset - self.base_offset)
        return number, entry[1] if entry is not None else 0

    def lookup(self, offset: int) -> int:
        """Position of the batch with the largest indexed offset at most `offset`, 0 when there is none."""
        return self.entry_for(offset)[1]

    def around(self, number: int) -> list[tuple[int, int, int]]:
        """(number, offset, position) of an entry and its neighbours."""
        return [(at, first + self.base_offset, second) for at, first, second in self.neighbours(number)]

    def position_floor(self, position: int) -> int:
        """The largest indexed batch position at most `position`, 0 when there is none."""
        entry = self.floor(1, position)[1]
        return entry[1] if entry is not None else 0

    def last_position(self) -> int:
        last = self.last_raw()
        return last[1] if last else 0

    def truncate(self, offset: int) -> None:
        """Drops the entries of `offset` and above."""
        self.keep(self.floor(0, offset - self.base_offset - 1)[0] + 1)

    def is_sane(self, log_bytes: int) -> bool:
        """Whether the file can be what this segment's log needs: whole entries, the last one inside the log."""
        if self._pool.size(self.path) % self.layout.size:
            return False
        last = self.last_raw()
        return last is None or (last[0] >= 0 and 0 <= last[1] < log_bytes and (self.count == 1 or last[0] > 0))
