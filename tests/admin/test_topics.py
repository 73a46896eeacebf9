"""Creating, growing and deleting topics as znodes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from broker_core.admin.topics import NewTopic
from broker_core.coordination.layout import CONFIG_CHANGES, config_path, deletion_path, topic_path
from broker_core.coordination.znode_data import decode_config, decode_config_change, encode_config
from broker_core.errors import ConfigError, ErrorCode, KafkaError
from tests.support.admin_world import AdminWorld


@pytest_asyncio.fixture
async def world() -> AsyncIterator[AdminWorld]:
    world = await AdminWorld.start()
    yield world
    await world.close()


async def refused(world: AdminWorld, topic: NewTopic) -> ErrorCode:
    with pytest.raises(KafkaError) as caught:
        await world.admin.create_topic(topic)
    return caught.value.code


@pytest.mark.spec("Z6")
async def test_creates_assignment_settings_and_notification(world: AdminWorld) -> None:
    """Three partitions over three brokers, each leader once; settings written with the topic, in one step."""
    created = await world.admin.create_topic(NewTopic("orders", 3, 2, {}, {"retention.ms": "1000"}))
    stored = await world.assignment("orders")
    assert stored.partitions == created.assignment
    assert stored.topic_id == created.topic_id is not None
    assert sorted(replicas[0] for replicas in stored.partitions.values()) == [0, 1, 2]
    config, config_stat = await world.store.get(config_path("topics", "orders"))
    assert decode_config(config) == {"retention.ms": "1000"}
    assert config_stat.czxid == (await world.store.get(topic_path("orders")))[1].czxid
    (change,) = await world.store.children(CONFIG_CHANGES)
    assert decode_config_change((await world.store.get(f"{CONFIG_CHANGES}/{change}"))[0]) == "topics/orders"


@pytest.mark.spec("Z4")
async def test_no_topic_is_made_under_an_order_to_delete_it(world: AdminWorld) -> None:
    """Its controller died between topic and order; the next one would delete the new topic, whose maker waits for leaders."""
    await world.store.create(deletion_path("t"), b"")
    assert await refused(world, NewTopic("t", 1, 1)) is ErrorCode.TOPIC_ALREADY_EXISTS
    assert await world.store.exists(topic_path("t")) is None


async def test_an_order_to_delete_is_given_only_to_a_topic_that_is_there(world: AdminWorld) -> None:
    with pytest.raises(KafkaError) as caught:
        await world.admin.delete_topic("t")
    assert caught.value.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert await world.store.exists(deletion_path("t")) is None
    await world.admin.create_topic(NewTopic("t", 1, 1))
    for _ in range(2):
        await world.admin.delete_topic("t")
    assert await world.store.exists(deletion_path("t")) is not None


async def test_a_silent_store_is_not_waited_for_longer_than_a_session() -> None:
    """Else nobody would be answered before it is back; a change not sent by then is never made."""
    world = await AdminWorld.start(**{"zookeeper.session.timeout.ms": "100"})
    world.store.disconnect()
    for change in (
        world.admin.create_topic(NewTopic("t", 1, 1)),
        world.admin.delete_topic("t"),
        world.admin.create_partitions("t", 2, None),
    ):
        with pytest.raises(KafkaError, match="did not answer") as caught:
            await change
        assert caught.value.code is ErrorCode.REQUEST_TIMED_OUT
    world.store.reconnect()
    assert await world.store.exists(topic_path("t")) is None
    await world.close()


async def test_defaults_stand_in_for_minus_one() -> None:
    world = await AdminWorld.start(**{"num.partitions": "4", "default.replication.factor": "2"})
    created = await world.admin.create_topic(NewTopic("t"))
    assert len(created.assignment) == 4
    assert all(len(replicas) == 2 for replicas in created.assignment.values())
    await world.close()


async def test_validate_only_writes_nothing(world: AdminWorld) -> None:
    await world.admin.create_topic(NewTopic("t", 1, 1), validate_only=True)
    assert await world.store.exists(topic_path("t")) is None
    assert await world.store.children(CONFIG_CHANGES) == []


async def test_refuses_what_kafka_refuses(world: AdminWorld) -> None:
    await world.admin.create_topic(NewTopic("a.b", 1, 1))
    assert await refused(world, NewTopic("a.b", 1, 1)) is ErrorCode.TOPIC_ALREADY_EXISTS
    assert await refused(world, NewTopic("a_b", 1, 1)) is ErrorCode.INVALID_TOPIC_EXCEPTION
    assert await refused(world, NewTopic("t", 0, 1)) is ErrorCode.INVALID_PARTITIONS
    assert await refused(world, NewTopic("t", 100_000, 1)) is ErrorCode.INVALID_PARTITIONS
    assert await refused(world, NewTopic("t", 1, 4)) is ErrorCode.INVALID_REPLICATION_FACTOR
    assert await refused(world, NewTopic("t", 1, 0)) is ErrorCode.INVALID_REPLICATION_FACTOR
    with pytest.raises(ConfigError, match="retention"):
        await world.admin.create_topic(NewTopic("t", 1, 1, {}, {"retention": "1"}))
    assert await world.store.exists(topic_path("t")) is None


async def test_manual_assignments(world: AdminWorld) -> None:
    created = await world.admin.create_topic(NewTopic("t", assignments={0: (2, 0), 1: (1, 2)}))
    assert (await world.assignment("t")).partitions == created.assignment == {0: (2, 0), 1: (1, 2)}
    many = tuple(range(40_000))
    for wrong in ({0: (0,), 2: (1,)}, {0: (0,), 1: (0, 1)}, {0: (1, 1)}, {0: ()}, {0: (-1,)}, {0: many}):
        assert await refused(world, NewTopic("u", assignments=wrong)) is ErrorCode.INVALID_REPLICA_ASSIGNMENT


async def test_growing_keeps_the_old_partitions(world: AdminWorld) -> None:
    await world.admin.create_topic(NewTopic("t", assignments={0: (0, 1), 1: (1, 2)}))
    before = await world.assignment("t")
    await world.admin.create_partitions("t", 4, None)
    after = await world.assignment("t")
    assert sorted(after.partitions) == [0, 1, 2, 3]
    assert {p: after.partitions[p] for p in (0, 1)} == before.partitions
    assert after.topic_id == before.topic_id
    await world.admin.create_partitions("t", 5, [(2, 0)])
    assert (await world.assignment("t")).partitions[4] == (2, 0)


@pytest.mark.parametrize(
    ("count", "assignments", "code"),
    [
        (1, None, ErrorCode.INVALID_PARTITIONS),
        (2, None, ErrorCode.INVALID_PARTITIONS),
        (4, [(0, 1)], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (3, [(0, 9)], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (3, [(0,)], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
    ],
)
async def test_growing_wrongly_is_refused(
    world: AdminWorld, count: int, assignments: list[tuple[int, ...]] | None, code: ErrorCode
) -> None:
    await world.admin.create_topic(NewTopic("t", assignments={0: (0, 1), 1: (1, 2)}))
    with pytest.raises(KafkaError) as caught:
        await world.admin.create_partitions("t", count, assignments)
    assert caught.value.code is code


async def test_deletion_marks_the_topic_once(world: AdminWorld) -> None:
    await world.admin.create_topic(NewTopic("t", 1, 1))
    await world.admin.delete_topic("t")
    await world.admin.delete_topic("t")
    assert await world.store.exists(deletion_path("t")) is not None
    assert await refused(world, NewTopic("t", 1, 1)) is ErrorCode.TOPIC_ALREADY_EXISTS
    with pytest.raises(KafkaError) as caught:
        await world.admin.delete_topic("nothing")
    assert caught.value.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


async def test_waits_for_leaders_and_names_the_late(world: AdminWorld) -> None:
    world.lead("quick", {0: 1})
    assert await world.admin.wait_for_leaders({"quick": 1, "slow": 1}, 20) == ["slow"]
    waiting = world.spawn(world.admin.wait_for_leaders({"slow": 2}, 10_000), name="wait")
    world.lead("slow", {0: 1, 1: -1})
    world.lead("slow", {1: 2})
    assert await waiting == []


async def test_waits_until_topics_are_gone(world: AdminWorld) -> None:
    world.lead("t", {0: 1})
    waiting = world.spawn(world.admin.wait_until_gone(["t"], 10_000), name="wait")
    world.lead("t", {0: -2})
    assert await waiting == []


@pytest.mark.spec("G3")
async def test_internal_topics_have_their_own_shape() -> None:
    """`__consumer_offsets` has 3 replicas and is compacted."""
    world = await AdminWorld.start(**{"offsets.topic.num.partitions": "5"})
    await world.admin.auto_create("__consumer_offsets")
    await world.admin.create_internal_topic("__consumer_offsets")
    stored = await world.assignment("__consumer_offsets")
    assert len(stored.partitions) == 5
    assert all(len(replicas) == 3 for replicas in stored.partitions.values())
    config = decode_config((await world.store.get(config_path("topics", "__consumer_offsets")))[0])
    assert config["cleanup.policy"] == "compact"
    await world.close()


async def test_internal_topic_waits_for_enough_brokers() -> None:
    world = await AdminWorld.start(brokers=2)
    with pytest.raises(KafkaError) as caught:
        await world.admin.create_internal_topic("__consumer_offsets")
    assert caught.value.code is ErrorCode.INVALID_REPLICATION_FACTOR
    await world.close()


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a b", "x" * 250])
async def test_a_topic_that_cannot_be_does_not_grow(world: AdminWorld, name: str) -> None:
    """What is no name must not become part of a path."""
    with pytest.raises(KafkaError) as caught:
        await world.admin.create_partitions(name, 2, None)
    assert caught.value.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


async def test_of_two_who_create_a_topic_at_once_the_second_changes_nothing(world: AdminWorld) -> None:
    """As when a client's metadata request creates it by itself: the settings that the other asked for would be lost."""
    for left_behind in (False, True):
        name = f"t{left_behind}"
        if left_behind:
            await world.store.create(config_path("topics", name), encode_config({"retention.ms": "9"}))
        wanted = [{"retention.ms": "1"}, {"retention.ms": "2"}]
        outcomes = await asyncio.gather(
            *(world.admin.create_topic(NewTopic(name, 1, 1, {}, configs)) for configs in wanted), return_exceptions=True
        )
        (created,) = [outcome for outcome in outcomes if not isinstance(outcome, BaseException)]
        (second,) = [outcome for outcome in outcomes if isinstance(outcome, KafkaError)]
        assert second.code is ErrorCode.TOPIC_ALREADY_EXISTS
        assert decode_config((await world.store.get(config_path("topics", name)))[0]) == created.configs


async def test_more_than_a_znode_takes_is_refused(world: AdminWorld) -> None:
    far = tuple(range(1_000_000_000, 1_000_000_100))
    assert await refused(world, NewTopic("t", assignments=dict.fromkeys(range(1_000), far))) is ErrorCode.INVALID_REQUEST
