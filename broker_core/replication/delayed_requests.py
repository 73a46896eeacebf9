"""What waits in the purgatories of a replica manager: produces, fetches and record deletions (spec P1).

Each carries a future that the waiting handler awaits. An operation only says *when*; what is answered is worked out by the
handler after it wakes, from the state of that moment. The future may have been cancelled with its handler: then nobody
is told.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from broker_core.errors import ErrorCode
from broker_core.model import TopicPartition
from broker_core.purgatory.purgatory import DelayedOperation


class DelayedFetch(DelayedOperation):
    """Waits until `ready`, at most `max_wait_ms`."""

    def __init__(self, max_wait_ms: float, ready: Callable[[], bool], done: asyncio.Future[None]) -> None:
        super().__init__(max_wait_ms)
        self._ready = ready
        self._done = done

    def try_complete(self) -> bool:
        return self._done.done() or self._ready()

    def on_complete(self) -> None:
        if not self._done.done():
            self._done.set_result(None)


class DelayedOffsets(DelayedOperation):
    """Waits until each partition reached its offset: `check` gives a verdict, or None while it has not.

    Used for acks=all (high watermark) and for DeleteRecords (low watermark). What is open at the timeout is REQUEST_TIMED_OUT.
    """

    def __init__(
        self,
        timeout_ms: float,
        waiting: dict[TopicPartition, int],
        check: Callable[[TopicPartition, int], ErrorCode | None],
        done: asyncio.Future[dict[TopicPartition, ErrorCode]],
    ) -> None:
        super().__init__(timeout_ms)
        self._waiting = dict(waiting)
        self._check = check
        self._done = done
        self._verdicts: dict[TopicPartition, ErrorCode] = {}

    def try_complete(self) -> bool:
        for tp, offset in list(self._waiting.items()):
            verdict = self._check(tp, offset)
            if verdict is not None:
                self._verdicts[tp] = verdict
                del self._waiting[tp]
        return not self._waiting or self._done.done()

    def on_complete(self) -> None:
        for tp in self._waiting:
            self._verdicts[tp] = ErrorCode.REQUEST_TIMED_OUT
        if not self._done.done():
            self._done.set_result(self._verdicts)
