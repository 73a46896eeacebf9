"""The controller over a store in memory: election, failover, brokers, topics."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence

import pytest

from broker_core.controller.channels.requests import STOP_REPLICA_KEY
from broker_core.controller.context import Leadership
from broker_core.controller.deciders.reassignment import ReplicaAssignment
from broker_core.controller.deciders.replica_states import ReplicaState
from broker_core.coordination import layout
from broker_core.coordination.store import Create, Delete
from broker_core.model import LeaderAndIsr, TopicPartition
from broker_core.protocol.codec import encode_request
from tests.support.controller_world import World
from tests.support.counted import CountedNumber

pytestmark = pytest.mark.spec("Z1", "Z2", "Z3")

T0 = TopicPartition("t", 0)


@pytest.fixture
async def world() -> AsyncIterator[World]:
    world = World()
    yield world
    await world.close()


@pytest.mark.spec("Z4", "R8")
async def test_a_new_topic_gets_its_first_replicas_as_leaders(world: World) -> None:
    """The first live replica leads, all live ones are in the ISR, everybody's metadata knows."""
    await world.start(0, 1, 2)
    await world.create_topic("t", (0, 1, 2), (1, 2, 0))
    state = await world.state("t")
    assert (state.leader, state.leader_epoch, state.isr) == (0, 0, (0, 1, 2))
    assert (await world.state("t", 1)).leader == 1
    assert world.told[2].replicas[T0]["leader"] == 0
    assert world.told[2].replicas[T0]["is_new"]
    assert all(told.metadata[T0]["leader"] == 0 and told.live_brokers == [0, 1, 2] for told in world.told.values())


@pytest.mark.spec("R8")
async def test_leader_failure_elects_the_next_in_assignment_order(world: World) -> None:
    """By the assignment's order among the ISR, never by the log's length."""
    await world.start(5, 0, 1, 2)
    await world.create_topic("t", (2, 0, 1))
    await world.set_isr("t", (1, 0, 2))
    await world.die(2)
    state = await world.state("t")
    assert (state.leader, state.isr) == (0, (1, 0))
    assert world.told[0].replicas[T0]["leader_epoch"] == state.leader_epoch
    assert world.told[5].metadata[T0]["offline_replicas"] == (2,)


@pytest.mark.spec("R9")
async def test_r9_one_in_sync_replica_down_and_back(world: World) -> None:
    """ISR (0,1), broker 0 down: 1 leads alone (reads); 0 back: it follows and may rejoin (writes)."""
    await world.start(9, 0, 1)
    world.told[2] = world.told[9]
    await world.create_topic("t", (0, 1, 2))
    await world.die(0)
    state = await world.state("t")
    assert (state.leader, state.isr) == (1, (1,))
    await world.start(0)
    assert (await world.state("t")).leader == 1
    assert world.told[0].replicas[T0]["leader"] == 1
    await world.set_isr("t", (1, 0))
    assert world.told[9].metadata[T0]["isr"] == (1, 0)


@pytest.mark.spec("R9")
async def test_r9_one_after_the_other_waits_for_the_last(world: World) -> None:
    """0 then 1 down leave ISR (1) without a leader; 0 alone cannot lead, 1 can."""
    await world.start(9, 0, 1)
    await world.create_topic("t", (0, 1))
    await world.die(0)
    await world.die(1)
    state = await world.state("t")
    assert (state.leader, state.isr) == (-1, (1,))
    await world.start(0)
    assert (await world.state("t")).leader == -1
    assert world.active.snapshot().offline_partitions == 1
    await world.start(1)
    state = await world.state("t")
    assert (state.leader, state.isr) == (1, (1,))
    assert world.active.snapshot().offline_partitions == 0


