"""Requests have their records looked into in turns, a slice between two turns of the loop, however many they are."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from broker_core.errors import ErrorCode
from broker_core.records.budget import Budget, TimeSpent, refusal
from broker_core.records.steps import Steps
from broker_core.seams import Node
from broker_core.storage.slices import SLICE_MS
from broker_core.storage.workbench import SMALL_SHARE, Workbench
from tests.support.log_world import World

STEP_MS = 1


def bench(world: World, **settings: Any) -> Workbench:
    world.holder.set_broker({name.replace("_", "."): str(value) for name, value in settings.items()})
    return Workbench(world.node, world.holder)


def steps(world: World, name: str, count: int, trace: list[str]) -> Steps[str]:
    for _ in range(count):
        world.clock.now += STEP_MS
        trace.append(name)
        yield
    return name


async def turns(trace: list[str]) -> None:
    """Notes each turn of the loop."""
    while True:
        trace.append("|")
        await asyncio.sleep(0)


async def test_many_requests_go_round_one_slice_at_a_time() -> None:
    world, trace = World(), []
    workbench = bench(world)
    loop = asyncio.create_task(turns(trace))
    work = [asyncio.create_task(workbench.run(steps(world, name, 20, trace), workbench.budget())) for name in "abc"]
    assert await asyncio.gather(*work) == ["a", "b", "c"]
    loop.cancel()
    slices = [part for part in "".join(trace).split("|") if part]
    assert max(len(part) for part in slices) * STEP_MS <= SLICE_MS, "between two turns of the loop one of them had one slice"
    assert sorted("".join(slices)) == ["a"] * 20 + ["b"] * 20 + ["c"] * 20
    first = [part[0] for part in slices[:9]]
    assert all(sorted(first[at : at + 3]) == ["a", "b", "c"] for at in (0, 3, 6)), "none of them waits for another to end"


async def test_what_is_done_in_a_slice_waits_for_nobody() -> None:
    world, trace = World(), []
    workbench = bench(world)
    assert await workbench.run(steps(world, "a", 1, trace), workbench.budget()) == "a"
    assert world.clock.yields == 0


async def test_time_spent_is_told_to_the_steps_and_may_end_them_well() -> None:
    world, trace = World(), []
    workbench = bench(world, highwater_decoding_max_ms=10)
    with pytest.raises(TimeSpent) as caught:
        await workbench.run(steps(world, "a", 1_000, trace), workbench.budget())
    assert len(trace) <= 10 + SLICE_MS
    assert refusal(caught.value).code is ErrorCode.REQUEST_TIMED_OUT

    def content() -> Steps[str]:
        try:
            return (yield from steps(world, "b", 1_000, trace))
        except TimeSpent:
            return "as far as it went"

    assert await workbench.run(content(), workbench.budget()) == "as far as it went"


async def test_time_goes_on_from_one_use_of_a_budget_to_the_next() -> None:
    world, trace = World(), []
    workbench = bench(world, highwater_decoding_max_ms=10)
    budget = workbench.budget()
    await workbench.run(steps(world, "a", 8, trace), budget)
    with pytest.raises(TimeSpent):
        await workbench.run(steps(world, "a", 8, trace), budget)


async def test_of_those_that_hold_memory_the_first_goes_on_and_the_others_wait() -> None:
    """Together they hold what one may have, and what the steps of one slice took above it."""
    world = World()
    workbench = bench(world, highwater_decoding_max_bytes=100)
    held: dict[str, int] = {}
    most = 0

    def growing(name: str, budget: Budget) -> Steps[str]:
        nonlocal most
        for _ in range(100):
            world.clock.now += STEP_MS
            budget.take_bytes(1)
            held[name] = budget.held_bytes
            most = max(most, sum(held.values()))
            yield
        del held[name]
        return name

    order: list[str] = []

    async def one(name: str) -> None:
        budget = workbench.budget()
        order.append(await workbench.run(growing(name, budget), budget))

    await asyncio.gather(*(one(name) for name in "abcd"))
    assert order == ["a", "b", "c", "d"]
    assert most <= 100 + 100 + 4 * SLICE_MS, "the first goes on to its own limit"


async def test_small_ones_do_not_wait_for_a_large_one() -> None:
    world, trace = World(), []
    workbench = bench(world, highwater_decoding_max_bytes=1_000)
    large, small = workbench.budget(), workbench.budget()

    def holding(budget: Budget, count: int, name: str, steps_count: int) -> Steps[str]:
        budget.take_bytes(count)
        return (yield from steps(world, name, steps_count, trace))

    first = asyncio.create_task(workbench.run(holding(large, 1_000, "a", 200), large))
    while not trace:
        await asyncio.sleep(0)
    assert await workbench.run(holding(small, 1_000 // SMALL_SHARE, "b", 10), small) == "b"
    assert not first.done()
    assert await first == "a"


async def test_long_jobs_are_done_aside_while_others_have_their_turn() -> None:
    world, trace = World(), []
    asked: list[object] = []
    gate = asyncio.Event()

    async def aside(job: Any) -> Any:
        asked.append(job)
        await gate.wait()
        return job()

    world.node = Node(world.clock, world.spawn, world.node.entropy, world.disk, world.node.network, world.node.store, aside)
    workbench = Workbench(world.node, world.holder)

    def with_jobs() -> Steps[int]:
        first = yield lambda: 20
        try:
            yield lambda: 1 // 0
        except ZeroDivisionError:
            return int(first) + 2
        return 0

    slow = asyncio.create_task(workbench.run(with_jobs(), workbench.budget()))
    await asyncio.sleep(0)
    assert len(asked) == 1
    assert await workbench.run(steps(world, "a", 10, trace), workbench.budget()) == "a"
    gate.set()
    assert await slow == 22
    assert len(asked) == 2


async def test_who_goes_away_or_fails_leaves_the_bench_to_the_others() -> None:
    world, trace = World(), []
    workbench = bench(world, highwater_decoding_max_bytes=10)
    closed: list[bool] = []

    def holding(budget: Budget) -> Steps[None]:
        budget.take_bytes(10)
        try:
            yield from steps(world, "a", 1_000, trace)
        finally:
            closed.append(True)

    budget = workbench.budget()
    leaving = asyncio.create_task(workbench.run(holding(budget), budget))
    while not trace:
        await asyncio.sleep(0)
    other = workbench.budget()
    other.held_bytes = 1
    staying = asyncio.create_task(workbench.run(steps(world, "b", 10, trace), other))
    await asyncio.sleep(0)
    leaving.cancel()
    assert await staying == "b"
    with pytest.raises(asyncio.CancelledError):
        await leaving
    assert closed == [True]
