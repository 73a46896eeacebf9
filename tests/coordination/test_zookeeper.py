"""What a real session goes through: lost connections, expiry, watches set again, many operations at once."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from kazoo.client import KazooClient
from kazoo.protocol.serialization import Create
from kazoo.protocol.states import KazooState
from kazoo.security import OPEN_ACL_UNSAFE

from broker_core.coordination.store import ConnectionLoss, SessionExpired, SessionState, WatchEvent
from broker_core.coordination.zookeeper import ZooKeeperStore
from broker_core.coordination.zookeeper import store as store_module
from broker_core.coordination.zookeeper.session import MAX_IN_FLIGHT
from tests.support.tcp_proxy import TcpProxy
from tests.support.zookeeper import zookeeper

pytestmark = pytest.mark.spec("Z1", "Z2")

__all__ = ["zookeeper"]

SESSION_TIMEOUT_MS = 4_000
numbers = itertools.count()


class States:
    def __init__(self, store: ZooKeeperStore) -> None:
        self.heard: list[SessionState] = []
        self._more = asyncio.Event()
        store.add_listener(self._hear)

    def _hear(self, state: SessionState) -> None:
        self.heard.append(state)
        self._more.set()

    async def until(self, state: SessionState) -> None:
        while state not in self.heard:
            self._more.clear()
            await self._more.wait()


@pytest.fixture
async def proxy(zookeeper: str) -> AsyncIterator[TcpProxy]:
    proxy = TcpProxy(int(zookeeper.rpartition(":")[2]))
    await proxy.start()
    yield proxy
    await proxy.stop()


@pytest.fixture
async def direct(zookeeper: str) -> AsyncIterator[ZooKeeperStore]:
    store = ZooKeeperStore(zookeeper, 4_000)
    await store.connect(10_000)
    yield store
    await store.close()


@pytest.fixture
async def store(proxy: TcpProxy) -> AsyncIterator[ZooKeeperStore]:
    store = ZooKeeperStore(f"127.0.0.1:{proxy.port}", SESSION_TIMEOUT_MS)
    await store.connect(10_000)
    yield store
    await store.close()


@pytest.fixture
async def folder(direct: ZooKeeperStore) -> str:
    return await direct.create(f"/zk-{next(numbers)}-", b"", sequence=True)


async def test_a_broken_connection_keeps_the_session_and_its_watches(
    store: ZooKeeperStore, direct: ZooKeeperStore, proxy: TcpProxy, folder: str
) -> None:
    states, session_id = States(store), store.session_id
    seen: list[tuple[WatchEvent, str]] = []
    for name in ("changed", "deleted", "same", "parent"):
        await direct.create(f"{folder}/{name}", b"")
        await store.get(f"{folder}/{name}", lambda event, path: seen.append((event, path)))
    await store.children(f"{folder}/parent", lambda event, path: seen.append((event, path)))
    assert await store.exists(f"{folder}/created", lambda event, path: seen.append((event, path))) is None
    await store.create(f"{folder}/mine", b"", ephemeral=True)
    proxy.cut()
    await states.until(SessionState.SUSPENDED)
    waiting = asyncio.create_task(store.children(f"{folder}/parent"))
    await direct.set(f"{folder}/changed", b"1")
    await direct.delete(f"{folder}/deleted")
    await direct.create(f"{folder}/created", b"")
    await direct.create(f"{folder}/parent/child", b"")
    proxy.heal()
    assert await waiting == ["child"]
    assert sorted(seen, key=str) == sorted(
        [
            (WatchEvent.CHANGED, f"{folder}/changed"),
            (WatchEvent.DELETED, f"{folder}/deleted"),
            (WatchEvent.CREATED, f"{folder}/created"),
            (WatchEvent.CHILDREN, f"{folder}/parent"),
        ],
        key=str,
    )
    assert states.heard == [SessionState.SUSPENDED, SessionState.CONNECTED]
    assert store.session_id == session_id
    assert await direct.exists(f"{folder}/mine") is not None
    await direct.set(f"{folder}/same", b"1")
    await store.get(f"{folder}/same")
    assert seen[-1] == (WatchEvent.CHANGED, f"{folder}/same")


async def test_an_operation_whose_reply_is_lost_is_a_connection_loss(
    store: ZooKeeperStore, direct: ZooKeeperStore, proxy: TcpProxy, folder: str
) -> None:
    """It may have taken effect; the ones called after it on the mended connection go on."""
    states = States(store)
    in_flight = [asyncio.create_task(store.create(f"{folder}/n-", b"", sequence=True)) for _ in range(50)]
    await asyncio.sleep(0)
    proxy.cut()
    outcomes = await asyncio.gather(*in_flight, return_exceptions=True)
    proxy.heal()
    lost = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
    assert lost and all(isinstance(error, ConnectionLoss) for error in lost)
    await states.until(SessionState.CONNECTED)
    assert await store.exists(folder) is not None
    assert len(await direct.children(folder)) >= len(outcomes) - len(lost)


async def test_an_expired_session_is_never_carried_over(
    store: ZooKeeperStore, direct: ZooKeeperStore, proxy: TcpProxy, folder: str
) -> None:
    states, first = States(store), store.session_id
    seen: list[WatchEvent] = []
    await store.create(f"{folder}/mine", b"", ephemeral=True)
    gone = asyncio.Event()
    await direct.exists(f"{folder}/mine", lambda event, path: gone.set())
    await store.get(folder, lambda event, path: seen.append(event))
    proxy.cut()
    await states.until(SessionState.SUSPENDED)
    waiting = [asyncio.create_task(store.create(f"{folder}/late-{number}", b"")) for number in range(3)]
    await gone.wait()
    proxy.heal()
    for outcome in await asyncio.gather(*waiting, return_exceptions=True):
        assert isinstance(outcome, SessionExpired)
    await states.until(SessionState.EXPIRED)
    assert store.session_id == 0
    with pytest.raises(SessionExpired):
        await store.set(folder, b"late")
    assert await direct.children(folder) == []
    assert await store.connect(10_000) not in (0, first)
    assert await store.children(folder) == []
    await store.create(f"{folder}/new", b"")
    assert seen == []


async def test_many_operations_at_once_keep_to_the_limit(store: ZooKeeperStore, folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    session = store._session
    assert session is not None
    begin, most = session._begin, [0]

    def counted(*arguments: Any) -> None:
        most[0] = max(most[0], len(session._in_flight))
        begin(*arguments)

    monkeypatch.setattr(session, "_begin", counted)
    paths = await asyncio.gather(*[store.create(f"{folder}/n-", b"", sequence=True) for _ in range(1_000)])
    assert paths == sorted(paths)
    assert len(await store.children(folder)) == 1_000
    assert most == [MAX_IN_FLIGHT]


async def test_a_lost_session_is_fenced_before_kazoo_goes_on(store: ZooKeeperStore, folder: str) -> None:
    """When kazoo's own thread hears of the loss, its client is stopped and closed to operations before the loop knows."""
    states, session = States(store), store._session
    assert session is not None
    session._on_state(KazooState.LOST)
    assert session._client._stopped.is_set()
    late = asyncio.create_task(store.create(f"{folder}/late", b""))
    await states.until(SessionState.EXPIRED)
    with pytest.raises(SessionExpired):
        await late
    await store.connect(10_000)
    assert await store.children(folder) == []


