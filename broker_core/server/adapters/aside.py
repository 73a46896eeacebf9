"""Long calls beside the loop, in one thread: two of them would leave a small machine nothing to answer with."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


class AsideThread:
    """Begins its thread with the first job; who waits for a job is one of few, see `storage/workbench.py` and `server/pipeline.py`."""

    def __init__(self) -> None:
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="aside")

    async def __call__(self, job: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._executor, job)

    def close(self) -> None:
        """Waits for what is under way; jobs that have not begun are dropped."""
        self._executor.shutdown(wait=True, cancel_futures=True)