@pytest.mark.spec("R9")
async def test_r9_both_at_once_keeps_one_in_the_isr(world: World) -> None:
    """Either of the two might be thought to bring reads back; Kafka's controller keeps only the last ISR member, who must return."""
    await world.start(9, 0, 1)
    await world.create_topic("t", (0, 1))
    await world.die(0, 1)
    state = await world.state("t")
    assert (state.leader, len(state.isr)) == (-1, 1)
    last = state.isr[0]
    await world.start(1 - last)
    assert (await world.state("t")).leader == -1
    await world.start(last)
    assert (await world.state("t")).leader == last


@pytest.mark.spec("R8", "R9")
async def test_r9_unclean_election_when_the_topic_allows_it(world: World) -> None:
    """With unclean.leader.election.enable the replica outside the ISR leads, alone, and it is counted."""
    await world.start(9, 0, 1)
    await world.create_topic("t", (0, 1), config={"unclean.leader.election.enable": "true"})
    await world.die(0)
    await world.die(1)
    await world.start(0)
    state = await world.state("t")
    assert (state.leader, state.isr) == (0, (0,))
    assert world.active.snapshot().unclean_elections == 1


@pytest.mark.spec("R8")
async def test_enabling_unclean_election_elects_at_once(world: World) -> None:
    """The setting changed while the partition had no leader."""
    await world.start(9, 0, 1)
    await world.create_topic("t", (0, 1))
    await world.die(0)
    await world.die(1)
    await world.start(0)
    await world.operator.create(layout.config_path("topics", "t"), b'{"version":1,"config":{"unclean.leader.election.enable":"true"}}')
    world.brokers[9].config.set_topic("t", {"unclean.leader.election.enable": "true"})
    await world.settle()
    assert (await world.state("t")).leader == 0


@pytest.mark.spec("R8")
async def test_enabling_unclean_election_for_all_topics_elects_at_once(world: World) -> None:
    """The broker's own setting, changed while it runs."""
    await world.start(9, 0, 1)
    await world.create_topic("t", (0, 1))
    await world.die(0)
    await world.die(1)
    await world.start(0)
    world.brokers[9].config.set_broker({"unclean.leader.election.enable": "true"})
    world.active.enable_unclean_election(None)
    await world.settle()
    assert (await world.state("t")).leader == 0


@pytest.mark.spec("R4")
async def test_isr_changes_are_told_to_all_and_deleted(world: World) -> None:
    """A notification refreshes the cache and goes out as UpdateMetadata, not as LeaderAndIsr."""
    await world.start(0, 1)
    await world.create_topic("t", (0, 1))
    leader_and_isr = len(world.told[0].of_kind(4))
    await world.set_isr("t", (0,))
    assert world.told[1].metadata[T0]["isr"] == (0,)
    assert len(world.told[0].of_kind(4)) == leader_and_isr
    assert await world.operator.children(layout.ISR_CHANGES) == []


@pytest.mark.spec("B11")
async def test_a_bounced_broker_failed_and_then_started(world: World) -> None:
    """Same id, larger czxid, never seen gone: new epoch in the requests, a new channel, everything told again."""
    await world.start(0, 1)
    await world.create_topic("t", (1, 0))
    first_epoch = world.told[1].requests[-1].broker_epoch
    path = layout.broker_path(1)
    data, _ = await world.operator.get(path)
    world.told[1].requests.clear()
    await world.brokers[1].store.multi([Delete(path), Create(path, data, ephemeral=True)])
    await world.settle()
    assert {request.broker_epoch > first_epoch for request in world.told[1].requests} == {True}
    assert [info.broker_id for info in world.hung_up] == [1]
    state = await world.state("t")
    assert (state.leader, state.isr) == (0, (0,))
    assert world.told[1].replicas[T0]["leader"] == 0


