"""A background task is ended whatever it does about it."""

from __future__ import annotations

import asyncio

import pytest

from broker_core.tasks import end_task


async def begun(coroutine) -> asyncio.Task[None]:  # type: ignore[no-untyped-def]
    task = asyncio.ensure_future(coroutine)
    await asyncio.sleep(0)
    return task


async def test_it_waits_until_the_task_has_tidied_up() -> None:
    tidied: list[bool] = []

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            tidied.append(True)

    task = await begun(work())
    await end_task(task)
    assert task.cancelled()
    assert tidied == [True]


async def test_failures_and_tasks_that_are_over_keep_nobody_from_stopping() -> None:
    async def fails() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            raise OSError("while tidying up")

    task = await begun(fails())
    await end_task(task)
    assert isinstance(task.exception(), OSError)
    await end_task(task)
    await end_task(None)


async def test_the_one_who_waits_can_be_cancelled() -> None:
    go_on = asyncio.Event()

    async def stubborn() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await go_on.wait()

    task = await begun(stubborn())
    ending = await begun(end_task(task))
    ending.cancel()
    with pytest.raises(asyncio.CancelledError):
        await ending
    go_on.set()
    await task
