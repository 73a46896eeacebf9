"""How a broker registers, waits for its predecessor, and registers again (KAFKA-7165)."""

from __future__ import annotations

import asyncio
import json
import logging

import pytest

from broker_core.coordination import layout
from broker_core.coordination.registration import SESSION_FILE, Registration
from broker_core.coordination.znode_data import decode_broker
from broker_core.errors import ErrorCode, KafkaError
from broker_core.model import BrokerInfo, Endpoint
from tests.support.controller_world import SESSION_TIMEOUT_MS, Broker, CountingEntropy, FolderDisk, World

FILE = f"/data/{SESSION_FILE}"


async def prepared() -> World:
    world = World()
    await world.operator.connect(1_000)
    await layout.ensure_layout(world.operator)
    return world


async def process(world: World, disk: FolderDisk) -> Broker:
    """A broker process with its session, not registered yet."""
    broker = Broker(world, 3, disk, "rack")
    await broker.store.connect(SESSION_TIMEOUT_MS)
    return broker


async def registered(world: World) -> BrokerInfo:
    data, stat = await world.operator.get(layout.broker_path(3))
    return decode_broker(3, data, stat.czxid)


@pytest.mark.spec("Z1")
async def test_the_czxid_is_the_broker_epoch() -> None:
    """KIP-380: ephemeral, Kafka's JSON, and the session id in the data folder."""
    world = await prepared()
    disk = FolderDisk()
    broker = await process(world, disk)
    await broker.registration.start()
    assert await registered(world) == BrokerInfo(3, (Endpoint("PLAINTEXT", "127.0.0.1", 9003),), "rack", broker.registration.epoch)
    data, stat = await world.operator.get(layout.broker_path(3))
    assert stat.ephemeral_owner == broker.store.session_id
    assert json.loads(data)["version"] == 5
    assert json.loads(disk.files[FILE])["session_id"] == broker.store.session_id
    await broker.stop()


async def test_a_dead_predecessor_s_znode_is_deleted_at_once() -> None:
    """The folder's lock and the session id in it prove the owner dead; its `/controller` goes as well."""
    world = await prepared()
    disk = FolderDisk()
    first = await process(world, disk)
    await first.registration.start()
    await first.store.create(layout.CONTROLLER, b"{}", ephemeral=True)
    await first.kill()
    second = await process(world, disk)
    await second.registration.start()
    assert second.registration.epoch > first.registration.epoch
    assert not await world.exists(layout.CONTROLLER)
    assert json.loads(disk.files[FILE])["session_id"] == second.store.session_id
    await second.stop()


@pytest.mark.spec("Z1")
async def test_waits_for_an_unknown_predecessor_and_says_how_long(caplog: pytest.LogCaptureFixture) -> None:
    """Another folder proves nothing, so the session has to time out first."""
    world = await prepared()
    first = await process(world, FolderDisk())
    await first.registration.start()
    await first.kill()
    second = await process(world, FolderDisk())
    with caplog.at_level(logging.WARNING):
        starting = asyncio.get_running_loop().create_task(second.registration.start())
        await world.advance(1_000)
    assert not starting.done()
    assert f"Waiting at most 12.0 s for the registration of broker 3 by session 0x{first.store.ensemble.session_ids[1]:x}" in caplog.text
    await world.advance(SESSION_TIMEOUT_MS)
    await starting
    assert (await registered(world)).epoch == second.registration.epoch
    await second.stop()


@pytest.mark.spec("Z1")
async def test_fails_while_another_broker_has_the_id() -> None:
    """Still owned after twice the session timeout."""
    world = await prepared()
    first = await process(world, FolderDisk())
    await first.registration.start()
    second = await process(world, FolderDisk())
    starting = asyncio.get_running_loop().create_task(second.registration.start())
    await world.advance(2 * SESSION_TIMEOUT_MS + 1)
    with pytest.raises(KafkaError) as refused:
        await starting
    assert refused.value.code is ErrorCode.DUPLICATE_BROKER_REGISTRATION
    assert (await registered(world)).epoch == first.registration.epoch
    for broker in (first, second):
        await broker.stop()


@pytest.mark.parametrize("content", [b"", b"{}", b"[1]", b'{"broker_id":3}', b'{"broker_id":4,"session_id":1}'])
async def test_an_unreadable_session_file_proves_nothing(content: bytes) -> None:
    world = await prepared()
    disk = FolderDisk()
    disk.files[FILE] = content
    broker = await process(world, disk)
    await broker.registration.start()
    assert (await registered(world)).epoch == broker.registration.epoch
    await broker.stop()