@pytest.mark.spec("B11")
async def test_a_broker_whose_session_expired_keeps_its_roles(world: World) -> None:
    """Same process, larger czxid, never seen gone: told everything again on a new channel, but it leads and is in sync as before."""
    await world.start(0, 1)
    await world.create_topic("t", (1, 0))
    before = await world.state("t")
    first_epoch = world.told[1].requests[-1].broker_epoch
    path = layout.broker_path(1)
    data = json.loads((await world.operator.get(path))[0])
    world.told[1].requests.clear()
    renewed = json.dumps({**data, "first_epoch": first_epoch}).encode()
    await world.brokers[1].store.multi([Delete(path), Create(path, renewed, ephemeral=True)])
    await world.settle()
    assert {request.broker_epoch > first_epoch for request in world.told[1].requests} == {True}
    assert world.told[1].of_kind(4)
    assert [info.broker_id for info in world.hung_up] == [1]
    assert await world.state("t") == before


@pytest.mark.spec("Z5")
async def test_requests_wait_for_a_broker_that_does_not_answer(world: World) -> None:
    """An ordered queue per broker, retried until the broker is gone."""
    await world.start(0, 1)
    world.told[1].reachable = False
    await world.create_topic("t", (0, 1))
    assert world.active.snapshot().requests_waiting[1] > 0
    world.told[1].reachable = True
    await world.advance(200)
    assert world.active.snapshot().requests_waiting == {0: 0, 1: 0}
    assert world.told[1].replicas[T0]["leader"] == 0


@pytest.mark.spec("Z4")
async def test_added_partitions_get_leaders(world: World) -> None:
    """Seen by the watch on the topic's assignment."""
    await world.start(0, 1)
    await world.create_topic("t", (0, 1))
    await world.grow_topic("t", (0, 1), (1, 0))
    assert (await world.state("t", 1)).leader == 1
    assert TopicPartition("t", 1) in world.told[0].replicas


@pytest.mark.spec("R8")
async def test_a_topic_without_live_replicas_waits_for_one(world: World) -> None:
    """No live replica, so the partition stays new until a broker starts."""
    await world.start(0)
    await world.create_topic("t", (3, 4))
    assert not await world.exists(layout.state_path(T0))
    await world.start(4)
    assert (await world.state("t")).leader == 4


async def test_a_topic_without_an_id_gets_one(world: World) -> None:
    await world.start(0)
    await world.operator.create(layout.topic_path("t"), b'{"version":2,"partitions":{"0":[0]},"adding_replicas":{},"removing_replicas":{}}')
    await world.settle()
    topic_id = (await world.assignment("t")).topic_id
    assert topic_id is not None
    assert world.told[0].of_kind(4)[-1].payload["topic_states"][0]["topic_id"] == topic_id


@pytest.mark.spec("Z5")
async def test_controlled_shutdown_moves_leadership_and_leaves_the_isr(world: World) -> None:
    """Led partitions get other leaders, followed ones lose the member and are stopped; the rest is answered."""
    await world.start(0, 1, 2)
    await world.create_topic("t", (1, 2), (2, 1), (1,))
    epoch = world.told[1].requests[-1].broker_epoch
    remaining = await world.call(world.active.controlled_shutdown(1, epoch))
    assert remaining == []
    first, second = await world.state("t"), await world.state("t", 1)
    assert (first.leader, first.isr) == (2, (2,))
    assert (second.leader, second.isr) == (2, (2,))
    assert TopicPartition("t", 1) in world.told[1].of_kind(STOP_REPLICA_KEY)[-1].partitions
    assert (await world.state("t", 2)).leader == 1


@pytest.mark.spec("Z5")
async def test_controlled_shutdown_names_what_nobody_else_can_lead(world: World) -> None:
    """The only in-sync replica of a replicated partition cannot go."""
    await world.start(0, 1)
    await world.create_topic("t", (1, 0))
    await world.set_isr("t", (1,))
    assert await world.call(world.active.controlled_shutdown(1, -1)) == [T0]


async def test_a_failed_log_folder_takes_its_replicas_offline(world: World) -> None:
    """The event makes the controller ask; KAFKA_STORAGE_ERROR in the answer takes leadership away."""
    await world.start(0, 1, 2)
    await world.create_topic("t", (1, 2))
    world.told[1].storage_errors.add(T0)
    await world.operator.create(f"{layout.LOG_DIR_EVENTS}/log_dir_event_", b'{"version":1,"broker":1,"event":1}', sequence=True)
    await world.settle()
    state = await world.state("t")
    assert (state.leader, state.isr) == (2, (2,))
    assert world.told[0].metadata[T0]["offline_replicas"] == (1,)
    assert await world.operator.children(layout.LOG_DIR_EVENTS) == []


