"""The watchdog: stalls are counted, a hang is given up from outside the loop."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest

from broker_core.server import watchdog
from broker_core.server.watchdog import Watchdog
from broker_core.telemetry.metrics import BrokerMetrics


async def test_a_stall_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watchdog, "TICK_SECONDS", 0.01)
    monkeypatch.setattr(watchdog, "STALL_SECONDS", 0.05)
    metrics = BrokerMetrics()
    dog = Watchdog(metrics, lambda: None)
    dog.start()
    await asyncio.sleep(0.02)
    time.sleep(0.1)
    async with asyncio.timeout(10):
        while metrics.loop_stalls == 0 or metrics.idle_percent is None:
            await asyncio.sleep(0.01)
    dog.stop()
    assert metrics.loop_stall_longest_ms > 50
    assert 0 <= metrics.idle_percent <= 100


async def test_a_hang_is_given_up_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watchdog, "LOOK_SECONDS", 0.01)
    monkeypatch.setattr(watchdog, "GIVE_UP_SECONDS", 0.05)
    monkeypatch.setattr(watchdog, "PAUSED_SECONDS", 60.0)
    given_up = threading.Semaphore(0)
    dog = Watchdog(BrokerMetrics(), given_up.release)
    dog.start()
    assert given_up.acquire(timeout=10)
    assert not given_up.acquire(timeout=0.1)
    dog.stop()
