"""What the controller says to leaders that ask for another ISR: the decisions as a table, then against a store and brokers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from broker_core.controller.deciders.isr_alteration import Alteration, Judged, judge
from broker_core.coordination import layout
from broker_core.coordination.znode_data import encode_partition_state
from broker_core.errors import ErrorCode, KafkaError
from broker_core.model import LeaderAndIsr, TopicPartition
from tests.support.controller_world import World

pytestmark = pytest.mark.spec("R4")

T0 = TopicPartition("t", 0)
CURRENT = LeaderAndIsr(1, 5, (1, 2), 7)
RECOVERING = LeaderAndIsr(1, 5, (1,), 7, recovering=True)
LIVE = {1: 41, 2: 42, 3: 43}


def wish(*isr: int, leader_epoch: int = 5, partition_epoch: int = 7, **more: Any) -> Alteration:
    return Alteration(leader_epoch, isr, partition_epoch, **more)


WRITTEN = {
    "a follower joins": (CURRENT, wish(1, 2, 3), 1),
    "with the epoch that it fetches with": (CURRENT, wish(1, 2, 3, broker_epochs={1: 41, 2: 42, 3: 43}), 1),
    "who is in may have another epoch by now": (CURRENT, wish(1, 2, 3, broker_epochs={2: 40}), 1),
    "a follower leaves": (CURRENT, wish(1), 1),
    "another order": (CURRENT, wish(2, 1), 1),
    "no longer recovering": (RECOVERING, wish(1, 2), 1),
    "recovered alone": (RECOVERING, wish(1), 1),
}
UNCHANGED = {
    "asked for again": (CURRENT, wish(1, 2, partition_epoch=6), 1),
    "as it is": (CURRENT, wish(1, 2), 1),
    "still recovering": (RECOVERING, wish(1, recovering=True), 1),
}
REFUSED = {
    "a partition epoch of the future": (CURRENT, wish(1, partition_epoch=8), 1, ErrorCode.NOT_CONTROLLER),
    "a leader epoch of the future": (CURRENT, wish(1, leader_epoch=6), 1, ErrorCode.NOT_CONTROLLER),
    "the same state, of the future": (CURRENT, wish(1, 2, partition_epoch=8), 1, ErrorCode.NOT_CONTROLLER),
    "a leader epoch of the past": (CURRENT, wish(1, leader_epoch=4), 1, ErrorCode.FENCED_LEADER_EPOCH),
    "a former leader, the same ISR": (CURRENT, wish(1, 2, leader_epoch=4), 1, ErrorCode.FENCED_LEADER_EPOCH),
    "both of the past": (CURRENT, wish(1, leader_epoch=4, partition_epoch=6), 1, ErrorCode.FENCED_LEADER_EPOCH),
    "a partition epoch of the past": (CURRENT, wish(1, partition_epoch=6), 1, ErrorCode.INVALID_UPDATE_VERSION),
    "not the leader": (CURRENT, wish(2, 1), 2, ErrorCode.INVALID_REQUEST),
    "not the leader, the same ISR": (CURRENT, wish(1, 2), 2, ErrorCode.INVALID_REQUEST),
    "nobody": (CURRENT, wish(), 1, ErrorCode.INVALID_REQUEST),
    "without the leader": (CURRENT, wish(2), 1, ErrorCode.INVALID_REQUEST),
    "a member twice": (CURRENT, wish(1, 2, 2), 1, ErrorCode.INVALID_REQUEST),
    "no replica": (CURRENT, wish(1, 2, 9), 1, ErrorCode.INVALID_REQUEST),
    "recovering with others": (RECOVERING, wish(1, 2, recovering=True), 1, ErrorCode.INVALID_REQUEST),
    "recovering again": (CURRENT, wish(1, recovering=True), 1, ErrorCode.INVALID_REQUEST),
    "takes in who is not there": (CURRENT, wish(1, 2, 4), 1, ErrorCode.INELIGIBLE_REPLICA),
    "keeps who is not there": (LeaderAndIsr(1, 5, (1, 4, 2), 7), wish(1, 4), 1, ErrorCode.INELIGIBLE_REPLICA),
    "takes in who has restarted since": (CURRENT, wish(1, 2, 3, broker_epochs={3: 39}), 1, ErrorCode.INELIGIBLE_REPLICA),
    "takes in who will have restarted": (CURRENT, wish(1, 2, 3, broker_epochs={3: 99}), 1, ErrorCode.INELIGIBLE_REPLICA),
}


def verdict(current: LeaderAndIsr, wanted: Alteration, leader: int, **more: Any) -> Judged:
    return judge(wanted, current, leader=leader, replicas=(1, 2, 3, 4), live_epochs=LIVE, **more)


@pytest.mark.parametrize("case", WRITTEN)
def test_what_is_written(case: str) -> None:
    """The version of the store stays with it: the write is conditional."""
    current, wanted, leader = WRITTEN[case]
    assert verdict(current, wanted, leader) == Judged(ErrorCode.NONE, LeaderAndIsr(1, 5, wanted.isr, 7), write=True)


@pytest.mark.parametrize("case", UNCHANGED)
def test_what_is_so_already(case: str) -> None:
    current, wanted, leader = UNCHANGED[case]
    assert verdict(current, wanted, leader) == Judged(ErrorCode.NONE, current)


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(case: str) -> None:
    current, wanted, leader, error = REFUSED[case]
    assert verdict(current, wanted, leader) == Judged(error)


def test_the_flaw_obeys_the_past() -> None:
    wanted = wish(1, partition_epoch=3)
    assert verdict(CURRENT, wanted, 1, late_ones=True) == Judged(ErrorCode.NONE, LeaderAndIsr(1, 5, (1,), 7), write=True)


# Carried out.


@pytest.fixture
async def world() -> AsyncIterator[World]:
    made = World()
    await made.start(1, 2, 3)
    await made.create_topic("t", (1, 2, 3))
    yield made
    await made.close()


def epoch(world: World, broker_id: int) -> int:
    return world.brokers[broker_id].registration.epoch


async def alter(world: World, *isr: int, of: LeaderAndIsr, broker_epoch: int | None = None, **more: Any) -> Judged:
    """The leader asks, with what it knows."""
    wanted = Alteration(of.leader_epoch, isr, of.zk_version, **more)
    asked = world.active.alter_isrs(of.leader, epoch(world, of.leader) if broker_epoch is None else broker_epoch, {T0: wanted})
    return (await world.call(asked))[T0]


async def test_the_store_has_it_and_all_brokers_are_told(world: World) -> None:
    """By UpdateMetadata; LeaderAndIsr is not needed, the leader has its answer."""
    before = await world.state("t")
    told = {broker_id: len(each.of_kind(4)) for broker_id, each in world.told.items()}
    judged = await alter(world, 1, 2, of=before)
    after = await world.state("t")
    assert (judged.error, judged.state) == (ErrorCode.NONE, after)
    assert (after.isr, after.leader_epoch, after.zk_version) == ((1, 2), before.leader_epoch, before.zk_version + 1)
    assert {each.metadata[T0]["isr"] for each in world.told.values()} == {(1, 2)}
    assert {each.metadata[T0]["zk_version"] for each in world.told.values()} == {after.zk_version}
    assert {broker_id: len(each.of_kind(4)) for broker_id, each in world.told.items()} == told
    assert (await alter(world, 1, 2, 3, of=after)).error is ErrorCode.NONE


async def test_a_change_asked_for_twice_is_made_once(world: World) -> None:
    before = await world.state("t")
    first = await alter(world, 1, 2, of=before)
    assert await alter(world, 1, 2, of=before) == Judged(ErrorCode.NONE, first.state)
    assert (await alter(world, 1, of=before)).error is ErrorCode.INVALID_UPDATE_VERSION
    assert await world.state("t") == first.state


@pytest.mark.parametrize("difference", [-1, 1])
async def test_another_registration_of_the_leader(world: World, difference: int) -> None:
    before = await world.state("t")
    with pytest.raises(KafkaError) as told:
        await alter(world, 1, of=before, broker_epoch=epoch(world, 1) + difference)
    assert told.value.code is ErrorCode.STALE_BROKER_EPOCH
    assert await world.state("t") == before


async def test_a_broker_that_is_gone_is_not_taken_in(world: World) -> None:
    await world.die(3)
    before = await world.state("t")
    assert before.isr == (1, 2)
    assert (await alter(world, 1, 2, 3, of=before)).error is ErrorCode.INELIGIBLE_REPLICA
    await world.start(3)
    assert (await alter(world, 1, 2, 3, of=await world.state("t"))).error is ErrorCode.NONE


@pytest.mark.spec("B11")
async def test_a_restart_that_the_controller_has_not_heard_of_counts(world: World) -> None:
    """KAFKA-15221: its registration is looked up at the moment of the write."""
    judged = await alter(world, 1, 2, of=await world.state("t"))
    assert judged.state is not None
    info = world.active._term.context.brokers[3]  # type: ignore[union-attr]
    world.active._term.context.brokers[3] = type(info)(3, info.endpoints, None, info.epoch - 1)  # type: ignore[union-attr]
    assert (await alter(world, 1, 2, 3, of=judged.state)).error is ErrorCode.INELIGIBLE_REPLICA


async def test_a_partition_that_nobody_knows(world: World) -> None:
    wanted = {TopicPartition("no", 0): wish(1)}
    judged = await world.call(world.active.alter_isrs(1, epoch(world, 1), wanted))
    assert judged == {TopicPartition("no", 0): Judged(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)}


async def test_a_write_of_somebody_else_comes_first(world: World) -> None:
    """A leader that speaks 2.7-IV1 wrote, and its notification waits: the race is lost, and what is there is known from then on."""
    before = await world.state("t")
    await world.set_isr("t", (1, 3), notify=False)
    assert (await alter(world, 1, 2, of=before)).error is ErrorCode.INVALID_UPDATE_VERSION
    after = await world.state("t")
    assert after.isr == (1, 3)
    assert {each.metadata[T0]["isr"] for each in world.told.values()} == {(1, 3)}
    assert (await alter(world, 1, of=after)).error is ErrorCode.NONE


async def test_a_write_whose_reply_was_lost_counts(world: World) -> None:
    """It finds its own words."""
    before = await world.state("t")
    _, stat = await world.operator.get(layout.state_path(T0))
    await world.operator.set(layout.state_path(T0), encode_partition_state(LeaderAndIsr(1, before.leader_epoch, (1, 2)), 1), stat.version)
    judged = await alter(world, 1, 2, of=before)
    assert (judged.error, judged.state) == (ErrorCode.NONE, await world.state("t"))


async def test_a_newcomer_completes_a_reassignment(world: World) -> None:
    await world.start(4)
    await world.call(world.active.alter_reassignments({T0: (1, 2, 4)}))
    during = await world.state("t")
    assert (await alter(world, 1, 2, 3, 4, of=during)).error is ErrorCode.NONE
    await world.settle()
    assert (await world.state("t")).isr == (1, 2, 4)
    assert (await world.assignment("t")).partitions == {0: (1, 2, 4)}


async def test_only_the_controller_alters(world: World) -> None:
    other = next(broker.controller for broker in world.brokers.values() if not broker.controller.is_active)
    with pytest.raises(KafkaError) as told:
        await other.alter_isrs(1, epoch(world, 1), {T0: wish(1)})
    assert told.value.code is ErrorCode.NOT_CONTROLLER


async def test_an_unclean_leader_is_marked_until_its_isr_changes() -> None:
    """KIP-704, since 3.2."""
    for spoken, marked in (("3.1", False), ("3.9", True)):
        world = World(**{"inter.broker.protocol.version": spoken, "unclean.leader.election.enable": "true"})
        await world.start(3, 1, 2)
        await world.create_topic("t", (1, 2))
        judged = await alter(world, 1, of=await world.state("t"))
        assert judged.error is ErrorCode.NONE
        await world.die(1)
        elected = await world.state("t")
        assert (elected.leader, elected.isr, elected.recovering) == (2, (2,), marked)
        assert world.told[2].replicas[T0]["leader_recovery_state"] == int(marked)
        await world.start(1)
        assert (await alter(world, 2, 1, of=await world.state("t"))).error is ErrorCode.NONE
        assert not (await world.state("t")).recovering
        await world.close()
