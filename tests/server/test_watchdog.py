"""The watchdog: stalls are counted, a hang is given up from outside the loop."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest

from broker_core.server import watchdog
from broker_core.server.watchdog import Standstill, Watchdog, seconds_without_processor
from broker_core.telemetry.metrics import BrokerMetrics


async def test_a_stall_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watchdog, "TICK_SECONDS", 0.01)
    monkeypatch.setattr(watchdog, "STALL_SECONDS", 0.05)
    metrics = BrokerMetrics()
    dog = Watchdog(metrics, lambda: None)
    dog.start()
    await asyncio.sleep(0.02)
    time.sleep(0.1)
    async with asyncio.timeout(60):
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
    dog = Watchdog(BrokerMetrics(), given_up.release, waited=lambda thread: 0.0)
    dog.start()
    assert given_up.acquire(timeout=60)
    assert not given_up.acquire(timeout=0.1)
    dog.stop()


async def test_a_loop_that_gets_no_processor_does_not_hang(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watchdog, "LOOK_SECONDS", 0.01)
    monkeypatch.setattr(watchdog, "GIVE_UP_SECONDS", 0.05)
    monkeypatch.setattr(watchdog, "PAUSED_SECONDS", 60.0)
    given_up, looks = threading.Semaphore(0), threading.Semaphore(0)

    def all_the_time(thread: int) -> float:
        assert thread == threading.main_thread().native_id
        looks.release()
        return time.monotonic()

    dog = Watchdog(BrokerMetrics(), given_up.release, waited=all_the_time)
    dog.start()
    for _ in range(20):
        assert looks.acquire(timeout=60)
    assert not given_up.acquire(blocking=False)
    dog.stop()


def test_waiting_for_a_processor_counts_from_the_tick_on() -> None:
    standstill = Standstill(waited=7.0)
    assert standstill.look(now=100.5, last_tick=100.0, waited=7.25) == 0.25, "what it waited before is of no account"
    assert standstill.look(now=109.0, last_tick=100.0, waited=12.0) == 4.0
    standstill.given_up = True
    assert standstill.look(now=110.5, last_tick=110.0, waited=12.0) == 0.5
    assert not standstill.given_up, "it has ticked since"


def test_the_wait_for_a_processor_is_read_from_the_system() -> None:
    assert seconds_without_processor(threading.get_native_id()) >= 0.0
    assert seconds_without_processor(2**30) == 0.0, "there is no such thread"
