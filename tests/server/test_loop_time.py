"""What a request keeps the loop for is told apart from what it waits, and the stopwatch is in nobody's way."""

from __future__ import annotations

import asyncio

import pytest

from broker_core.server.loop_time import LoopTime

pytestmark = pytest.mark.spec("N1")


class HandClock:
    """Shows `now_ms`, which the coroutines under test move."""

    def __init__(self) -> None:
        self.now_ms = 100.0

    def __call__(self) -> float:
        return self.now_ms


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


async def test_steps_count_and_waits_do_not(clock: HandClock) -> None:
    waited: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    watch = LoopTime(clock)

    async def request() -> str:
        clock.now_ms += 3
        answer = await waited
        clock.now_ms += 4
        await asyncio.sleep(0)
        clock.now_ms += 5
        return answer

    task = asyncio.ensure_future(_run(watch, request()))
    await asyncio.sleep(0)
    assert watch.spent_ms == 3
    clock.now_ms += 1_000
    waited.set_result("done")
    assert await task == "done"
    assert watch.spent_ms == 12


async def test_errors_of_what_is_awaited_and_of_the_coroutine_pass(clock: HandClock) -> None:
    async def failing() -> None:
        with pytest.raises(OSError, match="inside"):
            await _fail(OSError("inside"))
        clock.now_ms += 2
        raise ValueError("outside")

    watch = LoopTime(clock)
    with pytest.raises(ValueError, match="outside"):
        await watch.run(failing())
    assert watch.spent_ms == 2


async def test_cancellation_reaches_the_coroutine(clock: HandClock) -> None:
    ended: list[str] = []

    async def stubborn() -> str:
        try:
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            ended.append("cancelled")
            await asyncio.sleep(0)
            return "went on"
        return "never"

    task = asyncio.ensure_future(_run(LoopTime(clock), stubborn()))
    await asyncio.sleep(0)
    task.cancel()
    assert await task == "went on"
    assert ended == ["cancelled"]


async def _run(watch: LoopTime, coroutine):  # type: ignore[no-untyped-def]
    return await watch.run(coroutine)


async def _fail(error: Exception) -> None:
    future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_soon(future.set_exception, error)
    await future
