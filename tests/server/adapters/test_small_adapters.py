"""Clock, tasks and randomness of the real node."""

from __future__ import annotations

import asyncio
import time

import pytest

from broker_core.server.adapters.clock import RealClock
from broker_core.server.adapters.entropy import OsEntropy
from broker_core.server.adapters.spawn import RealSpawn


async def test_the_clock_counts_milliseconds_since_the_epoch_and_calls_back() -> None:
    clock = RealClock()
    assert abs(clock.now_ms() - time.time() * 1000) < 60_000
    called = asyncio.Event()
    before = clock.monotonic_ms()
    clock.call_later(20, called.set)
    clock.call_later(0, called.set).cancel()
    await called.wait()
    assert clock.monotonic_ms() - before >= 19
    await clock.sleep(-5)


async def test_wait_for_gives_the_result_or_cancels() -> None:
    clock = RealClock()
    assert await clock.wait_for(asyncio.sleep(0, "done"), 60_000) == "done"
    never: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    with pytest.raises(TimeoutError):
        await clock.wait_for(never, 5)
    assert never.cancelled()


async def test_a_failed_task_is_logged_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    spawn = RealSpawn()

    async def fail() -> None:
        raise RuntimeError("boom")

    spawn(fail(), name="doomed")
    while spawn.running:
        await asyncio.sleep(0)
    assert spawn.failures == 1
    assert "boom" in caplog.text


async def test_close_cancels_what_runs_but_not_its_caller() -> None:
    spawn = RealSpawn()
    ended: list[str] = []

    async def wait_forever() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("cancelled")

    async def stop() -> None:
        await spawn.close()
        ended.append("stopped")

    spawn(wait_forever(), name="waiting")
    await asyncio.sleep(0)
    await spawn(stop(), name="stopping")
    assert ended == ["cancelled", "stopped"]
    assert spawn.failures == 0


def test_entropy_gives_what_was_asked_for() -> None:
    entropy = OsEntropy()
    assert len(entropy.bytes(16)) == 16
    assert 0 <= entropy.random() < 1
