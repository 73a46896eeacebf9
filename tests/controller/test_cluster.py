"""The controller over a store in memory: election, failover, brokers, topics (SOURCES Z1, Z2, Z3, Z4, R8, R9)."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from broker_core.controller.requests import STOP_REPLICA_KEY
from broker_core.coordination import layout
from broker_core.model import TopicPartition
from tests.support.controller_world import World

T0 = TopicPartition("t", 0)


@pytest.fixture
async def world() -> AsyncIterator[World]:
    world = World()
    yield world
    await world.close()


async def test_a_new_topic_gets_its_first_replicas_as_leaders(world: World) -> None:
    """Z4, R8: the first live replica leads, all live ones are in the ISR, everybody's metadata knows."""
    await world.start(0, 1, 2)
    await world.create_topic("t", (0, 1, 2), (1, 2, 0))
    state = await world.state("t")
    assert (state.leader, state.leader_epoch, state.isr) == (0, 0, (0, 1, 2))
    assert (await world.state("t", 1)).leader == 1
    assert world.told[2].replicas[T0]["leader"] == 0
    assert world.told[2].replicas[T0]["is_new"]
    assert all(told.metadata[T0]["leader"] == 0 and told.live_brokers == [0, 1, 2] for told in world.told.values())


async def test_leader_failure_elects_the_next_in_assignment_order(world: World) -> None:
    """R8: by the assignment's order among the ISR, never by the log's length."""
    await world.start(5, 0, 1, 2)
    await world.create_topic("t", (2, 0, 1))
    await world.set_isr("t", (1, 0, 2))
    await world.die(2)
    state = await world.state("t")
    assert (state.leader, state.isr) == (0, (1, 0))
    assert world.told[0].replicas[T0]["leader_epoch"] == state.leader_epoch
    assert world.told[5].metadata[T0]["offline_replicas"] == (2,)
