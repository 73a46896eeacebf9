"""The segments of one log in order of their base offsets."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence

from broker_core.storage.segments.segment import Segment


class LogSegments:
    """Never empty once a log is open; the last one is active, all others are closed."""

    __slots__ = ("_bases", "_closed_bytes", "_items")

    def __init__(self, items: Iterable[Segment] = ()) -> None:
        self._items = sorted(items, key=lambda segment: segment.base_offset)
        self._bases = [segment.base_offset for segment in self._items]
        self._closed_bytes: int | None = None

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[Segment]:
        return iter(list(self._items))

    def __getitem__(self, index: int) -> Segment:
        return self._items[index]

    @property
    def active(self) -> Segment:
        return self._items[-1]

    @property
    def closed(self) -> list[Segment]:
        return self._items[:-1]

    @property
    def size_bytes(self) -> int:
        """Of all of them. The closed ones, whose sizes stay, are summed up once after segments came or went."""
        if self._closed_bytes is None:
            self._closed_bytes = sum(segment.size_bytes for segment in self._items[:-1])
        return self._closed_bytes + (self._items[-1].size_bytes if self._items else 0)

    @property
    def bases(self) -> list[int]:
        return list(self._bases)

    def floor_index(self, offset: int) -> int:
        """Number of the last segment whose base offset is at most `offset`, -1 when none is."""
        return bisect_right(self._bases, offset) - 1

    def from_offset(self, offset: int) -> list[Segment]:
        """The segment that has `offset`, and all later ones."""
        return self._items[max(self.floor_index(offset), 0) :]

    def end_offset(self, segment: Segment, log_end_offset: int) -> int:
        """The offset at which the next segment begins, or the log's end for the active one."""
        index = bisect_right(self._bases, segment.base_offset)
        return self._bases[index] if index < len(self._bases) else log_end_offset

    def add(self, segment: Segment) -> None:
        index = bisect_right(self._bases, segment.base_offset)
        self._items.insert(index, segment)
        self._bases.insert(index, segment.base_offset)
        self._closed_bytes = None

    def remove(self, gone: Sequence[Segment]) -> None:
        identities = {id(segment) for segment in gone}
        self._items = [segment for segment in self._items if id(segment) not in identities]
        self._bases = [segment.base_offset for segment in self._items]
        self._closed_bytes = None
