"""One budget for the bytes of all requests being read or handled (`queued.max.request.bytes`).

A frame takes from the budget as its bytes arrive, not as its header announces. When nothing is left, a connection stops
reading and waits in line. What holds the budget may never end by itself, frames that are still incomplete or requests that
wait for others, so the first in line gets a pass: it reads on above the limit and keeps the pass until it has been handled.
There is one pass at a time, so the memory is bounded by the limit and one largest request.
"""

from __future__ import annotations

from collections.abc import Callable

UNLIMITED = -1


class Account:
    """What one frame holds. `granted` is called when it may take again; it must not take before it has returned."""

    __slots__ = ("granted", "handling", "held_bytes")

    def __init__(self, granted: Callable[[], None]) -> None:
        self.granted = granted
        self.held_bytes = 0
        self.handling = False


class MemoryBudget:
    """`waits` counts how often a frame had to stand in line."""

    def __init__(self, limit_bytes: Callable[[], int]) -> None:
        self._limit_bytes = limit_bytes
        self._waiting: dict[Account, None] = {}
        self._passed: Account | None = None
        self.used_bytes = 0
        self.waits = 0

    def take(self, account: Account, count: int) -> bool:
        """False when the account has to wait for its `granted`. The last one let through may overshoot by its `count`."""
        if account is not self._passed and not self._has_room():
            self._waiting[account] = None
            self.waits += 1
            self._let_one_pass()
            return False
        self.charge(account, count)
        self._grant_next()
        return True

    def charge(self, account: Account, count: int) -> None:
        """Counts bytes that are there already: a frame's beginning that came with others in one read."""
        account.held_bytes += count
        self.used_bytes += count

    def start_handling(self, account: Account) -> None:
        """The frame is complete: its bytes come back when it has been handled."""
        account.handling = True

    def release(self, account: Account) -> None:
        """The frame is done with, or its connection is gone."""
        self._waiting.pop(account, None)
        self.used_bytes -= account.held_bytes
        account.held_bytes = 0
        account.handling = False
        if account is self._passed:
            self._passed = None
        self._grant_next()
        self._let_one_pass()

    def _has_room(self) -> bool:
        limit = self._limit_bytes()
        return limit == UNLIMITED or self.used_bytes < limit

    def _grant_next(self) -> None:
        """One at a time: whoever takes lets the next one try."""
        if self._waiting and self._has_room():
            account = next(iter(self._waiting))
            del self._waiting[account]
            account.granted()

    def _let_one_pass(self) -> None:
        if self._waiting and self._passed is None and not self._has_room():
            self._passed = next(iter(self._waiting))
            del self._waiting[self._passed]
            self._passed.granted()
