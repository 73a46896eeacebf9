"""The small seams of a simulated node: clock, tasks, randomness; and how a dead node's code is stopped."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Coroutine
from typing import Any, TypeVar

from broker_core.server.adapters.clock import RealClock
from tests.simulation.kernel.loop import NodeLoop
from tests.simulation.kernel.scheduler import Scheduler

T = TypeVar("T")


class NodeKilled(BaseException):
    """Raised into code of a killed node that still touches a seam: no `except Exception` may survive a SIGKILL."""


class SimClock(RealClock):
    """Virtual time of the node's own loop; `offset_ms` is how wrong its wall clock is."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self.offset_ms = 0

    def now_ms(self) -> int:
        return self._scheduler.wall_ms() + self.offset_ms

    def monotonic_ms(self) -> float:
        return self._scheduler.now_us / 1000.0


class SimSpawn:
    """Keeps every task, so that those of a killed node are neither run to their end nor collected early."""

    def __init__(self, loop: NodeLoop) -> None:
        self._loop = loop
        self.tasks: dict[asyncio.Task[Any], None] = {}
        self.failures: list[str] = []

    def __call__(self, coroutine: Coroutine[Any, Any, T], *, name: str) -> asyncio.Task[T]:
        task: asyncio.Task[T] = self._loop.create_task(coroutine, name=name)
        self.tasks[task] = None
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[Any]) -> None:
        del self.tasks[task]
        if not task.cancelled() and (error := task.exception()) is not None:
            self.failures.append(f"{task.get_name()}: {error!r}")


class SimEntropy:
    def __init__(self, seed: str) -> None:
        self._random = random.Random(seed)

    def bytes(self, count: int) -> bytes:
        return self._random.randbytes(count)

    def random(self) -> float:
        return self._random.random()
