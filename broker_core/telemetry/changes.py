"""Which things changed since a cursor: one entry per thing, of the `limit` things that changed last.

Without the limit things that have gone would stay for ever. Who asks from before `forgotten` has to begin anew.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Iterator
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)


class ChangeLog(Generic[K]):
    """Keys in the order of their last change; `sequence` is the number of the newest one, `forgotten` of the newest one dropped."""

    def __init__(self, limit: int) -> None:
        self.sequence = 0
        self.forgotten = 0
        self._limit = limit
        self._last: OrderedDict[K, int] = OrderedDict()

    def mark(self, key: K) -> None:
        """The thing called `key` changed now."""
        self.sequence += 1
        self._last[key] = self.sequence
        self._last.move_to_end(key)
        if len(self._last) > self._limit:
            _, self.forgotten = self._last.popitem(last=False)

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
