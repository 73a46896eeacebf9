"""How much room a data folder's disk has left, and when it is full at the present rate. Pure: the clock is an argument.

The rate is that of the free bytes over the last ten minutes, whoever takes them: retention that gives some back, and other
programs on the same disk, count as well. There is no forecast before two minutes of samples, nor while the room does not shrink.
"""

from __future__ import annotations

from collections import deque

from msgspec import Struct

SAMPLE_MS = 10_000
WINDOW_MS = 600_000
FORECAST_FROM_MS = 120_000


class Space(Struct, frozen=True):
    """What a file system has for us; `total_bytes` without what is kept back for others."""

    free_bytes: int
    total_bytes: int


class Headroom:
    """Samples of the free bytes, by monotonic time."""

    def __init__(self) -> None:
        self.space: Space | None = None
        self._samples: deque[tuple[float, int]] = deque()

    def add(self, now_ms: float, space: Space) -> None:
        self.space = space
        self._samples.append((now_ms, space.free_bytes))
        while self._samples[0][0] < now_ms - WINDOW_MS:
            self._samples.popleft()

    @property
    def full_in_ms(self) -> float | None:
        """Milliseconds until nothing is free, from the last sample on; None where nothing says that it will be."""
        if len(self._samples) < 2:
            return None
        (first_ms, before), (last_ms, now) = self._samples[0], self._samples[-1]
        if last_ms - first_ms < FORECAST_FROM_MS or now >= before:
            return None
        return now * (last_ms - first_ms) / (before - now)
