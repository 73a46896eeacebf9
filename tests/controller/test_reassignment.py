"""Moving partitions (KIP-455): the phases, cancelling, failover, refusals."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

import pytest

from broker_core.controller.channels.requests import LEADER_AND_ISR_KEY, STOP_REPLICA_KEY
from broker_core.controller.deciders.reassignment import ReplicaAssignment, completed_state, is_complete, requested, start_state
from broker_core.coordination import layout, store
from broker_core.coordination.znode_data import encode_reassignment
from broker_core.errors import ErrorCode, KafkaError
from broker_core.model import LeaderAndIsr, TopicPartition
from tests.support.controller_world import SESSION_TIMEOUT_MS, World
from tests.support.counted import CountedNumber

pytestmark = pytest.mark.spec("Z4")

T0 = TopicPartition("t", 0)


@pytest.fixture
async def world() -> AsyncIterator[World]:
    world = World()
    yield world
    await world.close()


async def alter(world: World, target: Sequence[int] | None, tp: TopicPartition = T0) -> ErrorCode:
    return (await world.call(world.active.alter_reassignments({tp: target})))[tp][0]


async def replicas(world: World) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    assignment = await world.assignment("t")
    return assignment.partitions[0], assignment.adding.get(0, ()), assignment.removing.get(0, ())


async def test_phase_a_adds_and_phase_b_removes(world: World) -> None:
    """KIP-455: replicas are T ++ O first; when T is in the ISR leadership moves, the old replica goes, T is written."""
    await world.start(0, 1, 2)
    await world.create_topic("t", (0, 1))
    before = await world.state("t")
    assert await alter(world, (2, 1)) is ErrorCode.NONE
    assert await replicas(world) == ((2, 1, 0), (2,), (0,))
    told = world.told[2].replicas[T0]
    assert (told["leader"], told["is_new"], told["adding_replicas"], told["removing_replicas"]) == (0, True, (2,), (0,))
    assert (await world.state("t")).leader_epoch == before.leader_epoch + 1
    assert world.active.list_reassignments(None) == {T0: ReplicaAssignment((2, 1, 0), (2,), (0,))}

    await world.set_isr("t", (0, 1, 2), notify=False)
    assert await replicas(world) == ((2, 1), (), ())
    state = await world.state("t")
    assert (state.leader, state.isr) == (2, (1, 2))
    assert T0 not in world.told[0].replicas
    assert world.told[1].metadata[T0]["replicas"] == (2, 1)
    assert world.active.list_reassignments(None) == {}


@pytest.mark.spec("B9")
async def test_removed_replicas_cannot_rejoin_and_cannot_ignore_the_stop(world: World) -> None:
    """KAFKA-13972: no ISR names a non-replica; the StopReplica's epoch is above what the removed one was told last."""
    await world.start(0, 1, 2)
    await world.create_topic("t", (0, 1))
    await alter(world, (1, 2))
    await world.set_isr("t", (0, 1, 2))
    last_told = max(r.partitions[T0]["leader_epoch"] for r in world.told[0].of_kind(LEADER_AND_ISR_KEY))
    stop = [r for r in world.told[0].of_kind(STOP_REPLICA_KEY) if r.deleted()][-1]
    assert stop.partitions[T0]["leader_epoch"] > last_told
    for broker in world.told.values():
        for request in broker.of_kind(LEADER_AND_ISR_KEY):
            part = request.partitions[T0]
            assert set(part["isr"]) <= set(part["replicas"])


async def test_a_leader_among_the_targets_stays(world: World) -> None:
    await world.start(0, 1, 2)
    await world.create_topic("t", (0, 1))
    await alter(world, (2, 0))
    await world.set_isr("t", (0, 1, 2))
    state = await world.state("t")
    assert (state.leader, state.isr) == (0, (0, 2))
    assert await replicas(world) == ((2, 0), (), ())