async def test_a_session_that_opens_as_its_time_is_up_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is ended, so nothing may be asked of it: the next `connect` has to open another one."""
    ended: list[object] = []

    class LateSession:
        session_id = 0x7

        def __init__(self, hosts: str, timeout_ms: float, tell: Callable[[Any, SessionState], None], *, max_in_flight: int) -> None:
            loop = asyncio.get_running_loop()
            self.opened: asyncio.Future[None] = loop.create_future()
            self._tell = tell
            loop.call_later(0.03, self._open)
            loop.call_later(0.005, time.sleep, 0.05)

        def _open(self) -> None:
            self.opened.set_result(None)
            self._tell(self, SessionState.CONNECTED)

        def end(self) -> None:
            ended.append(self)

    monkeypatch.setattr(store_module, "Session", LateSession)
    store = ZooKeeperStore("nowhere:1", 4_000)
    with pytest.raises(ConnectionLoss):
        await store.connect(20)
    assert len(ended) == 1
    assert store.session_id == 0


async def test_a_chroot_that_cannot_be_made_leaves_no_session_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its client would go on in a thread of its own, and keep a session with ZooKeeper for ever."""
    ended: list[object] = []

    class RefusingSession:
        def __init__(self, *_: object) -> None:
            self.opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self.disposed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self.opened.set_result(None)

        async def call(self, *_: object) -> None:
            raise ConnectionLoss("in the midst of it")

        def end(self) -> None:
            ended.append(self)
            self.disposed.set_result(None)

    monkeypatch.setattr(store_module, "Session", RefusingSession)
    with pytest.raises(ConnectionLoss, match="midst"):
        await ZooKeeperStore("nowhere:1/kafka", 4_000).connect(1_000)
    assert len(ended) == 1


async def test_a_znode_without_data_reads_as_empty(zookeeper: str, direct: ZooKeeperStore) -> None:
    """Apache Kafka makes some of its znodes so."""
    client = KazooClient(zookeeper)
    client.start(timeout=30)
    path = f"/zk-null-{next(numbers)}"
    made = client.handler.async_result()
    client._call(Create(path, None, OPEN_ACL_UNSAFE, 0), made)
    await asyncio.get_running_loop().run_in_executor(None, made.get, True, 30)
    client.stop()
    client.close()
    assert (await direct.get(path))[0] == b""
    found = await direct.get_many([path, f"{path}-not"])
    assert found[0] is not None and (found[0][0], found[1]) == (b"", None)


async def test_a_store_keeps_to_the_limit_that_it_was_given(zookeeper: str, folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """`zookeeper.max.in.flight.requests`."""
    store = ZooKeeperStore(zookeeper, 4_000, max_in_flight=3)
    await store.connect(10_000)
    session = store._session
    assert session is not None
    begin, most = session._begin, [0]

    def counted(*arguments: Any) -> None:
        most[0] = max(most[0], len(session._in_flight))
        begin(*arguments)

    monkeypatch.setattr(session, "_begin", counted)
    await asyncio.gather(*[store.create(f"{folder}/n-", b"", sequence=True) for _ in range(50)])
    await store.close()
    assert most == [3]
