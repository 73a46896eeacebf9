"""Tasks end, also those that lose a cancellation."""

from __future__ import annotations

import asyncio
import contextlib

from console.live.owner.cancelling import end_all


async def test_a_task_that_lost_its_cancellation_is_cancelled_again() -> None:
    begun = asyncio.Event()

    async def deaf(times: int) -> None:
        begun.set()
        for _ in range(times):
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.Event().wait()

    async def failing() -> None:
        raise OSError("gone")

    tasks = [asyncio.create_task(deaf(2)), asyncio.create_task(deaf(1)), asyncio.create_task(failing())]
    await begun.wait()
    async with asyncio.timeout(60):
        await end_all(tasks)
    assert all(task.done() for task in tasks)


async def test_nothing_to_end_is_fine() -> None:
    await end_all([])
