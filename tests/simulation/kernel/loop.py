"""An event loop per simulated node: asyncio's tasks and futures on the master scheduler's time.

A paused node's callbacks stay queued; a dead node's are dropped and new ones are not taken.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from contextvars import Context
from typing import Any

from tests.simulation.kernel.scheduler import Scheduler


class NodeLoop(asyncio.AbstractEventLoop):
    """`problems` holds what reached the exception handler: every entry is a bug of the code under test."""

    def __init__(self, scheduler: Scheduler, name: str, number: int) -> None:
        self.name = name
        self.number = number
        self.ready: deque[asyncio.Handle] = deque()
        self.problems: list[dict[str, Any]] = []
        self.paused = False
        self.dead = False
        self._scheduler = scheduler
        scheduler.loops.append(self)

    def kill(self) -> None:
        """Nothing of this loop runs any more."""
        self.dead = True
        self.ready.clear()
        self._scheduler.loops.remove(self)

    def call_soon(self, callback: Callable[..., object], *args: Any, context: Context | None = None) -> asyncio.Handle:
        handle = asyncio.Handle(callback, args, self, context)
        if not self.dead:
            self.ready.append(handle)
        return handle

    call_soon_threadsafe = call_soon

    def call_later(self, delay: float, callback: Callable[..., object], *args: Any, context: Context | None = None) -> asyncio.TimerHandle:
        return self.call_at(self.time() + delay, callback, *args, context=context)

    def call_at(self, when: float, callback: Callable[..., object], *args: Any, context: Context | None = None) -> asyncio.TimerHandle:
        handle = asyncio.TimerHandle(when, callback, args, self, context)
        self._scheduler.call_at_us(max(self._scheduler.now_us, round(when * 1_000_000)), lambda: self._due(handle))
        return handle

    def _due(self, handle: asyncio.TimerHandle) -> None:
        if not handle.cancelled() and not self.dead:
            self.ready.append(handle)

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """The scheduler finds out when the time comes."""

    def time(self) -> float:
        return self._scheduler.now_us / 1_000_000

    def create_future(self) -> asyncio.Future[Any]:
        return asyncio.Future(loop=self)

    def create_task(self, coro: Any, *, name: str | None = None, context: Context | None = None) -> asyncio.Task[Any]:
        return asyncio.Task(coro, loop=self, name=name, context=context)

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        if not self.dead:
            self.problems.append(context)

    def get_debug(self) -> bool:
        return False

    def is_running(self) -> bool:
        return True

    def is_closed(self) -> bool:
        return self.dead
