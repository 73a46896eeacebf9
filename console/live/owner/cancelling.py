"""Ending tasks that talk to Redis for good, by who ends them and by themselves.

Before Python 3.12 `asyncio.wait_for`, which the Redis client waits by, loses a cancellation that comes in the same moment as the
answer (python/cpython#86296): the task then goes on as if nothing had been asked of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

AGAIN_S = 0.5


def end_if_cancelled() -> None:
    """For a task that somebody else cancels, and only once: ends it where that was lost."""
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError


async def end_all(tasks: Iterable[asyncio.Task[Any]]) -> None:
    """Cancels the tasks, again and again until each has ended; what they end with is nobody's concern any more."""
    waiting = set(tasks)
    while waiting:
        for task in waiting:
            task.cancel()
        ended, waiting = await asyncio.wait(waiting, timeout=AGAIN_S)
        await asyncio.gather(*ended, return_exceptions=True)
