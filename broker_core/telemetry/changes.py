"""Which things changed since a cursor: one entry per thing, so memory is bounded by how many things there are."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Iterator
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)


class ChangeLog(Generic[K]):
    """Keys in the order of their last change; `sequence` is the number of the newest one."""

    def __init__(self) -> None:
        self.sequence = 0
        self._last: OrderedDict[K, int] = OrderedDict()

    def mark(self, key: K) -> None:
        """The thing called `key` changed now."""
        self.sequence += 1
        self._last[key] = self.sequence
        self._last.move_to_end(key)

    def newest_first(self, after: int) -> Iterator[tuple[K, int]]:
        """(key, number of its last change) of everything that changed after `after`, newest first."""
        for key in reversed(self._last):
            number = self._last[key]
            if number <= after:
                return
            yield key, number

    def since(self, after: int) -> list[tuple[K, int]]:
        """The same, oldest change first."""
        return list(self.newest_first(after))[::-1]

    def clear(self) -> None:
        self._last.clear()
