"""The in-memory store's faults: expiry, a lost reply, a cut connection, slow messages."""

from __future__ import annotations

import asyncio

import pytest

from broker_core.coordination.store import ConnectionLoss, Create, NodeExists, SessionExpired, SessionState, SetData, WatchEvent
from broker_core.server.adapters.clock import RealClock
from tests.support.memory_store.client import MemoryStore
from tests.support.memory_store.ensemble import MemoryEnsemble
from tests.support.memory_store.link import LoopLink

pytestmark = pytest.mark.spec("B12", "B13")


@pytest.fixture
def ensemble() -> MemoryEnsemble:
    return MemoryEnsemble()


async def connected(ensemble: MemoryEnsemble) -> tuple[MemoryStore, list[SessionState]]:
    store, heard = MemoryStore(ensemble, RealClock()), []
    await store.connect(1_000)
    store.add_listener(heard.append)
    return store, heard


async def test_expiry_deletes_ephemerals_and_fails_what_was_called_in_the_session(ensemble: MemoryEnsemble) -> None:
    store, heard = await connected(ensemble)
    other, _ = await connected(ensemble)
    seen: list[WatchEvent] = []
    await store.create("/e", b"", ephemeral=True)
    await other.exists("/e", lambda event, path: seen.append(event))
    store.expire()
    with pytest.raises(SessionExpired):
        await store.create("/late", b"")
    assert (store.session_id, heard) == (0, [SessionState.EXPIRED])
    assert await other.exists("/late") is None
    assert seen == [WatchEvent.DELETED]
    await store.connect(1_000)
    await store.create("/e", b"", ephemeral=True)


async def test_a_lost_reply_hides_a_multi_that_took_effect(ensemble: MemoryEnsemble) -> None:
    store, heard = await connected(ensemble)
    await store.create("/epoch", b"0")
    store.lose_reply("multi")
    election = [Create("/controller", b"1", ephemeral=True), SetData("/epoch", b"1", 0)]
    with pytest.raises(ConnectionLoss):
        await store.multi(election)
    assert heard == [SessionState.SUSPENDED]
    with pytest.raises(NodeExists):
        await store.multi(election)
    assert (await store.get("/controller"))[1].ephemeral_owner == store.session_id
    assert heard == [SessionState.SUSPENDED, SessionState.CONNECTED]


async def test_a_cut_client_waits_and_hears_what_it_missed_first(ensemble: MemoryEnsemble) -> None:
    store, heard = await connected(ensemble)
    other, _ = await connected(ensemble)
    await other.create("/a", b"")
    events: list[str] = []
    await store.get("/a", lambda event, path: events.append(event.value))
    lost = asyncio.create_task(store.get("/a"))
    await asyncio.sleep(0)
    store.disconnect()
    with pytest.raises(ConnectionLoss):
        await lost
    waiting = asyncio.create_task(store.get("/a"))
    await other.set("/a", b"new")
    store.reconnect()
    waiting.add_done_callback(lambda task: events.append("reply"))
    assert (await waiting)[0] == b"new"
    await asyncio.sleep(0)
    assert events == ["changed", "reply"]
    assert heard == [SessionState.SUSPENDED, SessionState.CONNECTED]


async def test_a_session_that_expired_while_cut_off_is_found_out_on_the_way_back(ensemble: MemoryEnsemble) -> None:
    store, heard = await connected(ensemble)
    store.disconnect()
    waiting = asyncio.create_task(store.create("/late", b""))
    await asyncio.sleep(0)
    store.expire()
    assert store.session_id != 0
    store.reconnect()
    with pytest.raises(SessionExpired):
        await waiting
    assert heard == [SessionState.SUSPENDED, SessionState.EXPIRED]
    assert ensemble.tree.find("/late") is None


async def test_a_session_out_of_contact_expires_after_its_timeout() -> None:
    clock = RealClock()
    ensemble = MemoryEnsemble(clock.now_ms, clock.call_later)
    store = MemoryStore(ensemble, clock, session_timeout_ms=20)
    await store.connect(1_000)
    await store.create("/e", b"", ephemeral=True)
    gone = asyncio.Event()
    other, _ = await connected(ensemble)
    await other.exists("/e", lambda event, path: gone.set())
    store.abandon()
    await gone.wait()
    assert len(ensemble.session_ids) == 1


async def test_slow_messages_keep_their_order(ensemble: MemoryEnsemble) -> None:
    link = LoopLink(RealClock())
    store = MemoryStore(ensemble, RealClock(), link=link)
    await store.connect(1_000)
    await store.create("/n", b"")
    link.delay_ms = 20
    slow = asyncio.create_task(store.set("/n", b"slow"))
    await asyncio.sleep(0)
    link.delay_ms = 0
    assert (await store.set("/n", b"fast")).version == 2
    assert (await slow).version == 1
