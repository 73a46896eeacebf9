"""Where operations wait until they can be completed or their time is up.

A produce with acks=all waits here for its followers, a fetch for enough bytes, a join for its members. An operation is
watched under keys (partitions, groups); whoever changes what a key stands for calls `check_and_complete(key)`. Each
operation completes exactly once: by a check, by its timeout, or at once in `try_complete_else_watch`.

Operations completed under one key stay in the watch lists of their other keys until those are checked, or until the
purge: when more than `purge_interval` of the operations counted since the last purge are no longer pending, all lists
are swept. So the lists hold at most `pending x keys + purge_interval x keys` entries.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Generic, TypeVar

from broker_core.purgatory.timer import Timer
from broker_core.purgatory.timing_wheel import TimerEntry
from broker_core.seams import Clock

logger = logging.getLogger(__name__)

PURGE_INTERVAL = 1000
MAX_DELAYED = 500_000

K = TypeVar("K", bound=Hashable)


class DelayedOperation:
    """Base of what waits: override the three hooks.

    `try_complete` says whether the operation can be completed now (it looks; the purgatory then calls `force_complete`,
    though an override may do that itself and return the result). `on_complete` gives the answer, with what there is: it
    runs exactly once, after a timeout too. `on_expiration` runs after it when time was up.
    """

    def __init__(self, delay_ms: float) -> None:
        self.delay_ms = delay_ms
        self.completed = False
        self.release: Callable[[], None] | None = None
        """Takes the operation out of the timer; the purgatory's own."""

    def try_complete(self) -> bool:
        raise NotImplementedError

    def on_complete(self) -> None:
        raise NotImplementedError

    def on_expiration(self) -> None:
        """Nothing by default: the place for a timeout counter."""

    def force_complete(self) -> bool:
        """Completes the operation now; False when it was complete already."""
        if self.completed:
            return False
        self.completed = True
        if self.release is not None:
            self.release()
        self.on_complete()
        return True


class Purgatory(Generic[K]):
    """One kind of delayed operation. `expired` counts the timeouts, `purges` the sweeps."""

    def __init__(
        self, name: str, clock: Clock, *, purge_interval: int = PURGE_INTERVAL, max_delayed: int = MAX_DELAYED, timer: Timer | None = None
    ) -> None:
        self.name = name
        self.purge_interval = purge_interval
        self.max_delayed = max_delayed
        self.expired = 0
        self.purges = 0
        self.timer = timer or Timer(clock)
        self._watchers: dict[K, list[DelayedOperation]] = {}
        self._pending: dict[DelayedOperation, TimerEntry] = {}
        self._counted = 0

    @property
    def delayed(self) -> int:
        """Operations that wait for a check or their timeout."""
        return len(self._pending)

    @property
    def watched(self) -> int:
        """Entries in all watch lists, completed ones not yet purged included."""
        return sum(len(operations) for operations in self._watchers.values())

    @property
    def keys(self) -> list[K]:
        """Keys under which something is watched."""
        return list(self._watchers)

    def try_complete_else_watch(self, operation: DelayedOperation, keys: Sequence[K]) -> bool:
        """True when the operation was completed before this returned; otherwise it waits under `keys`.

        The second try closes the gap between the first one and the registration: something that ran in between may have
        changed what the operation waits for. Past `max_delayed` an operation gets its timeout at once.
        """
        if _attempt(operation):
            return True
        self._enlist(operation, keys)
        if not _attempt(operation):
            self._await(operation)
        if self._counted - len(self._pending) > self.purge_interval:
            self._purge()
        return operation.completed

    def watch(self, operation: DelayedOperation, keys: Sequence[K]) -> None:
        """The same for what cannot be completed now, as who asks has just seen: nothing has run in between."""
        self._enlist(operation, keys)
        self._await(operation)
        if self._counted - len(self._pending) > self.purge_interval:
            self._purge()

    def _enlist(self, operation: DelayedOperation, keys: Sequence[K]) -> None:
        for key in keys:
            self._watchers.setdefault(key, []).append(operation)
        self._counted += 1

    def check_and_complete(self, key: K) -> int:
        """Tries every operation watched under `key`; returns how many this call completed."""
        operations = self._watchers.get(key)
        if operations is None:
            return 0
        completed = 0
        for operation in tuple(operations):
            completed += self._attempt_safely(operation)
        self._sweep(key, operations)
        return completed

    def complete_all(self, key: K) -> int:
        """Completes whatever waits under `key`, ready or not: its partition or group has gone."""
        return sum(operation.force_complete() for operation in self._watchers.pop(key, []))

    def close(self) -> None:
        """Completes everything: the node stops and nobody will answer later."""
        for key in self.keys:
            self.complete_all(key)
        self.timer.close()

    def _await(self, operation: DelayedOperation) -> None:
        if operation.completed:
            return
        if operation.delay_ms <= 0 or len(self._pending) >= self.max_delayed:
            self._expire(operation)
            return
        operation.release = partial(self._release, operation)
        self._pending[operation] = self.timer.add(max(1.0, operation.delay_ms), partial(self._expire, operation))

    def _release(self, operation: DelayedOperation) -> None:
        self.timer.cancel(self._pending.pop(operation))

    def _attempt_safely(self, operation: DelayedOperation) -> bool:
        """A failing operation must not fail the append that checks it; its timeout still answers it."""
        try:
            return _attempt(operation)
        except Exception:
            logger.exception("a delayed operation failed", extra={"purgatory": self.name})
            return False

    def _expire(self, operation: DelayedOperation) -> None:
        if operation.force_complete():
            self.expired += 1
            operation.on_expiration()

    def _sweep(self, key: K, operations: list[DelayedOperation]) -> None:
        operations[:] = [operation for operation in operations if not operation.completed]
        if not operations and self._watchers.get(key) is operations:
            del self._watchers[key]

    def _purge(self) -> None:
        self._counted = self.delayed
        self.purges += 1
        for key in self.keys:
            self._sweep(key, self._watchers[key])


def _attempt(operation: DelayedOperation) -> bool:
    """True when this call completed the operation."""
    if operation.completed or not operation.try_complete():
        return False
    operation.force_complete()
    return True