async def test_cancelling_removes_the_adding_replicas(world: World) -> None:
    """KIP-455: null targets bring back the origin; what was being added is stopped and deleted."""
    await world.start(0, 1, 2)
    await world.create_topic("t", (0, 1))
    await alter(world, (2, 1))
    assert T0 in world.told[2].replicas
    assert await alter(world, None) is ErrorCode.NONE
    assert await replicas(world) == ((1, 0), (), ())
    assert T0 not in world.told[2].replicas
    state = await world.state("t")
    assert (state.leader, state.isr) == (0, (0, 1))
    assert await alter(world, None) is ErrorCode.NO_REASSIGNMENT_IN_PROGRESS


async def test_cancelling_takes_leadership_from_an_adding_replica(world: World) -> None:
    """An adding replica had joined the ISR and was elected; after the cancel an original one leads."""
    await world.start(9, 0, 1, 2)
    await world.create_topic("t", (0, 1))
    assert await alter(world, (2, 3, 1)) is ErrorCode.INVALID_REPLICA_ASSIGNMENT
    await world.start(3)
    await alter(world, (2, 3, 1))
    await world.set_isr("t", (0, 1, 2))
    await world.die(0)
    assert (await world.state("t")).leader == 2
    await alter(world, None)
    state = await world.state("t")
    assert (state.leader, state.isr) == (1, (1,))
    assert T0 not in world.told[2].replicas


async def test_new_targets_drop_replicas_that_are_no_longer_wanted(world: World) -> None:
    """KIP-455: a second request replaces the first; its adding replica goes, also from the ISR."""
    await world.start(0, 1, 2, 3)
    await world.create_topic("t", (0, 1))
    await alter(world, (2, 1))
    assert await alter(world, (3, 1)) is ErrorCode.NONE
    assert await replicas(world) == ((3, 1, 0), (3,), (0,))
    assert T0 not in world.told[2].replicas
    await world.set_isr("t", (0, 1, 3))
    assert await replicas(world) == ((3, 1), (), ())


@pytest.mark.spec("B14")
async def test_completion_looks_at_the_isr_again(world: World) -> None:
    """KAFKA-15665: a target that has fallen out again keeps the reassignment open."""
    await world.start(0, 1, 2, 3)
    await world.create_topic("t", (0, 1))
    await alter(world, (2, 3))
    await world.set_isr("t", (0, 1, 2))
    assert await replicas(world) == ((2, 3, 0, 1), (2, 3), (0, 1))
    await world.die(2)
    await world.set_isr("t", (0, 1, 3))
    assert (await replicas(world))[1] == (2, 3)
    await world.start(2)
    assert world.told[2].replicas[T0]["leader"] == 0
    await world.set_isr("t", (0, 1, 2, 3))
    assert await replicas(world) == ((2, 3), (), ())


@pytest.mark.spec("Z3")
async def test_a_new_controller_resumes(world: World) -> None:
    """The phase is in the assignment; the new controller bumps the epoch, waits for the ISR and completes."""
    await world.start(0, 1, 2)
    await world.create_topic("t", (1, 0))
    await alter(world, (2, 1))
    await world.brokers[0].kill()
    await world.advance(SESSION_TIMEOUT_MS + 1)
    assert world.active.list_reassignments([T0]) == {T0: ReplicaAssignment((2, 1, 0), (2,), (0,))}
    await world.set_isr("t", (1, 2))
    assert await replicas(world) == ((2, 1), (), ())
    assert (await world.state("t")).leader == 1


async def test_a_reassignment_done_while_no_controller_was_there_is_completed(world: World) -> None:
    await world.start(0, 1, 2)
    await world.create_topic("t", (1, 0))
    await alter(world, (2, 1))
    await world.brokers[0].kill()
    await world.set_isr("t", (1, 2), notify=False)
    await world.advance(SESSION_TIMEOUT_MS + 1)
    assert await replicas(world) == ((2, 1), (), ())


