"""Rates from running totals: a short ring of (time, total) for each thing counted."""

from __future__ import annotations

from collections import deque

WINDOW_MS = 10_000
RING = 24


class Rate:
    """Per second over the last `WINDOW_MS`; None until two samples a second apart are there. A fallen total starts anew."""

    __slots__ = ("_ring",)

    def __init__(self) -> None:
        self._ring: deque[tuple[int, float]] = deque(maxlen=RING)

    def add(self, at_ms: int, total: float) -> None:
        if self._ring and total < self._ring[-1][1]:
            self._ring.clear()
        if self._ring and at_ms - self._ring[-1][0] < 450:
            return
        self._ring.append((at_ms, total))
        while len(self._ring) > 2 and at_ms - self._ring[0][0] > WINDOW_MS:
            self._ring.popleft()

    def per_s(self) -> float | None:
        if len(self._ring) < 2 or self._ring[-1][0] - self._ring[0][0] < 900:
            return None
        (first_ms, first), (last_ms, last) = self._ring[0], self._ring[-1]
        return round((last - first) * 1000 / (last_ms - first_ms), 1)