async def test_an_isr_change_between_read_and_write_is_decided_again(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The leader's conditional write and the controller's meet: whoever is second reads again."""
    await world.start(9, 0, 1, 2)
    await world.create_topic("t", (0, 1, 2))
    term = world.active._term
    assert term is not None
    read = term._znodes.states
    reads = 0

    async def read_then_change(partitions: list[TopicPartition]) -> dict[TopicPartition, Leadership]:
        nonlocal reads
        found = await read(partitions)
        reads += 1
        if reads == 1:
            path = layout.state_path(T0)
            await world.operator.set(path, (await world.operator.get(path))[0].replace(b"[0,1,2]", b"[0,2]"))
        return found

    monkeypatch.setattr(term._znodes, "states", read_then_change)
    await world.die(0)
    state = await world.state("t")
    assert (state.leader, state.isr) == (2, (2,))
    assert world.told[2].replicas[T0]["leader"] == 2


async def test_znodes_with_numbers_that_no_request_can_carry_do_not_silence_the_controller(world: World) -> None:
    """A request that cannot be encoded would end the queue to its broker: nobody would be told of anything any more."""
    await world.start(0, 1)
    registration = (await world.operator.get(layout.broker_path(1)))[0]
    for name, data in (
        ("9", registration.replace(b"9001", b"99999999999")),
        ("8", b'{"endpoints":[]}'),
        ("99999999999", registration),
        ("\u00b2", registration),
    ):
        await world.operator.create(f"{layout.BROKER_IDS}/{name}", data)
    await world.operator.create(layout.topic_path("bad"), b'{"version":3,"partitions":{"0":[0,99999999999]}}')
    await world.create_topic("t", (0, 1))
    assert world.told[1].replicas[T0]["leader"] == 0
    assert world.active.epoch == 1
    for told in world.told.values():
        for request in told.requests:
            encode_request(request.api_key, request.version, request.payload)


async def test_a_shutdown_does_not_compare_each_partition_with_each(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of thousands that stops the controller for seconds."""
    await world.start(0, 1)
    term = world.active._term
    assert term is not None
    for number in range(400):
        tp = TopicPartition("t", CountedNumber(number))
        replicas = (number % 2, 1 - number % 2)
        term.context.set_assignment(tp, ReplicaAssignment(replicas))
        term.context.leadership[tp] = Leadership(LeaderAndIsr(replicas[0], 0, replicas), 1)
    moved: list[int] = []

    async def move(things: Sequence[object], *_: object) -> None:
        moved.append(len(things))

    monkeypatch.setattr(term.changes, "move_partitions", move)
    monkeypatch.setattr(term.changes, "move_replicas", move)
    CountedNumber.compared = 0
    await term.brokers.shut_down(1, -1)
    assert moved == [200, 200]
    assert CountedNumber.compared < 400 * 40


async def test_replicas_of_many_brokers_go_offline_without_comparing_each_with_each(world: World) -> None:
    """A topic may name brokers that do not exist, and each new controller takes all of theirs offline."""
    await world.start(0)
    term = world.active._term
    assert term is not None
    for number in range(400):
        term.context.set_assignment(TopicPartition("t", number), ReplicaAssignment((CountedNumber(1_000 + number),)))
    replicas = term.context.replicas_of_topic("t")
    term.context.replica_states.update(dict.fromkeys(replicas, ReplicaState.ONLINE))
    CountedNumber.compared = 0
    await term.changes.move_replicas(replicas, ReplicaState.OFFLINE)
    assert set(term.context.replica_states.values()) == {ReplicaState.OFFLINE}
    assert CountedNumber.compared < 400 * 40