async def test_through_the_znode(world: World) -> None:
    """The way before KIP-455: done entries leave `/admin/reassign_partitions`, refused ones at once, then the znode."""
    await world.start(0, 1, 2)
    await world.create_topic("t", (0, 1))
    wanted = {T0: (2, 1), TopicPartition("unknown", 0): (1,)}
    await world.operator.create(layout.REASSIGN_PARTITIONS, encode_reassignment(wanted))
    await world.settle()
    assert (await world.operator.get(layout.REASSIGN_PARTITIONS))[0] == encode_reassignment({T0: (2, 1)})
    await world.set_isr("t", (0, 1, 2))
    assert await replicas(world) == ((2, 1), (), ())
    assert not await world.exists(layout.REASSIGN_PARTITIONS)
    await world.operator.create(layout.REASSIGN_PARTITIONS, encode_reassignment({T0: (1, 2)}))
    await world.settle()
    assert await replicas(world) == ((1, 2), (), ())
    assert not await world.exists(layout.REASSIGN_PARTITIONS)


async def test_an_entry_of_the_znode_that_is_done_leaves_the_others_as_they_are(world: World) -> None:
    """They are under way: to begin them again at each end of another would raise all their epochs each time."""
    await world.start(0, 1, 2)
    await world.create_topic("t", (0, 1), (0, 1))
    t1 = TopicPartition("t", 1)
    await world.operator.create(layout.REASSIGN_PARTITIONS, encode_reassignment({T0: (2, 1), t1: (2, 1)}))
    await world.settle()
    before = await world.state("t", 1)
    await world.set_isr("t", (0, 1, 2))
    assert await replicas(world) == ((2, 1), (), ())
    assert (await world.operator.get(layout.REASSIGN_PARTITIONS))[0] == encode_reassignment({t1: (2, 1)})
    assert await world.state("t", 1) == before
    await world.set_isr("t", (0, 1, 2), partition=1)
    assert not await world.exists(layout.REASSIGN_PARTITIONS)


async def test_the_api_replaces_the_znode(world: World) -> None:
    await world.start(0, 1, 2)
    await world.create_topic("t", (0, 1))
    await world.operator.create(layout.REASSIGN_PARTITIONS, encode_reassignment({T0: (2, 1)}))
    await world.settle()
    await alter(world, None)
    assert not await world.exists(layout.REASSIGN_PARTITIONS)
    assert await replicas(world) == ((1, 0), (), ())


async def test_a_reassignment_holds_up_the_topic_s_deletion(world: World) -> None:
    await world.start(0, 1, 2)
    await world.create_topic("t", (0, 1))
    await alter(world, (2, 1))
    await world.delete_topic("t")
    assert await world.exists(layout.topic_path("t"))
    await world.set_isr("t", (0, 1, 2))
    assert not await world.exists(layout.topic_path("t"))


async def test_other_partitions_of_the_topic_stay_as_they_are(world: World) -> None:
    """The assignment is read and written by version, so a partition added at the same time is not lost."""
    await world.start(0, 1, 2)
    await world.create_topic("t", (0, 1), (1, 2))
    await alter(world, (2, 1))
    assert (await world.assignment("t")).partitions == {0: (2, 1, 0), 1: (1, 2)}


