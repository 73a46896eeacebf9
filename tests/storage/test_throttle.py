"""How fast compaction may go."""

from __future__ import annotations

from typing import Any, cast

import pytest

from broker_core.config.key import DOUBLE_MAX
from broker_core.storage.cleaning.throttle import Throttle


class Sleeper:
    """A clock that only goes on while somebody sleeps."""

    def __init__(self) -> None:
        self.now_ms = 0.0

    def monotonic_ms(self) -> float:
        return self.now_ms

    async def sleep(self, delay_ms: float) -> None:
        self.now_ms += delay_ms


async def test_bytes_take_the_time_that_they_may() -> None:
    clock = Sleeper()
    throttle = Throttle(cast(Any, clock), lambda: 1_000_000)
    for _ in range(100):
        await throttle.spent(100_000)
    assert clock.now_ms == pytest.approx(10_000, abs=300)


async def test_time_that_passes_by_itself_counts() -> None:
    clock = Sleeper()
    throttle = Throttle(cast(Any, clock), lambda: 1_000_000)
    clock.now_ms = 5_000
    await throttle.spent(1_000_000)
    assert clock.now_ms == 5_000


async def test_without_a_limit_nobody_waits_and_a_changed_one_counts_at_once() -> None:
    clock, limit = Sleeper(), [DOUBLE_MAX]
    throttle = Throttle(cast(Any, clock), lambda: limit[0])
    await throttle.spent(1 << 40)
    assert clock.now_ms == 0
    limit[0] = 1_000.0
    clock.now_ms = 300
    await throttle.spent(0)
    await throttle.spent(1_000)
    assert clock.now_ms >= 1_300
