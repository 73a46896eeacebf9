"""`.timeindex`: from a timestamp to an offset from which to look for it.

Entry, 12 bytes: timestamp in ms (int64), offset relative to the segment's base (int32). An entry (t, o) says: the largest
timestamp up to offset o is t. Both rise; the last entry, written at a roll or clean stop, has the segment's largest timestamp.
"""

from __future__ import annotations

import struct
from typing import ClassVar

from broker_core.storage.segments.index_file import IndexFile

NO_TIMESTAMP = -1


class TimeIndex(IndexFile):
    __slots__ = ()
    layout: ClassVar[struct.Struct] = struct.Struct(">qi")

    def maybe_append(self, timestamp_ms: int, offset: int) -> None:
        """Adds an entry if the timestamp is beyond the last one's."""
        last = self.last_raw()
        if timestamp_ms > (last[0] if last else NO_TIMESTAMP):
            self._append(timestamp_ms, offset - self.base_offset)

    def last(self) -> tuple[int, int]:
        """(largest timestamp, its batch's last offset); (-1, base offset) while empty."""
        last = self.last_raw()
        return (last[0], last[1] + self.base_offset) if last else (NO_TIMESTAMP, self.base_offset)

    def entry_for(self, timestamp_ms: int) -> tuple[int, int]:
        """Number of the entry with the largest timestamp at most `timestamp_ms` and its offset; (-1, base offset) when there is none."""
        number, entry = self.floor(0, timestamp_ms)
        return number, self.base_offset + (entry[1] if entry is not None else 0)

    def lookup(self, timestamp_ms: int) -> int:
        """The largest offset up to which all timestamps are known to be at most `timestamp_ms`, else the base offset."""
        return self.entry_for(timestamp_ms)[1]

    def around(self, number: int) -> list[tuple[int, int, int]]:
        """(number, timestamp, offset) of an entry and its neighbours."""
        return [(at, first, second + self.base_offset) for at, first, second in self.neighbours(number)]

    def truncate(self, offset: int) -> None:
        """Drops the entries of `offset` and above."""
        self.keep(self.floor(1, offset - self.base_offset - 1)[0] + 1)

    def is_sane(self) -> bool:
        if self._pool.size(self.path) % self.layout.size:
            return False
        last = self.last_raw()
        return last is None or (last[0] >= 0 and last[1] >= 0 and (self.count == 1 or last[0] >= self._entry(0)[0]))
