"""Tasks that belong to the node: held by reference, failures logged and counted, cancelled together at the end."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any, TypeVar

logger = logging.getLogger(__name__)

T = TypeVar("T")


class RealSpawn:
    """`failures` counts tasks that ended with an exception nobody may have awaited."""

    def __init__(self) -> None:
        self._tasks: dict[asyncio.Task[Any], None] = {}
        self.failures = 0

    @property
    def running(self) -> int:
        return len(self._tasks)

    def __call__(self, coroutine: Coroutine[Any, Any, T], *, name: str) -> asyncio.Task[T]:
        task = asyncio.get_running_loop().create_task(coroutine, name=name)
        self._tasks[task] = None
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.pop(task, None)
        if task.cancelled():
            return
        error = task.exception()
        if error is not None:
            self.failures += 1
            logger.error("a task failed", exc_info=error, extra={"task": task.get_name()})

    async def close(self) -> None:
        """Cancels what still runs and waits for it, the caller's own task excepted."""
        mine = asyncio.current_task()
        tasks = [task for task in self._tasks if task is not mine]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
