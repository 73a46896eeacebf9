"""A client that was told to wait is not heard for that time, however it goes on sending; and what is not taken is closed later."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from broker_core.seams import ConnectionThrottled, Part, Peer
from broker_core.server.adapters import listener as listeners
from broker_core.server.adapters.network import RealNetwork
from broker_core.server.adapters.server_connection import ServerConnection
from tests.support.exchanges import Answered
from tests.support.framing import framed, read_frames

pytestmark = pytest.mark.spec("N4")

MUTED_MS = 150


class Server:
    """Frames: `t...` have their client wait, `w...` wait for others and then do, `n...` wait without an answer."""

    def __init__(self) -> None:
        self.network = RealNetwork()
        self.begun: list[bytes] = []
        self.at: list[float] = []
        self.waiting: list[asyncio.Future[None]] = []
        self.refusals: list[float] = []
        self.muted_ms = MUTED_MS
        self.came = asyncio.Event()
        self.closed = asyncio.Event()

    async def start(self) -> None:
        self.listener = await self.network.listen("127.0.0.1", 0, self.accept)

    def accept(self, peer: Peer) -> Handler:
        if self.refusals:
            raise ConnectionThrottled(self.refusals.pop())
        return Handler(self)

    @property
    def connection(self) -> ServerConnection:
        (connection,) = self.listener._hosts  # type: ignore[attr-defined]
        assert isinstance(connection, ServerConnection)
        return connection

    async def begins(self, count: int) -> None:
        while len(self.begun) < count:
            self.came.clear()
            await self.came.wait()

    async def client(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection("127.0.0.1", self.listener.port)


class Handler:
    def __init__(self, server: Server) -> None:
        self.server = server

    async def handle(self, frame: memoryview) -> Answered:
        server, name = self.server, bytes(frame[:20])
        server.begun.append(name)
        server.at.append(asyncio.get_running_loop().time())
        server.came.set()
        parts: list[Part] | None = None if name[:1] == b"n" else [b"re " + name]
        throttled = server.muted_ms if name[:1] in b"twn" else 0
        if name[:1] != b"w":
            return Answered(lambda: parts, throttled_ms=throttled)
        waits_for = asyncio.get_running_loop().create_future()
        server.waiting.append(waits_for)
        return Answered(lambda: parts, waits_for=waits_for, throttled_ms=throttled)

    def may_follow(self, frame: memoryview) -> bool:
        return False

    def closed(self) -> None:
        self.server.closed.set()


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    server = Server()
    await server.start()
    yield server
    await server.listener.close()


def waited_ms(server: Server, index: int) -> float:
    return (server.at[index] - server.at[index - 1]) * 1000


@pytest.mark.parametrize("at_once", [True, False])
async def test_the_answer_leaves_at_once_and_the_next_request_waits(server: Server, at_once: bool) -> None:
    """Be it there already, or sent while nobody listens."""
    reader, writer = await server.client()
    writer.write(framed(b"t1") + (framed(b"a") + framed(b"b") if at_once else b""))
    began_at = asyncio.get_running_loop().time()
    assert await read_frames(reader, 1) == [b"re t1"]
    assert server.begun == [b"t1"] and asyncio.get_running_loop().time() - began_at < MUTED_MS / 1000
    if not at_once:
        writer.write(framed(b"a") + framed(b"b"))
    assert await read_frames(reader, 2) == [b"re a", b"re b"]
    assert waited_ms(server, 1) >= MUTED_MS - 1
    writer.close()


async def test_a_request_without_an_answer_makes_its_client_wait_as_well(server: Server) -> None:
    reader, writer = await server.client()
    writer.write(framed(b"n1") + framed(b"a"))
    assert await read_frames(reader, 1) == [b"re a"]
    assert waited_ms(server, 1) >= MUTED_MS - 1
    writer.close()


async def test_what_came_behind_a_request_that_waited_for_others_waits_too(server: Server) -> None:
    """Its turn had come before the answer told the client to wait."""
    reader, writer = await server.client()
    writer.write(framed(b"w1") + framed(b"a"))
    await server.begins(1)
    for _ in range(5):
        await asyncio.sleep(0)
    server.at[0] = asyncio.get_running_loop().time()
    server.waiting[0].set_result(None)
    assert await read_frames(reader, 1) == [b"re w1"]
    assert server.begun == [b"w1"]
    assert await read_frames(reader, 1) == [b"re a"]
    assert waited_ms(server, 1) >= MUTED_MS - 1
    writer.close()


async def test_of_two_waits_the_longer_holds(server: Server) -> None:
    reader, writer = await server.client()
    server.muted_ms = 300
    writer.write(framed(b"t1"))
    await read_frames(reader, 1)
    server.connection._mute(0.01)
    writer.write(framed(b"a"))
    await read_frames(reader, 1)
    assert waited_ms(server, 1) >= 299
    writer.close()


async def test_nothing_more_is_read_meanwhile(server: Server) -> None:
    """What a client sends stays with its own system: no memory here."""
    server.muted_ms = 60_000
    reader, writer = await server.client()
    writer.write(framed(b"t1"))
    await read_frames(reader, 1)
    writer.write(b"".join(framed(b"x" * 10_000) for _ in range(100)))
    for _ in range(20):
        await asyncio.sleep(0.001)
    connection = server.connection
    assert connection._frame is None and not connection._ahead and not connection._transport.is_reading()
    assert not connection.busy, "it may be closed for being idle"
    writer.close()


@pytest.mark.parametrize("first", [b"t1", b"w1"])
async def test_a_connection_that_ends_while_its_client_waits(server: Server, first: bytes) -> None:
    server.muted_ms = 60_000
    reader, writer = await server.client()
    writer.write(framed(first) + framed(b"a"))
    await server.begins(1)
    for waiting in server.waiting:
        waiting.set_result(None)
    await read_frames(reader, 1)
    server.connection.abort()
    await server.closed.wait()
    assert server.begun == [first] and server.network.budget.used_bytes == 0
    writer.close()


async def test_a_connection_that_is_not_taken_is_closed_after_its_rest(server: Server) -> None:
    """Unread, and without holding anybody up."""
    server.refusals = [MUTED_MS]
    began_at = asyncio.get_running_loop().time()
    reader, writer = await server.client()
    writer.write(framed(b"a"))
    other = await server.client()
    other[1].write(framed(b"b"))
    assert await read_frames(other[0], 1) == [b"re b"]
    with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
        await reader.readexactly(1)
    assert (asyncio.get_running_loop().time() - began_at) * 1000 >= MUTED_MS - 1
    assert server.begun == [b"b"] and server.network.counts.refused == 1 and server.network.counts.open == 1
    for each in (writer, other[1]):
        each.close()


async def test_too_many_of_them_are_closed_at_once(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listeners, "HELD_MAX", 1)
    server.refusals = [60_000, 60_000]
    (first, writer), (second, other) = await server.client(), await server.client()
    with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
        await second.readexactly(1)
    assert not first.at_eof()
    await server.listener.close()
    with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
        await first.readexactly(1)
    writer.close()
    other.close()
