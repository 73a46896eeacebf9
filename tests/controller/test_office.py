"""Who is the controller: election, its three triggers, failover, fencing, lost replies."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence

import pytest

from broker_core.controller.store.elector import Elector
from broker_core.controller.store.guarded_store import ControllerMoved, GuardedStore
from broker_core.coordination import layout
from broker_core.coordination.store import Create, Op, OpResult, SessionExpired
from broker_core.coordination.znode_data import encode_controller
from broker_core.errors import ErrorCode, KafkaError
from broker_core.model import TopicPartition
from tests.support.controller_world import SESSION_TIMEOUT_MS, World

T0 = TopicPartition("t", 0)


@pytest.fixture
async def world() -> AsyncIterator[World]:
    world = World()
    yield world
    await world.close()


@pytest.mark.spec("Z2")
async def test_trigger_start_the_first_broker_wins(world: World) -> None:
    """First trigger: the cluster starts from nothing; the epoch begins at 1."""
    await world.start(0, 1)
    assert world.brokers[0].controller.is_active
    assert not world.brokers[1].controller.is_active
    assert world.brokers[1].controller.controller_id == 0
    assert world.active.epoch == 1
    assert (await world.operator.get(layout.CONTROLLER_EPOCH))[0] == b"1"


@pytest.mark.spec("Z2")
async def test_trigger_node_gone_the_office_is_contested(world: World) -> None:
    """Second trigger: `/controller` is deleted by hand; somebody is elected with the next epoch."""
    await world.start(0, 1, 2)
    await world.operator.delete(layout.CONTROLLER)
    await world.settle()
    assert world.active.epoch == 2
    assert len({broker.controller.controller_id for broker in world.brokers.values()}) == 1


@pytest.mark.spec("Z2")
async def test_trigger_node_changed_the_old_controller_resigns(world: World) -> None:
    """Third trigger: `/controller` names another broker, so the one in office resigns before anything else."""
    await world.start(0, 1)
    await world.operator.set(layout.CONTROLLER, encode_controller(1, 0))
    await world.settle()
    assert not world.brokers[0].controller.is_active
    assert world.brokers[0].controller.controller_id == 1
    with pytest.raises(KafkaError) as refused:
        await world.call(world.brokers[0].controller.elect_leaders(None, 0))
    assert refused.value.code is ErrorCode.NOT_CONTROLLER


@pytest.mark.spec("Z3")
async def test_failover_broker_0_dies_and_3_wins(world: World) -> None:
    """The new controller reads everything back, and elects for what 0 led."""
    await world.start(0, 3)
    await world.create_topic("t", (0, 3))
    await world.die(0)
    assert world.brokers[3].controller.is_active
    assert world.active.epoch == 2
    state = await world.state("t")
    assert (state.leader, state.isr) == (3, (3,))
    assert world.told[3].controller_epoch == 2
    assert world.told[3].replicas[T0]["leader"] == 3


@pytest.mark.spec("Z3")
async def test_failover_tells_who_lives_before_who_leads(world: World) -> None:
    """Brokers learn addresses by UpdateMetadata before any LeaderAndIsr of the term."""
    await world.start(0, 3)
    await world.create_topic("t", (0, 3))
    await world.die(0)
    term = [request.api_key for request in world.told[3].requests if request.controller_epoch == 2]
    assert term[0] == 6
    assert 4 in term


@pytest.mark.spec("Z3")
async def test_failover_drops_old_notifications_and_reads_the_states(world: World) -> None:
    """What was announced before the term is in the states."""
    await world.start(0, 1, 2)
    await world.create_topic("t", (1, 2, 0))
    await world.brokers[0].kill()
    await world.set_isr("t", (1, 2))
    assert await world.operator.children(layout.ISR_CHANGES) != []
    await world.advance(SESSION_TIMEOUT_MS + 1)
    assert await world.operator.children(layout.ISR_CHANGES) == []
    assert world.told[2].metadata[T0]["isr"] == (1, 2)


@pytest.mark.spec("B12")
async def test_lost_reply_of_the_election_is_still_a_victory(world: World) -> None:
    """The multi took effect, its reply was lost: the znode is this session's and the epoch the one asked for."""
    await world.start(0, 1)
    world.brokers[0].store.lose_reply("multi")
    world.brokers[1].store.lose_reply("multi")
    await world.operator.delete(layout.CONTROLLER)
    await world.advance(1_000)
    assert world.active.epoch == 2
    assert (await world.operator.get(layout.CONTROLLER_EPOCH))[0] == b"2"
    await world.create_topic("t", (0, 1))
    assert (await world.state("t")).leader == 0


