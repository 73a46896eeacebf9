"""A broker that was back before any controller saw it gone is found by what the last controller remembered (KIP-380)."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from broker_core.controller.context import Leadership
from broker_core.controller.deciders.membership import restarted_unseen
from broker_core.coordination import layout
from broker_core.coordination.znode_data import decode_broker_epochs
from broker_core.model import BrokerInfo, LeaderAndIsr
from tests.support.controller_world import World

pytestmark = pytest.mark.spec("B11")


def state(leader: int, *isr: int) -> Leadership:
    return Leadership(LeaderAndIsr(leader, 0, isr), 1)


def test_who_registered_since_the_last_controller_looked_and_is_counted_on() -> None:
    brokers = {broker_id: BrokerInfo(broker_id, (), None, epoch) for broker_id, epoch in ((1, 50), (2, 20), (3, 40))}
    states = [state(2, 2, 3), state(1, 1, 2)]
    assert restarted_unseen(brokers, {1: 50, 2: 20, 3: 40}, states) == []
    assert restarted_unseen(brokers, {1: 30, 2: 20, 3: 40, 4: 5}, states) == [1]
    assert restarted_unseen(brokers, {2: 20}, states) == [1, 3]
    assert restarted_unseen(brokers, {}, [state(-1, 9)]) == []


def test_who_registered_anew_from_the_same_process_was_not_restarted() -> None:
    """Its session had expired, perhaps more than once: nothing that it has written is lost."""
    brokers = {1: BrokerInfo(1, (), None, 50, first_epoch=30), 2: BrokerInfo(2, (), None, 51, first_epoch=40)}
    assert restarted_unseen(brokers, {1: 30, 2: 20}, [state(1, 1, 2)]) == [2]


@pytest.fixture
async def world() -> AsyncIterator[World]:
    world = World()
    yield world
    await world.close()


async def registrations(world: World) -> dict[int, int]:
    return {broker_id: (await world.operator.get(layout.broker_path(broker_id)))[1].czxid for broker_id in world.brokers}


async def test_a_controller_leaves_the_epochs_it_has_acted_on(world: World) -> None:
    await world.start(0, 1, 2)
    left = decode_broker_epochs((await world.operator.get(layout.CONTROLLER_BROKERS))[0])
    assert left == await registrations(world)
    await world.die(2)
    assert decode_broker_epochs((await world.operator.get(layout.CONTROLLER_BROKERS))[0]) == {0: left[0], 1: left[1]}


async def test_a_controller_that_finds_rubbish_or_nothing_takes_nobody_for_restarted(world: World) -> None:
    await world.start(0, 1, 2)
    await world.create_topic("t", (1, 2, 0))
    await world.operator.set(layout.CONTROLLER_BROKERS, b"?")
    await world.operator.delete(layout.CONTROLLER)
    await world.settle()
    assert world.active.epoch == 2
    assert (await world.state("t")).isr == (1, 2, 0)
    assert decode_broker_epochs((await world.operator.get(layout.CONTROLLER_BROKERS))[0]) == await registrations(world)
