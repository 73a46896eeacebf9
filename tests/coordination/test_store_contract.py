"""The store's contract, kept by the in-memory store and by a real ZooKeeper alike."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from broker_core.coordination.store import (
    MOST_BYTES,
    BadVersion,
    Check,
    ConnectionLoss,
    Create,
    Delete,
    NodeExists,
    NoNode,
    NotEmpty,
    SessionExpired,
    SessionState,
    SetData,
    Store,
    StoreError,
    TooLarge,
    WatchEvent,
)
from broker_core.coordination.zookeeper import ZooKeeperStore
from broker_core.coordination.zookeeper.session import MAX_IN_FLIGHT
from tests.support.memory_store.client import MemoryStore
from tests.support.memory_store.ensemble import MemoryEnsemble
from tests.support.zookeeper import zookeeper

pytestmark = pytest.mark.spec("Z1", "Z2")

__all__ = ["zookeeper"]

MakeStore = Callable[[], Awaitable[Store]]
numbers = itertools.count()


@pytest.fixture(params=["memory", "zookeeper"])
async def make_store(request: pytest.FixtureRequest) -> AsyncIterator[MakeStore]:
    """Gives connected clients of one store; each test has a folder of its own, which the first client makes."""
    opened: list[Store] = []
    ensemble = MemoryEnsemble()
    real = request.param == "zookeeper"
    hosts = f"{request.getfixturevalue('zookeeper')}/tests/number-{next(numbers)}" if real else ""

    async def make() -> Store:
        store: Store = ZooKeeperStore(hosts, 4_000) if real else MemoryStore(ensemble)
        await store.connect(10_000)
        opened.append(store)
        return store

    yield make
    for store in opened:
        await store.close()


@pytest.fixture
async def store(make_store: MakeStore) -> Store:
    return await make_store()


class Events:
    """A watcher that remembers, and can be waited for."""

    def __init__(self) -> None:
        self.seen: list[tuple[WatchEvent, str]] = []
        self._more = asyncio.Event()

    def __call__(self, event: WatchEvent, path: str) -> None:
        self.seen.append((event, path))
        self._more.set()

    async def until(self, count: int) -> list[tuple[WatchEvent, str]]:
        while len(self.seen) < count:
            self._more.clear()
            await self._more.wait()
        return self.seen


async def test_data_and_versions(store: Store) -> None:
    assert await store.create("/a", b"one") == "/a"
    data, stat = await store.get("/a")
    assert (data, stat.version, stat.ephemeral_owner) == (b"one", 0, 0)
    assert stat.czxid == stat.mzxid
    changed = await store.set("/a", b"two", 0)
    assert (changed.version, changed.czxid) == (1, stat.czxid)
    assert changed.mzxid > stat.mzxid
    assert (await store.get("/a"))[0] == b"two"
    await store.delete("/a", 1)
    assert await store.exists("/a") is None


async def test_several_are_read_at_once(store: Store) -> None:
    await store.create("/a", b"one")
    await store.create("/b", b"")
    await store.set("/b", b"two")
    found = await store.get_many(["/b", "/missing", "/a", "/b"])
    assert [one and (one[0], one[1].version) for one in found] == [(b"two", 1), None, (b"one", 0), (b"two", 1)]
    assert found[2] == await store.get("/a")
    assert await store.get_many([]) == []


async def test_every_refusal_has_its_error(store: Store) -> None:
    await store.create("/a", b"")
    with pytest.raises(NodeExists):
        await store.create("/a", b"")
    with pytest.raises(NoNode):
        await store.create("/missing/child", b"")
    with pytest.raises(NoNode):
        await store.get("/missing")
    with pytest.raises(NoNode):
        await store.children("/missing")
    with pytest.raises(NoNode):
        await store.set("/missing", b"")
    with pytest.raises(NoNode):
        await store.delete("/missing")
    with pytest.raises(BadVersion):
        await store.set("/a", b"", 7)
    with pytest.raises(BadVersion):
        await store.delete("/a", 7)
    await store.create("/a/b", b"")
    with pytest.raises(NotEmpty):
        await store.delete("/a")


async def test_children_are_sorted_and_sequences_count_creations(store: Store) -> None:
    await store.create("/q", b"")
    made = [await store.create("/q/n-", b"", sequence=True) for _ in range(3)]
    assert made == ["/q/n-0000000000", "/q/n-0000000001", "/q/n-0000000002"]
    await store.delete(made[1])
    assert await store.create("/q/a-", b"", sequence=True) == "/q/a-0000000003"
    assert await store.children("/q") == ["a-0000000003", "n-0000000000", "n-0000000002"]


async def test_an_ephemeral_znode_names_its_session_and_goes_with_it(make_store: MakeStore) -> None:
    owner, other = await make_store(), await make_store()
    await owner.create("/e", b"", ephemeral=True)
    stat = await other.exists("/e")
    assert stat is not None and stat.ephemeral_owner == owner.session_id != other.session_id
    with pytest.raises(StoreError):
        await owner.create("/e/child", b"")
    gone = Events()
    await other.exists("/e", gone)
    await owner.close()
    assert await gone.until(1) == [(WatchEvent.DELETED, "/e")]
    with pytest.raises(SessionExpired):
        await owner.get("/e")


async def test_a_multi_is_all_or_nothing_and_says_which_failed(store: Store) -> None:
    await store.create("/epoch", b"1")
    await store.create("/old", b"")
    results = await store.multi([Check("/epoch", 0), Create("/c", b"me", ephemeral=True), SetData("/epoch", b"2", 0), Delete("/old")])
    assert results[:2] == [None, "/c"]
    assert results[2] is not None and not isinstance(results[2], str) and results[2].version == 1
    assert results[3] is None
    c, epoch = await store.exists("/c"), await store.exists("/epoch")
    assert c is not None and epoch is not None and c.czxid == epoch.mzxid and c.ephemeral_owner == store.session_id
    with pytest.raises(BadVersion) as refused:
        await store.multi([SetData("/c", b"x"), Create("/d", b""), Check("/epoch", 0), Delete("/missing")])
    assert refused.value.index == 2
    assert await store.exists("/d") is None
    assert (await store.get("/c"))[0] == b"me"
    with pytest.raises(NodeExists) as exists:
        await store.multi([Delete("/epoch"), Create("/c", b"")])
    assert exists.value.index == 1
    assert await store.exists("/epoch") is not None


async def test_a_check_of_any_version_asks_whether_the_znode_is_there(store: Store) -> None:
    await store.create("/t", b"")
    await store.set("/t", b"1")
    await store.multi([Check("/t", -1), Create("/order", b"")])
    with pytest.raises(NoNode) as missing:
        await store.multi([Check("/u", -1), Create("/other", b"")])
    assert missing.value.index == 0
    assert await store.children("/") == ["order", "t"]


async def test_a_multi_sees_its_own_changes(store: Store) -> None:
    await store.multi([Create("/t", b""), Create("/t/p", b""), Create("/t/p/0", b""), SetData("/t", b"x", 0)])
    assert await store.children("/t") == ["p"]
    await store.multi([Delete("/t/p/0"), Delete("/t/p"), Delete("/t")])
    assert await store.exists("/t") is None


async def test_watches_fire_once_and_before_the_reply_that_shows_the_change(make_store: MakeStore) -> None:
    watching, acting = await make_store(), await make_store()
    data, child, made = Events(), Events(), Events()
    await acting.create("/w", b"0")
    await watching.get("/w", data)
    await watching.children("/w", child)
    assert await watching.exists("/new", made) is None
    await acting.set("/w", b"1")
    assert (await watching.get("/w"))[0] == b"1"
    assert data.seen == [(WatchEvent.CHANGED, "/w")]
    await acting.set("/w", b"2")
    await acting.create("/w/x", b"")
    await acting.create("/w/y", b"")
    await acting.create("/new", b"")
    await made.until(1)
    assert await watching.children("/w") == ["x", "y"]
    assert data.seen == [(WatchEvent.CHANGED, "/w")]
    assert child.seen == [(WatchEvent.CHILDREN, "/w")]
    assert made.seen == [(WatchEvent.CREATED, "/new")]


async def test_one_callback_waits_once_and_a_deletion_tells_both_kinds(make_store: MakeStore) -> None:
    watching, acting = await make_store(), await make_store()
    data, both = Events(), Events()
    await acting.create("/w", b"")
    for _ in range(3):
        await watching.exists("/w", data)
    await watching.get("/w", both)
    await watching.children("/w", both)
    await acting.delete("/w")
    await both.until(1)
    assert await watching.exists("/w") is None
    assert data.seen == both.seen == [(WatchEvent.DELETED, "/w")]


async def test_a_failed_read_leaves_no_watch(make_store: MakeStore) -> None:
    watching, acting = await make_store(), await make_store()
    unwanted, wanted = Events(), Events()
    with pytest.raises(NoNode):
        await watching.get("/later", unwanted)
    await watching.exists("/later", wanted)
    await acting.create("/later", b"")
    await wanted.until(1)
    assert not unwanted.seen


async def test_operations_of_one_session_keep_their_order(store: Store) -> None:
    await store.create("/n", b"")
    tasks = [asyncio.create_task(store.set("/n", b"%d" % number)) for number in range(500)]
    versions = [(await task).version for task in tasks]
    assert versions == list(range(1, 501))
    assert (await store.get("/n"))[0] == b"499"


async def test_nothing_is_possible_without_a_session(make_store: MakeStore) -> None:
    store = await make_store()
    first = store.session_id
    await store.close()
    assert store.session_id == 0
    with pytest.raises(SessionExpired):
        await store.get("/")
    assert await store.connect(10_000) not in (0, first)
    assert await store.children("/") is not None


async def test_listeners_hear_of_the_connection(make_store: MakeStore) -> None:
    store = await make_store()
    heard: list[SessionState] = []
    store.add_listener(heard.append)
    await store.close()
    await store.connect(10_000)
    assert heard == [SessionState.CONNECTED]


async def test_a_store_that_is_not_there_is_a_connection_loss() -> None:
    with pytest.raises(ConnectionLoss, match="not reached within 300 ms"):
        await ZooKeeperStore("127.0.0.1:1", 4_000).connect(300)


@pytest.mark.parametrize("path", ["/a/../b", "/./a"])
async def test_what_is_no_path_is_refused_and_takes_no_place(store: Store, path: str) -> None:
    """kazoo may raise at once. Each such call would keep one of its places, until no operation could begin any more."""
    for _ in range(MAX_IN_FLIGHT):
        with pytest.raises(StoreError):
            await store.exists(path)
    async with asyncio.timeout(60):
        assert await store.exists("/") is not None


async def test_more_than_the_store_takes_is_refused_before_it_is_sent(store: Store) -> None:
    """ZooKeeper closes the connection on a longer request, at each try, and all that is in flight is lost with it."""
    states: list[SessionState] = []
    store.add_listener(states.append)
    await store.create("/most", bytes(MOST_BYTES - 1_000))
    for write in (
        store.create("/a", bytes(MOST_BYTES)),
        store.set("/most", bytes(MOST_BYTES)),
        store.multi([SetData("/most", bytes(MOST_BYTES // 2)), Create("/a", bytes(MOST_BYTES // 2))]),
    ):
        with pytest.raises(TooLarge):
            await write
    assert await store.exists("/a") is None
    assert states == []
