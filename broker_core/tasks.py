"""Ending a background task."""

from __future__ import annotations

import asyncio
from typing import Any


async def end_task(task: asyncio.Task[Any] | None) -> None:
    """Cancels the task and returns once it has ended; None is no task.

    However it ends: its failure has been logged by what spawned it, and must not keep its owner from stopping what is left.
    Who waits here can itself be cancelled: that is not mistaken for the task's end.
    """
    if task is None or task.done():
        return
    ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def has_ended(_: asyncio.Task[Any]) -> None:
        if not ended.done():
            ended.set_result(None)

    task.add_done_callback(has_ended)
    task.cancel()
    await ended
