"""Requests that wait for others, and what their client sends behind them: begun meanwhile where that may be, answered in order."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import AsyncIterator

import pytest

from broker_core.errors import ProtocolViolation
from broker_core.seams import Part, Peer
from broker_core.server.adapters import turn
from broker_core.server.adapters.listener import NetworkLimits
from broker_core.server.adapters.network import RealNetwork
from broker_core.server.adapters.server_connection import ServerConnection
from broker_core.server.adapters.unanswered import UNANSWERED_MAX, AnswerLine, Unanswered
from tests.support.exchanges import Answered, answered
from tests.support.framing import framed, read_frames

pytestmark = pytest.mark.spec("N1")


class Server:
    """Frames: `w...` wait until the test lets them, `f...` may follow those that wait, `n...` get no answer, `x` is a violation."""

    def __init__(self) -> None:
        self.network = RealNetwork(NetworkLimits)
        self.begun: list[bytes] = []
        self.waiting: dict[bytes, asyncio.Future[None]] = {}
        self.asked: list[bytes] = []
        """Those whose answers were asked for."""
        self.sent: list[bytes] = []
        self.came = asyncio.Event()

    async def start(self) -> None:
        self.listener = await self.network.listen("127.0.0.1", 0, lambda peer: Handler(self, peer))

    @property
    def connection(self) -> ServerConnection:
        (connection,) = self.listener._hosts  # type: ignore[attr-defined]
        assert isinstance(connection, ServerConnection)
        return connection

    async def begins(self, count: int) -> None:
        while len(self.begun) < count:
            self.came.clear()
            await self.came.wait()


class Handler:
    def __init__(self, server: Server, peer: Peer) -> None:
        self.server = server

    async def handle(self, frame: memoryview) -> Answered:
        name = bytes(frame[:20])
        if name == b"x":
            raise ProtocolViolation("no such thing")
        self.server.begun.append(name)
        self.server.came.set()
        parts: list[Part] | None = None if name[:1] == b"n" else [b"re ", name]
        future = None
        if b"w" in name:
            future = self.server.waiting[name] = asyncio.get_running_loop().create_future()

        def answer() -> list[Part] | None:
            self.server.asked.append(name)
            return parts

        return Answered(answer, waits_for=future, sent=lambda waited_ms, sending_ms: self.server.sent.append(name))

    def may_follow(self, frame: memoryview) -> bool:
        return frame[:1] in (b"f", b"n")

    def closed(self) -> None: ...


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    server = Server()
    await server.start()
    yield server
    await server.listener.close()
    assert server.network.budget.used_bytes == 0
    assert server.network.queue.size == 0


async def opened(server: Server) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    return await asyncio.open_connection("127.0.0.1", server.listener.port)


async def read_answers(reader: asyncio.StreamReader, count: int) -> list[bytes]:
    return [frame.removeprefix(b"re ") for frame in await read_frames(reader, count)]


async def test_what_may_follow_is_begun_and_all_are_answered_in_order(server: Server) -> None:
    reader, writer = await opened(server)
    writer.write(framed(b"w1", b"fw2", b"f3", b"n4", b"fw5", b"ask 6"))
    await server.begins(5)
    assert server.begun == [b"w1", b"fw2", b"f3", b"n4", b"fw5"], "what may not follow is not begun"
    server.waiting[b"fw2"].set_result(None)
    server.waiting[b"fw5"].set_result(None)
    await asyncio.sleep(0)
    assert server.sent == [], "the first one still waits"
    assert server.connection.busy
    server.waiting[b"w1"].set_result(None)
    assert await read_answers(reader, 5) == [b"w1", b"fw2", b"f3", b"fw5", b"ask 6"]
    assert server.sent == server.begun == [b"w1", b"fw2", b"f3", b"n4", b"fw5", b"ask 6"]
    assert not server.connection.busy
    writer.close()


async def test_so_many_are_begun_and_no_more(server: Server) -> None:
    reader, writer = await opened(server)
    names = [b"fw%d" % number for number in range(UNANSWERED_MAX + 5)]
    writer.write(framed(*names))
    await server.begins(UNANSWERED_MAX)
    for _ in range(20):
        await asyncio.sleep(0)
    assert len(server.begun) == UNANSWERED_MAX
    for name in names[:UNANSWERED_MAX]:
        server.waiting[name].set_result(None)
    await server.begins(len(names))
    for name in names[UNANSWERED_MAX:]:
        server.waiting[name].set_result(None)
    assert await read_answers(reader, len(names)) == names
    writer.close()


@pytest.mark.parametrize("broken", [framed(b"x"), struct.pack(">i", -1)], ids=["a violation", "a frame of no size"])
async def test_a_connection_is_closed_behind_the_answers_that_are_due(server: Server, broken: bytes) -> None:
    reader, writer = await opened(server)
    writer.write(framed(b"w1", b"fw2") + broken + framed(b"f4"))
    await server.begins(2)
    for name in (b"w1", b"fw2"):
        server.waiting[name].set_result(None)
        for _ in range(10):
            await asyncio.sleep(0)
    assert await read_answers(reader, 2) == [b"w1", b"fw2"]
    with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
        await reader.readexactly(1)
    assert server.begun == [b"w1", b"fw2"]
    writer.close()


async def test_a_client_that_leaves_while_others_are_waited_for(server: Server) -> None:
    _, writer = await opened(server)
    writer.write(framed(b"w1", b"fw2", b"ask"))
    await server.begins(2)
    writer.transport.abort()
    while server.network.counts.open:
        await asyncio.sleep(0)
    for future in server.waiting.values():
        future.set_result(None)
    for _ in range(10):
        await asyncio.sleep(0)
    assert server.begun == [b"w1", b"fw2"], "what could not be answered is not begun"
    assert (server.asked, server.sent) == ([b"w1", b"fw2"], []), "they do not count as waiting for ever"


async def test_the_answers_of_a_turn_leave_in_one_write(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turn, "TURN_MS", 60_000.0)  # on a slow machine eight requests take longer than a turn may
    reader, writer = await opened(server)
    writer.write(framed(b"ask 0"))
    await read_answers(reader, 1)
    transport = server.connection._transport
    writes: list[int] = []
    write = transport.write
    monkeypatch.setattr(transport, "write", lambda data: (writes.append(len(data)), write(data)), raising=False)
    names = [b"ask %d" % number for number in range(1, 9)]
    writer.write(framed(*names))
    assert await read_answers(reader, 8) == names
    assert len(writes) == 1
    writer.close()


async def test_a_line_lets_all_go_at_once_that_may() -> None:
    loop = asyncio.get_running_loop()
    left: list[list[int]] = []
    numbers: dict[int, int] = {}
    line = AnswerLine(lambda leaving: left.append([numbers[id(one.exchange)] for one in leaving]))
    futures = [loop.create_future() for _ in range(4)]
    exchanges = [Answered(lambda: None, waits_for=future) for future in futures] + [answered(None)]
    for number, exchange in enumerate(exchanges):
        numbers[id(exchange)] = number
        line.add(Unanswered(exchange, 0.0))
    assert (line.count, left) == (5, [])
    for number in (3, 2, 1):
        futures[number].set_result(None)
    await asyncio.sleep(0)
    assert left == []
    futures[0].set_result(None)
    await line.emptied()
    assert left == [[0, 1, 2, 3, 4]]
