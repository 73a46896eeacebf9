"""A state is written and the store's reply is lost: the retry meets its own effect, and whoever has a role is told of it all the same."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import pytest

from broker_core.controller.channels.requests import STOP_REPLICA_KEY
from broker_core.coordination.store import Op, OpResult
from broker_core.errors import ErrorCode
from broker_core.model import TopicPartition
from tests.support.controller_world import World

pytestmark = pytest.mark.spec("B12")

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
CONTROLLER = 9
PREFERRED = 0
T = TypeVar("T")
Event = Callable[[World], Awaitable[object]]


@asynccontextmanager
async def cluster() -> AsyncIterator[World]:
    world = World(**{"auto.leader.rebalance.enable": "false"})
    try:
        await world.start(CONTROLLER, 0, 1, 2)
        await world.create_topic("t", (0, 1, 2), (0, 1, 2))
        yield world
    finally:
        await world.close()


async def answered(world: World, asked: Coroutine[Any, Any, T]) -> T:
    """A write whose reply was lost is tried again by the clock."""
    task = asyncio.get_running_loop().create_task(asked)
    await world.advance(1_000)
    return await task


async def a_follower_dies(world: World) -> None:
    await world.die(1)


async def the_leader_dies(world: World) -> None:
    await world.die(0)


async def a_follower_shuts_down(world: World) -> None:
    await answered(world, world.active.controlled_shutdown(1, -1))


async def the_leader_shuts_down(world: World) -> None:
    await answered(world, world.active.controlled_shutdown(0, -1))


async def a_reassignment_begins(world: World) -> None:
    await answered(world, world.active.alter_reassignments({T0: (0, 1, CONTROLLER)}))


async def a_reassignment_changes_nothing_but_the_order(world: World) -> None:
    await answered(world, world.active.alter_reassignments({T0: (2, 1, 0)}))


EVENTS = [
    a_follower_dies,
    the_leader_dies,
    a_follower_shuts_down,
    the_leader_shuts_down,
    a_reassignment_begins,
    a_reassignment_changes_nothing_but_the_order,
]


def lose_a_reply(world: World, number: int) -> list[Sequence[Op]]:
    """That of the numbered write from now on, from 0; what it wrote is in the list afterwards."""
    store = world.brokers[CONTROLLER].store
    multi, seen, lost = store.multi, itertools.count(), list[Sequence[Op]]()

    async def lossy(ops: Sequence[Op]) -> list[OpResult]:
        if next(seen) == number:
            lost.append(ops)
            store.lose_reply("multi")
        return await multi(ops)

    store.multi = lossy  # type: ignore[method-assign]
    return lost


async def agree(world: World) -> None:
    """What the replicas were told is what the store has."""
    for tp in (T0, T1):
        state = await world.state(*tp)
        for broker_id in (await world.assignment("t")).partitions[tp.partition]:
            stopped = any(tp in request.partitions for request in world.told[broker_id].of_kind(STOP_REPLICA_KEY))
            if world.told[broker_id].reachable and not stopped:
                told = world.told[broker_id].replicas[tp]
                assert (told["leader"], told["leader_epoch"], told["isr"]) == (state.leader, state.leader_epoch, state.isr), broker_id


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.__name__)
async def test_the_replicas_are_told_all_the_same(event: Event) -> None:
    """Whichever of the event's writes it is."""
    for number in itertools.count():
        async with cluster() as world:
            lost = lose_a_reply(world, number)
            await event(world)
            await world.advance(1_000)
            if not lost:
                break
            await agree(world)
    assert number, "nothing was written"


async def test_a_preferred_leader_is_told_that_it_leads() -> None:
    async with cluster() as world:
        await world.die(0)
        await world.start(0)
        for tp in (T0, T1):
            await world.set_isr(tp.topic, (1, 2, 0), tp.partition)
        lost = lose_a_reply(world, 0)
        outcomes = await answered(world, world.active.elect_leaders(None, PREFERRED))
        assert lost
        assert {code for code, _ in outcomes.values()} == {ErrorCode.NONE}
        await agree(world)
