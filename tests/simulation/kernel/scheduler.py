"""One virtual time for all nodes, and the seed's choice of who runs next.

A node is a loop with its own queue of ready callbacks. At each step one runnable node is chosen and its oldest ready
callback runs to its end, which costs `STEP_US` of virtual time; when nobody is ready, time leaps to the next timer. So
callbacks of one node keep asyncio's order, and those of different nodes interleave in any order the seed picks.
"""

from __future__ import annotations

import asyncio
import heapq
import random
from collections.abc import Callable
from typing import TYPE_CHECKING

from tests.simulation.kernel.trace import Trace

if TYPE_CHECKING:
    from tests.simulation.kernel.loop import NodeLoop

STEP_US = 2
EPOCH_MS = 1_700_000_000_000
"""Wall time at virtual time zero."""


class Timer:
    """A deadline; `loop` is the node whose queue the callback goes into, None for the world's own events."""

    __slots__ = ("callback", "cancelled", "loop")

    def __init__(self, callback: Callable[[], None], loop: NodeLoop | None) -> None:
        self.callback = callback
        self.loop = loop
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True


class Stalled(AssertionError):
    """The simulation makes steps but its time does not move on as it should."""


class Scheduler:
    def __init__(self, seed: int | str, trace: Trace) -> None:
        self.now_us = 0
        self.trace = trace
        self.loops: list[NodeLoop] = []
        self.after_step: Callable[[NodeLoop], None] | None = None
        """Called with the loop whose callback has just run."""
        self._random = random.Random(f"{seed}/schedule")
        self._heap: list[tuple[int, int, Timer]] = []
        self._timers = 0

    def wall_ms(self) -> int:
        return EPOCH_MS + self.now_us // 1000

    def call_at_us(self, when_us: int, callback: Callable[[], None], loop: NodeLoop | None = None) -> Timer:
        self._timers += 1
        timer = Timer(callback, loop)
        heapq.heappush(self._heap, (when_us, self._timers, timer))
        return timer

    def call_later_ms(self, delay_ms: float, callback: Callable[[], None]) -> Timer:
        return self.call_at_us(self.now_us + max(0, round(delay_ms * 1000)), callback)

    def step(self, until_us: int) -> bool:
        """Runs one callback, or leaps to the next timer; False once nothing is left to do before `until_us`."""
        self._fire_timers()
        runnable = [loop for loop in self.loops if loop.ready and not loop.paused]
        if runnable:
            self._run_one(runnable[0] if len(runnable) == 1 else self._random.choice(runnable))
            return True
        self._drop_cancelled()
        if not self._heap or self._heap[0][0] > until_us:
            return False
        self.now_us = max(self.now_us, self._heap[0][0])
        return True

    def run_until(self, done: Callable[[], bool], until_us: int) -> bool:
        """Steps until `done()`, or until virtual time would pass `until_us`: then time stands there."""
        while not done():
            if self.now_us >= until_us or not self.step(until_us):
                self.now_us = max(self.now_us, until_us)
                return done()
        return True

    def _run_one(self, loop: NodeLoop) -> None:
        self.now_us += STEP_US
        self.trace.step(self.now_us, loop.number)
        handle = loop.ready.popleft()
        if handle.cancelled():
            return
        outer = asyncio._get_running_loop()
        asyncio._set_running_loop(loop)
        try:
            handle._run()
        finally:
            asyncio._set_running_loop(outer)
        if self.after_step is not None:
            self.after_step(loop)

    def _drop_cancelled(self) -> None:
        while self._heap and self._heap[0][2].cancelled:
            heapq.heappop(self._heap)

    def _fire_timers(self) -> None:
        while self._heap and self._heap[0][0] <= self.now_us:
            timer = heapq.heappop(self._heap)[2]
            if not timer.cancelled:
                timer.callback()
