"""Long work on the loop, in slices: between them other tasks run."""

from __future__ import annotations

from functools import partial
from typing import TypeVar

from broker_core.records.steps import Job, Steps, carry_on
from broker_core.seams import Node

SLICE_MS = 2.0
BATCHES_PER_CLOCK_READ = 16

T = TypeVar("T")


class Slices:
    """Lets other tasks run once a slice of work has lasted `SLICE_MS`."""

    __slots__ = ("_count", "_node", "_since")

    def __init__(self, node: Node) -> None:
        self._node = node
        self._count = 0
        self._since = node.clock.monotonic_ms()

    async def breathe(self, *, heavy: bool = False) -> None:
        self._count += 1
        if not heavy and self._count % BATCHES_PER_CLOCK_READ:
            return
        if self._node.clock.monotonic_ms() - self._since >= SLICE_MS:
            await self._node.clock.sleep(0)
            self._since = self._node.clock.monotonic_ms()


async def in_slices(node: Node, steps: Steps[T]) -> T:
    """The result of `steps`, which takes no longer than a slice and a step at a time."""
    slices = Slices(node)
    job: Job | None = None
    try:
        while True:
            job = next(steps) if job is None else carry_on(steps, await outcome_of(node, job))
            await slices.breathe(heavy=True)
    except StopIteration as done:
        result: T = done.value
        return result


async def outcome_of(node: Node, job: Job) -> Job:
    """Has a job done aside; what comes back, called, gives its result or raises its error."""
    try:
        result = await node.aside(job)
    except Exception as error:
        return partial(raising, error)
    return lambda: result


def raising(error: Exception) -> None:
    raise error