@pytest.mark.parametrize(
    ("target", "code"),
    [
        ((), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ((0, 0), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ((0, -1), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ((0, 8), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (None, ErrorCode.NO_REASSIGNMENT_IN_PROGRESS),
    ],
)
def test_refusals(target: Sequence[int] | None, code: ErrorCode) -> None:
    """KIP-455: empty, repeated, negative, adding a dead broker; nothing to cancel."""
    with pytest.raises(KafkaError) as refused:
        requested(ReplicaAssignment((0, 1)), target, lambda broker_id: broker_id < 5)
    assert refused.value.code is code


async def test_an_unknown_partition_is_refused(world: World) -> None:
    await world.start(0)
    assert await alter(world, (0,)) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_assignments() -> None:
    """KIP-455's arithmetic: targets first, then what is left of the origin; a second request starts from the origin."""
    first = ReplicaAssignment((1, 2, 3)).reassign_to((3, 4))
    assert first == ReplicaAssignment((3, 4, 1, 2), (4,), (1, 2))
    assert (first.origin, first.target) == ((3, 1, 2), (3, 4))
    assert first.reassign_to((5, 3)) == ReplicaAssignment((5, 3, 1, 2), (5,), (1, 2))
    assert first.reassign_to(first.origin) == ReplicaAssignment((3, 1, 2))


def test_phase_states() -> None:
    """A dropped leader is replaced in phase A; phase B needs every target live and in the ISR."""
    alive = {1, 2, 3}.__contains__
    moving = ReplicaAssignment((3, 2, 1), (3,), (1,))
    assert start_state(moving, LeaderAndIsr(1, 4, (1, 2)), alive) == LeaderAndIsr(1, 5, (1, 2))
    assert start_state(moving, LeaderAndIsr(9, 4, (9, 2)), alive) == LeaderAndIsr(2, 5, (2,))
    assert start_state(moving, LeaderAndIsr(9, 4, (9,)), alive) == LeaderAndIsr(-1, 5, (9,))
    assert not is_complete(moving, (1, 2), alive)
    assert not is_complete(moving, (1, 2, 3), {1, 2}.__contains__)
    assert completed_state(moving, LeaderAndIsr(1, 4, (1, 2)), alive) is None
    assert completed_state(moving, LeaderAndIsr(1, 4, (1, 2, 3)), alive) == LeaderAndIsr(3, 5, (2, 3))
    assert completed_state(moving, LeaderAndIsr(2, 4, (1, 2, 3)), alive) == LeaderAndIsr(2, 5, (2, 3))


async def test_a_partition_that_nobody_has_led_is_moved_to_brokers_that_live(world: World) -> None:
    """Its replicas were never there: whoever moves it means to have it served, and there is nothing to wait for."""
    await world.start(0, 1)
    await world.create_topic("t", (9,))
    assert await alter(world, (1,)) is ErrorCode.NONE
    assert await replicas(world) == ((1,), (), ())
    assert (await world.state("t")).leader == 1
    assert world.active.list_reassignments(None) == {}


async def test_a_moving_partition_without_a_readable_state_does_not_cost_the_office(world: World) -> None:
    """Neither the controller that sees it happen nor the next one, which would resume the move, and so on for ever."""
    await world.start(0, 1, 2)
    await world.create_topic("t", (1, 0))
    await alter(world, (2, 1))
    good = (await world.operator.get(layout.state_path(T0)))[0]
    await world.operator.set(layout.state_path(T0), b"{nonsense")
    await world.advance(3_000)
    assert world.active.epoch == 1
    await world.die(0)
    await world.advance(3_000)
    assert world.active.epoch == 2
    await world.start(0)
    await world.create_topic("u", (1, 2))
    assert ((await world.state("u")).leader, world.active.epoch) == (1, 2)
    await world.operator.set(layout.state_path(T0), good)
    await world.set_isr("t", (0, 1, 2))
    assert await replicas(world) == ((2, 1), (), ())


def test_many_targets_that_are_no_brokers_are_refused_without_comparing_each_with_each() -> None:
    """A request of 400 kB would hold the controller up for a minute and more."""
    CountedNumber.compared = 0
    targets = [CountedNumber(number) for number in range(10, 1_010)]
    with pytest.raises(KafkaError) as refused:
        requested(ReplicaAssignment((1, 2)), targets, lambda broker_id: broker_id < 5)
    assert refused.value.code is ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert CountedNumber.compared < 1_000 * 10


async def test_a_move_that_the_topic_s_znode_has_no_room_for_is_refused(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The controller would try to write it for ever."""
    await world.start(0, 1)
    await world.create_topic("t", (0,))
    monkeypatch.setattr(store, "MOST_BYTES", len((await world.operator.get(layout.topic_path("t")))[0]) + len(layout.topic_path("t")))
    assert await alter(world, (1,)) is ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert await replicas(world) == ((0,), (), ())
    assert (world.active.epoch, world.active.list_reassignments(None)) == (1, {})
