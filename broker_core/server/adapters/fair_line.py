"""A line of waiting things by group: first come, first served within a group, and the groups take turns.

With it nobody waits longer because another group is large: the one follower of an inter-broker listener is next but one
at most, however many clients stand in the line of theirs.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from typing import Generic, TypeVar

T = TypeVar("T")


class FairLine(Generic[T]):
    """Adding and taking cost the same however long the line is. It bounds nothing: who stands in it is counted elsewhere."""

    def __init__(self) -> None:
        self._groups: OrderedDict[object, deque[T]] = OrderedDict()
        self.count = 0
        """How many stand in it."""

    def add(self, group: object, item: T) -> None:
        """At the end of its group; a group that had nobody here comes after the others."""
        self._groups.setdefault(group, deque()).append(item)
        self.count += 1

    def add_first(self, group: object, item: T) -> None:
        """At the head of its group, for one that was called and could not go."""
        self._groups.setdefault(group, deque()).appendleft(item)
        self.count += 1

    def take(self) -> T:
        """The first of the group whose turn it is; `KeyError` when nobody waits."""
        group, line = self._groups.popitem(last=False)
        item = line.popleft()
        self.count -= 1
        if line:
            self._groups[group] = line
        return item