@pytest.mark.spec("Z2")
async def test_an_unreadable_epoch_is_said_once_and_mended_by_hand(world: World, caplog: pytest.LogCaptureFixture) -> None:
    """Nobody may guess an epoch: without one no write can be fenced. No trace, no line at each try."""
    await world.operator.connect(1_000)
    await layout.ensure_layout(world.operator)
    await world.operator.create(layout.CONTROLLER_EPOCH, b"rubbish")
    await world.start(0)
    await world.advance(5_000)
    assert not world.brokers[0].controller.is_active
    (said,) = [record for record in caplog.records if record.levelno >= logging.ERROR]
    assert "/controller_epoch is malformed" in said.getMessage()
    assert said.exc_info is None
    await world.operator.set(layout.CONTROLLER_EPOCH, b"41")
    await world.advance(1_000)
    assert world.active.epoch == 42


@pytest.mark.spec("Z2")
async def test_a_predecessor_s_office_is_not_one_s_own(world: World) -> None:
    """`/controller` may name this broker and belong to the session of its killed predecessor."""
    await world.start(0)
    elector = Elector(world.operator, world.clock, 0)
    seat = await world.call(elector.seat(lambda _event, _path: None))
    assert seat is not None
    assert (seat.broker_id, seat.mine) == (0, False)
    assert await world.call(elector.compete(lambda _event, _path: None)) == seat


