"""Long work on the loop lets others run, and its result is the same."""

from __future__ import annotations

import asyncio

import pytest

from broker_core.records.steps import Steps
from broker_core.storage.slices import SLICE_MS, in_slices
from tests.support.log_world import World


def steps(world: World, count: int, step_ms: int, done: list[int]) -> Steps[str]:
    for number in range(count):
        world.clock.now += step_ms
        done.append(number)
        yield
    return "result"


@pytest.mark.parametrize(("step_ms", "yields"), [(0, 0), (1, 5), (2, 10), (50, 10)])
async def test_others_run_after_every_slice(step_ms: int, yields: int) -> None:
    assert SLICE_MS == 2.0
    world, done, seen = World(), [], []
    other = asyncio.create_task(watch(done, seen))
    assert await in_slices(world.node, steps(world, 10, step_ms, done)) == "result"
    assert (world.clock.yields, done) == (yields, list(range(10)))
    assert len(seen) == yields, "what waited ran each time"
    other.cancel()


async def watch(done: list[int], seen: list[int]) -> None:
    while True:
        seen.append(len(done))
        await asyncio.sleep(0)


async def test_an_error_passes_through() -> None:
    def failing() -> Steps[None]:
        yield
        raise ValueError("step 2")

    with pytest.raises(ValueError, match="step 2"):
        await in_slices(World().node, failing())
