"""The machine's clocks and the running loop's timers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from broker_core.seams import TimerHandle
from broker_core.server.adapters.eager import in_a_task

T = TypeVar("T")


class RealClock:
    """Uses whichever loop runs when it is called, and the clock that loops go by; a delay below zero is zero."""

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic_ms(self) -> float:
        return time.monotonic() * 1000.0

    def call_later(self, delay_ms: float, callback: Callable[..., None], *args: object) -> TimerHandle:
        return asyncio.get_running_loop().call_later(max(0.0, delay_ms) / 1000.0, callback, *args)

    async def sleep(self, delay_ms: float) -> None:
        await asyncio.sleep(max(0.0, delay_ms) / 1000.0)

    async def wait_for(self, awaitable: Awaitable[T], timeout_ms: float) -> T:
        await in_a_task()
        return await asyncio.wait_for(awaitable, max(0.0, timeout_ms) / 1000.0)
