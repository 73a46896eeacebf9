"""Sees when the event loop stands still, and how busy it is.

A timer on the loop ticks; a late tick is a stall, logged and counted. ZooKeeper's client answers heartbeats from its own
thread, so a hung loop would stay a live broker forever: after ten seconds of standstill a thread of ours gives the session up.
Time in which the loop could have run and had no processor does not count: a machine with too much to do has less yet once its
brokers end and are started again.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from broker_core.telemetry.metrics import BrokerMetrics

log = logging.getLogger(__name__)

TICK_SECONDS = 0.1
STALL_SECONDS = 0.2
GIVE_UP_SECONDS = 10.0
IDLE_WINDOW_TICKS = 10
LOOK_SECONDS = 1.0
PAUSED_SECONDS = 3.0
"""A thread of ours that slept this long was paused with the whole process: that is no hang."""


class Standstill(Struct):
    """How long the loop has not ticked, by looks at it once a second. `waited` are the seconds of its life in which the loop's thread
    waited for a processor, as of the last look; `waited_before`, of the one before the last tick."""

    waited: float
    last_tick: float = 0.0
    waited_before: float = 0.0
    given_up: bool = False

    def look(self, now: float, last_tick: float, waited: float) -> float:
        """Seconds since `last_tick`, but for those without a processor."""
        if last_tick != self.last_tick:
            self.last_tick, self.waited_before, self.given_up = last_tick, self.waited, False
        self.waited = waited
        return now - last_tick - (waited - self.waited_before)


class Watchdog:
    """`give_up` is called from a thread, once per standstill of more than ten seconds."""

    def __init__(self, metrics: BrokerMetrics, give_up: Callable[[], None], waited: Callable[[int], float] | None = None) -> None:
        self._metrics = metrics
        self._give_up = give_up
        self._waited = waited or seconds_without_processor
        self._loop_thread = 0
        self._standstill = Standstill(0.0)
        self._last_tick = time.monotonic()
        self._ticks = 0
        self._cpu = 0.0
        self._window_start = 0.0
        self._stopped = threading.Event()
        self._timer: asyncio.TimerHandle | None = None
        self._thread = threading.Thread(target=self._guard, name="watchdog", daemon=True)

    def start(self) -> None:
        self._loop_thread = threading.get_native_id()
        self._standstill = Standstill(self._waited(self._loop_thread))
        self._last_tick = self._window_start = time.monotonic()
        self._cpu = time.thread_time()
        self._timer = asyncio.get_running_loop().call_later(TICK_SECONDS, self._tick)
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        if self._timer is not None:
            self._timer.cancel()

    def _tick(self) -> None:
        now = time.monotonic()
        late = now - self._last_tick - TICK_SECONDS
        self._last_tick = now
        if late > STALL_SECONDS:
            self._metrics.loop_stalls += 1
            self._metrics.loop_stall_longest_ms = max(self._metrics.loop_stall_longest_ms, late * 1000)
            log.warning("the event loop stood still", extra={"stall_ms": round(late * 1000)})
        self._ticks += 1
        if self._ticks % IDLE_WINDOW_TICKS == 0:
            self._measure_idle(now)
        self._timer = asyncio.get_running_loop().call_later(TICK_SECONDS, self._tick)

    def _measure_idle(self, now: float) -> None:
        cpu = time.thread_time()
        busy = (cpu - self._cpu) / max(now - self._window_start, 1e-6)
        self._metrics.idle_percent = 100.0 * (1.0 - min(1.0, max(0.0, busy)))
        self._cpu, self._window_start = cpu, now

    def _guard(self) -> None:
        standstill = self._standstill
        checked = time.monotonic()
        while not self._stopped.wait(LOOK_SECONDS):
            now = time.monotonic()
            process_was_paused = now - checked > PAUSED_SECONDS
            checked = now
            seconds = standstill.look(now, self._last_tick, self._waited(self._loop_thread))
            if not process_was_paused and seconds > GIVE_UP_SECONDS and not standstill.given_up:
                standstill.given_up = True
                log.critical("the event loop hangs; the session is given up", extra={"seconds": round(seconds)})
                self._give_up()


def seconds_without_processor(thread_id: int) -> float:
    """How long a thread of this process has been ready to run and had to wait; 0 where the system (Linux) does not tell.

    `schedstat`: nanoseconds run, nanoseconds waited, times run.
    """
    try:
        return int(Path(f"/proc/self/task/{thread_id}/schedstat").read_bytes().split()[1]) / 1e9
    except (OSError, IndexError, ValueError):
        return 0.0
