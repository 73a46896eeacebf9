"""Where requests have records looked into: in turns of a slice each, on a budget each.

One slice runs between two turns of the loop, however many requests have records to be looked into: they go round. Of those
whose records take up memory only the one that came first goes on once all together hold as much as one may; small ones always do.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TypeVar

from broker_core.config import ConfigHolder
from broker_core.records.budget import Budget, TimeSpent
from broker_core.records.steps import Job, Steps, carry_on
from broker_core.seams import Node
from broker_core.storage.slices import SLICE_MS, outcome_of, raising

T = TypeVar("T")

SMALL_SHARE = 128
"""The part of what may be held that nobody waits for: 1 MiB by default."""


class Workbench:
    """One per broker."""

    def __init__(self, node: Node, config: ConfigHolder) -> None:
        self._node = node
        self._config = config
        self._turn = asyncio.Lock()
        """A lock because it is fair: who waits longest has the next slice. Nothing is changed under it but the work's own state."""
        self._at_work: list[Budget] = []
        self._room = asyncio.Event()

    def budget(self) -> Budget:
        """What one request may cost, from now on."""
        current = self._config.current
        deadline_ms = self._node.clock.monotonic_ms() + current.highwater_decoding_max_ms
        return Budget(current.highwater_decoding_max_bytes, current.highwater_decoding_max_records, deadline_ms)

    async def run(self, steps: Steps[T], budget: Budget) -> T:
        """The result of `steps`, which draw on `budget`; `TimeSpent` is thrown into them once its deadline is over."""
        self._at_work.append(budget)
        budget.held_bytes = 0
        job: Job | None = None
        try:
            while True:
                async with self._turn:
                    job = self._slice(steps, job, budget)
                    if job is None:
                        await self._node.clock.sleep(0)
                if job is not None:
                    job = await outcome_of(self._node, job)
                await self._wait_for_room(budget)
        except StopIteration as done:
            result: T = done.value
            return result
        finally:
            steps.close()
            self._at_work.remove(budget)
            self._room.set()

    def _slice(self, steps: Steps[T], done: Job | None, budget: Budget) -> Job | None:
        """Goes on for as long as a slice lasts, or up to a job that it returns."""
        clock = self._node.clock
        began_ms = clock.monotonic_ms()
        if budget.deadline_ms is not None and began_ms >= budget.deadline_ms:
            done = partial(raising, TimeSpent("looking into the records took longer than a request may take"))
        while True:
            job = next(steps) if done is None else carry_on(steps, done)
            if job is not None or clock.monotonic_ms() - began_ms >= SLICE_MS:
                return job
            done = None

    async def _wait_for_room(self, budget: Budget) -> None:
        limit_bytes = self._config.current.highwater_decoding_max_bytes
        if budget.held_bytes <= limit_bytes // SMALL_SHARE:
            return
        while budget is not self._at_work[0] and sum(each.held_bytes for each in self._at_work) > limit_bytes:
            self._room.clear()
            await self._room.wait()
