"""How fast compaction may go: `log.cleaner.io.max.bytes.per.second`, of what it reads and writes together."""

from __future__ import annotations

from collections.abc import Callable

from broker_core.seams import Clock

CHECK_MS = 300.0
"""Kafka's: how often it is looked whether a rest is due."""


class Throttle:
    """Rests long enough that no stretch of at least `CHECK_MS` had more than `limit` bytes a second, which is asked at each use."""

    def __init__(self, clock: Clock, limit: Callable[[], float]) -> None:
        self._clock = clock
        self._limit = limit
        self._since_ms = clock.monotonic_ms()
        self._bytes = 0

    async def spent(self, size_bytes: int) -> None:
        self._bytes += size_bytes
        elapsed_ms = self._clock.monotonic_ms() - self._since_ms
        due_ms = self._bytes * 1000.0 / max(self._limit(), 1.0)
        if due_ms < CHECK_MS and elapsed_ms < CHECK_MS:
            return
        if due_ms > elapsed_ms:
            await self._clock.sleep(due_ms - elapsed_ms)
        self._since_ms = self._clock.monotonic_ms()
        self._bytes = 0
