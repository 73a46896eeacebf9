"""Deleting topics through `/admin/delete_topics` (kafka.controller.TopicDeletionManager)."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from broker_core.controller.channels.requests import STOP_REPLICA_KEY
from broker_core.controller.context import ControllerContext, Replica
from broker_core.controller.deciders.reassignment import ReplicaAssignment
from broker_core.controller.deciders.replica_states import ReplicaState
from broker_core.controller.deciders.topic_deletion import plan
from broker_core.controller.store.guarded_store import RETRY_MS, GuardedStore
from broker_core.controller.store.znodes import Znodes
from broker_core.coordination import layout
from broker_core.errors import ErrorCode
from broker_core.model import TopicPartition
from tests.support.controller_world import SESSION_TIMEOUT_MS, World, spawn
from tests.support.memory_store.client import MemoryStore

pytestmark = pytest.mark.spec("Z4")

T0 = TopicPartition("t", 0)


@pytest.fixture
async def world() -> AsyncIterator[World]:
    world = World()
    yield world
    await world.close()


async def gone(world: World, topic: str = "t") -> bool:
    paths = (layout.topic_path(topic), layout.config_path("topics", topic), layout.deletion_path(topic))
    return [await world.exists(path) for path in paths] == [False, False, False]


async def test_all_replicas_are_deleted_before_the_znodes(world: World) -> None:
    await world.start(0, 1)
    await world.create_topic("t", (0, 1), (1, 0), config={})
    await world.delete_topic("t")
    assert await gone(world)
    assert world.told[0].replicas == {} == world.told[1].replicas
    deletes = [request for request in world.told[1].of_kind(STOP_REPLICA_KEY) if request.deleted()]
    assert {part["leader_epoch"] for request in deletes for part in request.partitions.values()} == {-2}
    assert world.told[0].metadata[T0]["leader"] == -2
    assert world.active.snapshot().topics == 0


async def test_the_next_topic_of_the_name_outlives_a_deletion_s_lost_reply(world: World) -> None:
    """The deletion took effect, its reply was lost; a topic made before it is tried again is another one."""
    await world.operator.connect(1_000)
    await layout.ensure_layout(world.operator)
    await world.operator.create(layout.CONTROLLER_EPOCH, b"1")
    store = MemoryStore(world.ensemble, world.clock, session_timeout_ms=1e12)
    await store.connect(1_000)
    paths = (layout.config_path("topics", "t"), layout.topic_path("t"))
    for path in (*paths, layout.deletion_path("t")):
        await world.operator.create(path, b"old")
    store.lose_reply("multi")
    deleting = spawn(Znodes(GuardedStore(store, world.clock, spawn, 0)).delete_topic("t"), name="deletion")
    await world.settle()
    assert await gone(world)
    for path in paths:
        await world.operator.create(path, b"new")
    await world.advance(RETRY_MS)
    await deleting
    assert [(await world.operator.get(path))[0] for path in paths] == [b"new", b"new"]
    await store.close()


async def test_a_partition_whose_state_became_unreadable_goes_too(world: World) -> None:
    """The next controller knows no leader of it, but the brokers do: they are told that it is deleted."""
    await world.start(0, 1)
    await world.create_topic("t", (0, 1), (1, 0))
    await world.operator.set(layout.state_path(T0), b"rubbish")
    await world.operator.delete(layout.CONTROLLER)
    await world.settle()
    assert world.told[1].metadata[T0]["leader"] == 0
    await world.delete_topic("t")
    assert await gone(world)
    assert world.told[0].replicas == {} == world.told[1].replicas
    assert world.told[0].metadata[T0]["leader"] == -2 == world.told[1].metadata[T0]["leader"]


async def test_a_replica_s_broker_is_down_then_up(world: World) -> None:
    """The live replica is deleted, the topic stays until the other broker is back, then it goes."""
    await world.start(0, 1, 2)
    await world.create_topic("t", (1, 2))
    await world.die(2)
    await world.delete_topic("t")
    assert T0 not in world.told[1].replicas
    assert await world.exists(layout.topic_path("t"))
    assert world.active.snapshot().topics_ineligible_to_delete == 1
    await world.start(2)
    assert await gone(world)
    assert T0 not in world.told[2].replicas


async def test_a_broker_dies_while_its_replica_is_deleted(world: World) -> None:
    """The StopReplica never arrived; the deletion goes on when the broker is back."""
    await world.start(0, 1, 2)
    await world.create_topic("t", (1, 2))
    world.told[2].reachable = False
    await world.delete_topic("t")
    assert await world.exists(layout.topic_path("t"))
    await world.die(2)
    await world.start(2)
    assert await gone(world)


async def test_a_broker_that_cannot_delete_halts_the_deletion(world: World) -> None:
    """An error in the answer makes the topic ineligible; it is tried again when a broker of it starts."""
    await world.start(0, 1)
    await world.create_topic("t", (0, 1))
    world.told[1].stop_error = 56
    await world.delete_topic("t")
    assert await world.exists(layout.topic_path("t"))
    assert world.active.snapshot().topics_ineligible_to_delete == 1
    await world.die(1)
    await world.start(1)
    assert await gone(world)


async def test_a_replica_in_a_failed_folder_is_not_taken_for_deleted(world: World) -> None:
    """Whether the broker that comes back has it is known only when it has been told of its role (as Kafka's brokers, too)."""
    await world.start(0, 1, 2)
    await world.create_topic("t", (1, 2))
    await world.die(2)
    await world.delete_topic("t")
    await world.start(2, storage_errors=[T0])
    assert await world.exists(layout.topic_path("t"))
    assert world.active.snapshot().topics_ineligible_to_delete == 1
    await world.die(2)
    await world.start(2)
    assert await gone(world)


@pytest.mark.spec("Z3")
async def test_a_new_controller_goes_on_with_the_deletion(world: World) -> None:
    """The order stands in the store; the new controller takes it up, and finishes when the replica's broker is back."""
    await world.start(0, 1, 2)
    await world.create_topic("t", (1, 2))
    await world.die(2)
    await world.delete_topic("t")
    await world.brokers[0].kill()
    await world.advance(SESSION_TIMEOUT_MS + 1)
    assert world.active.epoch == 2
    assert await world.exists(layout.topic_path("t"))
    await world.start(2)
    assert await gone(world)


async def test_an_order_given_while_there_was_no_controller(world: World) -> None:
    await world.start(0, 1, 2)
    await world.create_topic("t", (1, 2))
    await world.brokers[0].kill()
    await world.delete_topic("t")
    assert await world.exists(layout.topic_path("t"))
    await world.advance(SESSION_TIMEOUT_MS + 1)
    assert await gone(world)


async def test_an_order_for_a_moving_topic_given_while_there_was_no_controller(world: World) -> None:
    """The new controller sees both, and moves before it deletes."""
    await world.start(0, 1, 2)
    await world.create_topic("t", (1, 0))
    await world.call(world.active.alter_reassignments({T0: (2, 1)}))
    await world.brokers[0].kill()
    await world.delete_topic("t")
    await world.advance(SESSION_TIMEOUT_MS + 1)
    await world.start(0)
    assert await world.exists(layout.topic_path("t"))
    await world.set_isr("t", (1, 2))
    assert await gone(world)


async def test_a_topic_that_waits_for_its_reassignment_is_served_until_then(world: World) -> None:
    """Its leader dies while it waits: without a new one the reassignment, and so the deletion, would never end."""
    await world.start(9, 0, 1, 2)
    await world.create_topic("t", (0, 1))
    await world.call(world.active.alter_reassignments({T0: (2, 1)}))
    await world.delete_topic("t")
    await world.die(0)
    assert (await world.state("t")).leader == 1
    assert world.told[2].metadata[T0]["leader"] == 1
    await world.set_isr("t", (1, 2))
    assert await gone(world)


async def test_cancelling_the_reassignment_frees_the_deletion(world: World) -> None:
    await world.start(0, 1, 2)
    await world.create_topic("t", (0, 1))
    await world.call(world.active.alter_reassignments({T0: (2, 1)}))
    await world.delete_topic("t")
    refused = await world.call(world.active.alter_reassignments({T0: (1, 2)}))
    assert refused[T0][0] is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert (await world.call(world.active.alter_reassignments({T0: None})))[T0][0] is ErrorCode.NONE
    assert await gone(world)


async def test_orders_for_unknown_topics_are_removed(world: World) -> None:
    await world.start(0)
    await world.delete_topic("nothing")
    assert await world.operator.children(layout.DELETE_TOPICS) == []


async def test_a_disabled_deletion_removes_the_order_and_keeps_the_topic() -> None:
    world = World(**{"delete.topic.enable": "false"})
    await world.start(0)
    await world.create_topic("t", (0,))
    await world.delete_topic("t")
    assert await world.operator.children(layout.DELETE_TOPICS) == []
    assert await world.exists(layout.state_path(T0))
    await world.close()


async def test_a_topic_of_the_same_name_may_follow_at_once(world: World) -> None:
    await world.start(0, 1)
    await world.create_topic("t", (0, 1))
    await world.delete_topic("t")
    await world.create_topic("t", (1, 0), topic_id=8)
    assert (await world.state("t")).leader == 1
    await world.grow_topic("t", (1, 0), (0, 1), topic_id=8)
    assert (await world.state("t", 1)).leader == 0


async def test_a_deleted_topic_does_not_grow(world: World) -> None:
    """Partitions added while a deletion waits are taken out of the assignment again."""
    await world.start(0, 1)
    await world.create_topic("t", (0, 1))
    await world.die(1)
    await world.delete_topic("t")
    await world.grow_topic("t", (0, 1), (0, 1))
    assert sorted((await world.assignment("t")).partitions) == [0]


async def test_several_topics_at_once(world: World) -> None:
    """One that waits does not keep the others."""
    await world.start(0, 1, 2)
    await world.create_topic("a", (0, 1), topic_id=1)
    await world.create_topic("b", (1, 2), topic_id=2)
    await world.create_topic("c", (2, 0), topic_id=3)
    await world.die(2)
    for topic in ("a", "b", "c"):
        await world.delete_topic(topic)
    assert [await gone(world, topic) for topic in ("a", "b", "c")] == [True, False, False]
    await world.start(2)
    assert [await gone(world, topic) for topic in ("b", "c")] == [True, True]


def planned(*states: ReplicaState, ineligible: bool = False) -> tuple[tuple[str, ...], int, tuple[str, ...]]:
    made = ControllerContext(1, 0, queued_for_deletion={"t"}, ineligible_for_deletion={"t"} if ineligible else set())
    made.set_assignment(T0, ReplicaAssignment(tuple(range(len(states)))))
    for broker_id, state in enumerate(states):
        made.set_replica_state(Replica("t", 0, broker_id), state)
    decided = plan(made)
    return decided.finished, len(decided.retry), decided.begin


def test_what_is_planned() -> None:
    """Finished when all are deleted; nothing while one is on its way; otherwise tried (again) unless something is in the way."""
    online, started, done, failed = (
        ReplicaState.ONLINE,
        ReplicaState.DELETION_STARTED,
        ReplicaState.DELETION_SUCCESSFUL,
        ReplicaState.DELETION_INELIGIBLE,
    )
    assert planned(done, done) == (("t",), 0, ())
    assert planned(online, online) == ((), 0, ("t",))
    assert planned(started, failed) == ((), 0, ())
    assert planned(done, failed) == ((), 1, ("t",))
    assert planned(done, failed, ineligible=True) == ((), 1, ())