@pytest.mark.spec("B12")
async def test_lost_reply_of_a_term_s_write_is_harmless(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first states of a topic were written, the reply lost; the retry finds them and goes on."""
    await world.start(0, 1)
    store = world.brokers[0].store
    multi, lost = store.multi, []

    async def lossy(ops: Sequence[Op]) -> list[OpResult]:
        if not lost and any(isinstance(op, Create) and op.path.endswith("/state") for op in ops):
            lost.append(ops)
            store.lose_reply("multi")
        return await multi(ops)

    monkeypatch.setattr(store, "multi", lossy)
    await world.create_topic("t", (0, 1), (1, 0))
    await world.advance(1_000)
    assert lost
    assert [(await world.state("t", partition)).leader for partition in (0, 1)] == [0, 1]
    assert world.told[1].replicas[T0]["leader"] == 0
    assert world.active.epoch == 1


@pytest.mark.spec("B12")
async def test_a_state_of_a_later_controller_is_not_touched(world: World) -> None:
    """Whoever finds one has been superseded, even if it has not noticed."""
    await world.start(9, 0, 1)
    await world.create_topic("t", (0, 1))
    path = layout.state_path(T0)
    await world.operator.set(path, (await world.operator.get(path))[0].replace(b'"controller_epoch":1', b'"controller_epoch":5'))
    before = await world.state("t")
    await world.die(0)
    assert await world.state("t") == before


@pytest.mark.spec("B12")
async def test_a_stale_controller_is_fenced_and_resigns(world: World) -> None:
    """Another controller was elected without this one hearing of it; its next write fails and ends the term."""
    await world.start(0, 1)
    await world.operator.set(layout.CONTROLLER_EPOCH, b"7")
    await world.create_topic("t", (0, 1))
    assert world.active.epoch == 8
    assert (await world.state("t")).leader == 0
    assert all(told.controller_epoch == 8 for told in world.told.values())


@pytest.mark.spec("B12")
async def test_guarded_writes_name_the_epoch_s_version(world: World) -> None:
    """Every write carries the check."""
    await world.start(0)
    version = (await world.operator.get(layout.CONTROLLER_EPOCH))[1].version
    store = GuardedStore(world.brokers[0].store, world.clock, world.brokers[0].node.spawn, version)
    await store.write([Create("/a", b"")])
    await world.operator.set(layout.CONTROLLER_EPOCH, b"2")
    with pytest.raises(ControllerMoved):
        await store.write([Create("/b", b"")])
    assert not await world.exists("/b")


@pytest.mark.spec("B13", "Z2")
async def test_an_expired_session_ends_the_term_and_the_broker_comes_back(world: World) -> None:
    """The old term stops at once, the broker registers with a new epoch, the cluster has one controller."""
    await world.start(0, 1)
    await world.create_topic("t", (0, 1))
    first_epoch = world.brokers[0].registration.epoch
    term = world.brokers[0].controller._term
    assert term is not None
    world.brokers[0].store.expire()
    await world.advance(2_000)
    assert world.active.epoch == 2
    assert world.brokers[0].registration.epoch > first_epoch
    assert world.told[0].replicas[T0]["leader_epoch"] == (await world.state("t")).leader_epoch
    with pytest.raises(SessionExpired):
        await term._znodes.store.children("/brokers/topics")


@pytest.mark.spec("B12")
async def test_an_expired_session_silences_the_controller_at_once(world: World) -> None:
    """Nothing more is sent, though its brokers are still unanswered and no event has come since."""
    await world.start(0, 1)
    world.told[1].reachable = False
    await world.create_topic("t", (0, 1))
    world.brokers[0].store.expire()
    for _ in range(3):
        await asyncio.sleep(0)
    assert not world.brokers[0].controller.is_active
    assert [info.broker_id for info in world.hung_up] == [0, 1]


async def test_a_broken_connection_is_not_the_end_of_the_term(world: World) -> None:
    """Within the session the controller goes on and sees what happened meanwhile, even if its watches were lost."""
    await world.start(0, 1)
    world.brokers[0].store.disconnect()
    await world.operator.create(layout.topic_path("t"), b'{"version":3,"partitions":{"0":[0,1]}}')
    await world.advance(1_000)
    world.brokers[0].store._watches.clear()
    world.brokers[0].store.reconnect()
    await world.advance(1_000)
    assert world.active.epoch == 1
    assert (await world.state("t")).leader == 0


async def test_resigning_leads_to_another_term(world: World) -> None:
    await world.start(0, 1)
    await world.call(world.active.resign())
    assert world.active.epoch == 2


async def test_a_failure_gives_the_office_up_and_the_cluster_goes_on(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A term whose picture may be wrong does not go on; the call that met it is refused, not left hanging."""
    await world.start(0, 1)
    monkeypatch.setattr(world.brokers[0].controller._term.elections, "elect", None)  # type: ignore[union-attr]
    with pytest.raises(KafkaError) as refused:
        await world.call(world.active.elect_leaders(None, 0))
    assert refused.value.code is ErrorCode.NOT_CONTROLLER
    await world.advance(2_000)
    assert world.active.epoch >= 2


async def test_snapshot_counts(world: World) -> None:
    await world.start(0, 1)
    await world.create_topic("t", (0, 1), (1, 0))
    snapshot = world.active.snapshot()
    assert (snapshot.active, snapshot.controller_id, snapshot.epoch) == (True, 0, 1)
    assert (snapshot.brokers, snapshot.topics, snapshot.partitions) == (2, 1, 2)
    assert snapshot.queue_size == 0
    assert not world.brokers[1].controller.snapshot().active
