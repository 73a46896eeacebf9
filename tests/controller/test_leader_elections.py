"""Elections that somebody asks for."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from broker_core.coordination import layout
from broker_core.coordination.znode_data import encode_preferred_election
from broker_core.errors import ErrorCode, KafkaError
from broker_core.model import TopicPartition
from tests.support.controller_world import World

pytestmark = pytest.mark.spec("Z4")

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
PREFERRED, UNCLEAN = 0, 1


@pytest.fixture
async def world() -> AsyncIterator[World]:
    world = World(**{"auto.leader.rebalance.enable": "false"})
    yield world
    await world.close()


async def restarted_leader(world: World) -> None:
    """Broker 1 led partition 0, was restarted, follows and is in the ISR again."""
    await world.start(0, 1, 2)
    await world.create_topic("t", (1, 2), (2, 1))
    await world.die(1)
    await world.start(1)
    await world.set_isr("t", (2, 1))
    await world.set_isr("t", (2, 1), 1)
    assert (await world.state("t")).leader == 2


async def elect(world: World, kind: int, *partitions: TopicPartition) -> dict[TopicPartition, ErrorCode]:
    results = await world.call(world.active.elect_leaders(partitions or None, kind))
    return {tp: code for tp, (code, _) in results.items()}


@pytest.mark.spec("O3")
async def test_preferred(world: World) -> None:
    """One partition moves back, the ISR stays; the other needs no election; an unknown one is named."""
    await restarted_leader(world)
    assert world.active.snapshot().preferred_imbalance == 1
    assert world.active.snapshot().imbalance == {1: 1.0, 2: 0.0}
    unknown = TopicPartition("u", 0)
    assert await elect(world, PREFERRED, T0, T1, unknown) == {
        T0: ErrorCode.NONE,
        T1: ErrorCode.ELECTION_NOT_NEEDED,
        unknown: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
    state = await world.state("t")
    assert (state.leader, state.isr) == (1, (2, 1))
    assert world.told[2].replicas[T0]["leader"] == 1
    assert world.active.snapshot().preferred_imbalance == 0


async def test_preferred_not_available(world: World) -> None:
    """The preferred replica is not in the ISR: an error, and nothing changes."""
    await restarted_leader(world)
    await world.set_isr("t", (2,))
    before = await world.state("t")
    assert (await elect(world, PREFERRED))[T0] is ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE
    assert await world.state("t") == before


@pytest.mark.spec("R8")
async def test_unclean_on_request(world: World) -> None:
    """Only for partitions without a live leader, whatever the topic's setting is."""
    await world.start(9, 0, 1)
    await world.create_topic("t", (0, 1), (1, 0))
    await world.die(0)
    await world.die(1)
    await world.start(0)
    assert await elect(world, PREFERRED, T0) == {T0: ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE}
    assert await elect(world, UNCLEAN, T0) == {T0: ErrorCode.NONE}
    assert (await world.state("t")).isr == (0,)
    assert await elect(world, UNCLEAN, T0) == {T0: ErrorCode.ELECTION_NOT_NEEDED}


async def test_nobody_eligible(world: World) -> None:
    await world.start(9, 0)
    await world.create_topic("t", (0,))
    await world.die(0)
    assert await elect(world, UNCLEAN, T0) == {T0: ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE}


async def test_an_unknown_kind_is_refused(world: World) -> None:
    await world.start(0)
    with pytest.raises(KafkaError) as refused:
        await world.active.elect_leaders(None, 7)
    assert refused.value.code is ErrorCode.INVALID_REQUEST


async def test_a_topic_being_deleted_is_left_alone(world: World) -> None:
    await world.start(0, 1)
    await world.create_topic("t", (0, 1))
    await world.die(1)
    await world.delete_topic("t")
    assert await elect(world, PREFERRED, T0) == {T0: ErrorCode.INVALID_TOPIC_EXCEPTION}


async def test_through_the_znode(world: World) -> None:
    """`/admin/preferred_replica_election` is carried out and deleted, again and again."""
    await restarted_leader(world)
    await world.operator.create(layout.PREFERRED_ELECTION, encode_preferred_election([T0, TopicPartition("u", 0)]))
    await world.settle()
    assert (await world.state("t")).leader == 1
    assert not await world.exists(layout.PREFERRED_ELECTION)
    await world.operator.create(layout.PREFERRED_ELECTION, b"not json")
    await world.settle()
    assert not await world.exists(layout.PREFERRED_ELECTION)
    assert world.active.epoch == 1


@pytest.mark.spec("O3")
async def test_the_automatic_balance_mends_a_restarted_broker() -> None:
    """With automatic balancing, five seconds after the office was taken and then by the interval."""
    world = World(**{"leader.imbalance.check.interval.seconds": "20"})
    await restarted_leader(world)
    await world.advance(20_000)
    assert (await world.state("t")).leader == 1
    await world.close()


@pytest.mark.spec("O3")
async def test_without_the_automatic_balance_nothing_moves(world: World) -> None:
    """Seen as an imbalance, mended only on request."""
    await restarted_leader(world)
    await world.advance(600_000)
    assert (await world.state("t")).leader == 2
