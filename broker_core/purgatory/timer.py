"""Drives the timing wheels with one `call_later` at a time, for the next bucket: an idle timer never wakes."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable

from broker_core.purgatory.timing_wheel import TimerEntry, TimingWheels
from broker_core.seams import Clock, TimerHandle

logger = logging.getLogger(__name__)


class Timer:
    """Many deadlines, one clock timer. `wakeups` counts how often the clock called."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._wheels = TimingWheels(int(clock.monotonic_ms()))
        self._armed: TimerHandle | None = None
        self._armed_for_ms = -1
        self._closed = False
        self.wakeups = 0

    @property
    def waiting(self) -> int:
        return self._wheels.count

    def standing(self) -> list[tuple[int, list[int]]]:
        """What waits in each slot of each wheel as of now, see `TimingWheels.standing`."""
        self._wheels.touch(int(self._clock.monotonic_ms()))
        return self._wheels.standing()

    def add(self, delay_ms: float, callback: Callable[[], None]) -> TimerEntry:
        """Calls `callback` once, no earlier than `delay_ms` from now; at once when the delay is not positive."""
        now_ms = self._clock.monotonic_ms()
        entry = TimerEntry(math.ceil(now_ms + delay_ms), callback)
        self._wheels.touch(int(now_ms))
        if self._wheels.add(entry):
            self._arm()
        else:
            callback()
        return entry

    def cancel(self, entry: TimerEntry) -> bool:
        return self._wheels.cancel(entry)

    def close(self) -> None:
        """Drops every deadline without calling it."""
        self._closed = True
        self._disarm()

    def _disarm(self) -> None:
        if self._armed is not None:
            self._armed.cancel()
        self._armed = None

    def _arm(self) -> None:
        due_ms = self._wheels.next_due_ms()
        if self._closed or due_ms is None or (self._armed is not None and self._armed_for_ms <= due_ms):
            return
        self._disarm()
        self._armed_for_ms = due_ms
        self._armed = self._clock.call_later(max(0.0, due_ms - self._clock.monotonic_ms()), self._wake)

    def _wake(self) -> None:
        self._armed = None
        self.wakeups += 1
        self._run(self._wheels.advance(int(self._clock.monotonic_ms())))
        self._arm()

    def _run(self, due: list[TimerEntry]) -> None:
        for entry in due:
            try:
                entry.callback()
            except Exception:
                logger.exception("a timer's callback failed")