async def test_a_lost_reply_is_found_to_be_a_registration() -> None:
    """The multi took effect: the znode belongs to this session, its czxid is the epoch."""
    world = await prepared()
    broker = await process(world, FolderDisk())
    broker.store.lose_reply("multi")
    starting = asyncio.get_running_loop().create_task(broker.registration.start())
    await world.advance(1_000)
    await starting
    assert (await registered(world)).epoch == broker.registration.epoch
    await broker.stop()


@pytest.mark.spec("B13")
async def test_registers_again_after_its_session_expired() -> None:
    """A new session, a new epoch, and the rest of the broker is told."""
    world = await prepared()
    told: list[int] = []
    broker = await process(world, FolderDisk())
    registration = Registration(
        broker.node,
        ["/data"],
        lambda: BrokerInfo(3, (Endpoint("PLAINTEXT", "h", 1),), None, -1),
        session_timeout_ms=SESSION_TIMEOUT_MS,
        on_registered=told.append,
        on_failure=broker.failures.append,
    )
    await registration.start()
    first = registration.epoch
    broker.store.expire()
    await world.advance(1_000)
    assert told == [registration.epoch]
    assert registration.epoch > first
    assert (await registered(world)).epoch == registration.epoch
    broker.store.expire()
    await world.advance(1_000)
    assert (await registered(world)).process_epoch == first < registration.epoch
    await registration.stop()
    await broker.store.close()


async def test_an_outage_of_the_store_is_not_waiting_for_a_predecessor() -> None:
    """The store is gone for longer than any wait; the old znode then still stands, and only now the wait begins."""
    world = await prepared()
    broker = await process(world, FolderDisk())
    await broker.registration.start()
    broker.store.disconnect()
    await world.advance(10 * SESSION_TIMEOUT_MS)
    await world.operator.create(layout.broker_path(3), b"{}", ephemeral=True)
    broker.store.reconnect()
    await world.advance(SESSION_TIMEOUT_MS)
    assert broker.failures == []
    await world.operator.delete(layout.broker_path(3))
    await world.advance(1_000)
    assert (await registered(world)).epoch == broker.registration.epoch
    await broker.stop()


async def test_a_session_that_expires_while_registering() -> None:
    """The start goes on in a new session."""
    world = await prepared()
    first = await process(world, FolderDisk())
    await first.registration.start()
    second = await process(world, FolderDisk())
    starting = asyncio.get_running_loop().create_task(second.registration.start())
    await world.advance(1_000)
    second.store.expire()
    await first.stop()
    await world.advance(1_000)
    await starting
    assert (await registered(world)).epoch == second.registration.epoch
    await second.stop()


async def test_own_expired_session_s_znode_is_deleted() -> None:
    """KAFKA-7165: the old session's znode is still there when the new session registers."""
    world = await prepared()
    broker = await process(world, FolderDisk())
    await broker.registration.start()
    path = layout.broker_path(3)
    data, stat = await world.operator.get(path)
    successor = await process(world, FolderDisk())
    successor.registration._own_sessions.add(stat.ephemeral_owner)
    await successor.registration.start()
    assert (await registered(world)).epoch == successor.registration.epoch
    assert data
    for each in (broker, successor):
        await each.stop()


async def test_a_stolen_id_stops_the_broker() -> None:
    """Another broker took the id while this one's session was expired: it is told that it must stop."""
    world = await prepared()
    broker = await process(world, FolderDisk())
    await broker.registration.start()
    broker.store.disconnect()
    await world.advance(SESSION_TIMEOUT_MS + 1)
    thief = await process(world, FolderDisk())
    await thief.registration.start()
    broker.store.reconnect()
    await world.advance(2 * SESSION_TIMEOUT_MS + 1_000)
    assert [error.code for error in broker.failures if isinstance(error, KafkaError)] == [ErrorCode.DUPLICATE_BROKER_REGISTRATION]
    for each in (broker, thief):
        await each.stop()


async def test_layout_and_cluster_id() -> None:
    """Any broker may come first; all see one id."""
    world = await prepared()
    await layout.ensure_layout(world.operator)
    broker = await process(world, FolderDisk())
    first = await layout.ensure_cluster_id(world.operator, broker.node.entropy)
    assert len(first) == 22
    assert await layout.ensure_cluster_id(broker.store, broker.node.entropy) == first
    assert json.loads((await world.operator.get(layout.CLUSTER_ID))[0]) == {"version": "1", "id": first}
    await broker.stop()


async def test_the_layout_survives_lost_replies() -> None:
    """A reply lost while a broker starts does not keep it from starting."""
    world = World()
    await world.operator.connect(1_000)
    for kind in ("exists", "create", "get"):
        world.operator.lose_reply(kind)
    await layout.ensure_layout(world.operator)
    assert len(await layout.ensure_cluster_id(world.operator, CountingEntropy())) == 22
