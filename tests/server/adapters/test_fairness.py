"""Clients that send thousands of requests ahead, beside others: who is served when, by counting requests and not seconds.

The handlers here answer without ever waiting, as most requests of a broker do: nothing but the turns lets others in between.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable

import pytest

from broker_core.seams import Peer
from broker_core.server.adapters.listener import NetworkLimits
from broker_core.server.adapters.network import RealNetwork
from broker_core.server.adapters.request_queue import RequestQueue
from broker_core.server.adapters.response_writer import GATHER_BYTES, HIGH_WATER_BYTES
from broker_core.server.adapters.server_connection import READ_AHEAD_BYTES, SCRATCH_BYTES, ServerConnection
from broker_core.server.adapters.turn import REQUESTS_MAX
from tests.support.exchanges import Answered, answered
from tests.support.framing import framed, read_frames

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Server:
    """Two listeners of one broker; `handled` holds all frames in the order of their handling."""

    def __init__(self) -> None:
        self.limits = NetworkLimits()
        self.network = RealNetwork(lambda: self.limits)
        self.handled: list[bytes] = []
        self.answer_bytes = 0
        self.most_queued = 0
        self.handled_at_arrival: dict[object, int] = {}
        """How many had been handled when a connection began to wait, for room or for its turn: how soon a system hands a byte over
        is no affair of the turns."""
        self._note_arrivals(self.network.queue)

    def _note_arrivals(self, queue: RequestQueue) -> None:
        enter, wait = queue.enter, queue.wait

        def noted_enter(group: object, begin: Callable[[], None], *, new: bool) -> None:
            self.handled_at_arrival.setdefault(begin.__self__, len(self.handled))  # type: ignore[attr-defined]
            enter(group, begin, new=new)

        def noted_wait(group: object, go_on: Callable[[], None], *, first: bool) -> None:
            self.handled_at_arrival.setdefault(go_on.__self__, len(self.handled))  # type: ignore[attr-defined]
            wait(group, go_on, first=first)

        queue.enter, queue.wait = noted_enter, noted_wait  # type: ignore[method-assign]

    async def start(self) -> None:
        self.listeners = [await self.network.listen("127.0.0.1", 0, lambda peer: Handler(self, peer)) for _ in range(2)]

    async def client(self, listener: int = 0) -> Streams:
        return await asyncio.open_connection("127.0.0.1", self.listeners[listener].port)

    def connections(self, listener: int = 0) -> list[ServerConnection]:
        return list(self.listeners[listener]._hosts)  # type: ignore[attr-defined]


class Handler:
    def __init__(self, server: Server, peer: Peer) -> None:
        self.server = server

    async def handle(self, frame: memoryview) -> Answered:
        self.server.most_queued = max(self.server.most_queued, self.server.network.queue.size)
        self.server.handled.append(bytes(frame))
        return answered([bytes(frame), bytes(self.server.answer_bytes)])

    def may_follow(self, frame: memoryview) -> bool:
        return False

    def closed(self) -> None: ...


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    server = Server()
    await server.start()
    yield server
    for listener in server.listeners:
        await listener.close()
    assert server.network.budget.used_bytes == 0


def pipelined(name: bytes, count: int) -> bytes:
    return framed(*(b"%b %d" % (name, number) for number in range(count)))


async def turns(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def test_one_who_sends_thousands_ahead_lets_others_in_after_each_turn(server: Server) -> None:
    greedy_reader, greedy = await server.client()
    reader, writer = await server.client()
    greedy.write(pipelined(b"greedy", 5_000))
    while not server.handled:
        await asyncio.sleep(0)
    modest = server.connections()[1]
    for number in range(10):
        server.handled_at_arrival.pop(modest, None)
        writer.write(framed(b"modest %d" % number))
        assert await read_frames(reader, 1) == [b"modest %d" % number]
        between = server.handled.index(b"modest %d" % number) - server.handled_at_arrival[modest]
        assert between <= 2 * REQUESTS_MAX, "the turn that is being had, and one that was called before"
    assert await read_frames(greedy_reader, 5_000) == [b"greedy %d" % number for number in range(5_000)], "all, in order"
    assert server.network.queue.yields >= 5_000 // REQUESTS_MAX // 2
    assert server.network.queue.size == 0
    for each in (greedy, writer):
        each.close()


async def test_all_who_send_ahead_get_on_alike(server: Server) -> None:
    """Two clients on one listener and one on another: none is ever more than a few turns ahead."""
    clients = [await server.client(), await server.client(), await server.client(1)]
    for number, (_, writer) in enumerate(clients):
        writer.write(pipelined(b"%d" % number, 2000))
    got = await asyncio.gather(*[read_frames(reader, 2000) for reader, _ in clients])
    assert got == [[b"%d %d" % (number, each) for each in range(2000)] for number in range(3)]
    names = [frame[:1] for frame in server.handled]
    places = [[place for place, name in enumerate(names) if name == b"%d" % number] for number in range(3)]
    first_end = min(each[-1] for each in places)
    for each in places:
        gaps = [after - before for before, after in itertools.pairwise(each) if after <= first_end]
        assert max(gaps, default=0) <= 8 * REQUESTS_MAX
    for _, writer in clients:
        writer.close()


async def test_many_who_send_ahead_do_not_keep_out_a_newcomer_by_a_full_queue(server: Server) -> None:
    server.limits = NetworkLimits(queued_max_requests=2)
    clients = [await server.client() for _ in range(10)]
    reader, writer = await server.client()
    newcomer = server.connections()[-1]
    for number, (_, each) in enumerate(clients):
        each.write(pipelined(b"%d" % number, 1000))
    while not server.handled:
        await asyncio.sleep(0)
    writer.write(framed(b"newcomer"))
    assert await read_frames(reader, 1) == [b"newcomer"]
    rounds = (server.handled.index(b"newcomer") - server.handled_at_arrival[newcomer]) / (10 * REQUESTS_MAX)
    assert rounds <= 15, "ten come first, two at a time, and then each once more; 62 rounds would be all there is"
    for number, (each_reader, _) in enumerate(clients):
        assert await read_frames(each_reader, 1000) == [b"%d %d" % (number, each) for each in range(1000)]
    assert server.most_queued <= 2
    for _, each in [*clients, (reader, writer)]:
        each.close()


async def test_what_waits_for_its_turn_is_bounded(server: Server) -> None:
    """Reading stops at the connection's own share, and goes on when its turns have used it up."""
    reader, greedy = await server.client()
    greedy.write(pipelined(b"greedy", 10_000))
    most = 0
    receiving = asyncio.create_task(read_frames(reader, 10_000))
    while not receiving.done():
        most = max(most, *(len(connection._ahead) for connection in server.connections()))
        await asyncio.sleep(0)
    assert 0 < most < READ_AHEAD_BYTES + SCRATCH_BYTES
    assert receiving.result()[-1] == b"greedy 9999"
    greedy.close()


async def test_answers_to_one_who_does_not_read_are_bounded_and_go_on(server: Server) -> None:
    server.answer_bytes = 5_000
    reader, silent = await server.client()
    silent.transport.pause_reading()  # type: ignore[attr-defined]
    count = 4000
    silent.write(pipelined(b"silent", count))
    while not server.handled:
        await asyncio.sleep(0)
    transport = None
    handled = -1
    while handled != len(server.handled):
        handled = len(server.handled)
        await turns(200)
        transport = server.connections()[0]._transport
        assert transport.get_write_buffer_size() <= HIGH_WATER_BYTES + GATHER_BYTES
    assert 0 < handled < count
    assert server.network.queue.size == 0, "it is not in the others' way"
    silent.transport.resume_reading()  # type: ignore[attr-defined]
    got = await read_frames(reader, count)
    assert [answer.rstrip(b"\0") for answer in got] == [b"silent %d" % number for number in range(count)]
    silent.close()


@pytest.mark.parametrize("how", ["client", "server"])
async def test_a_connection_that_ends_while_it_waits_for_its_turn(server: Server, how: str) -> None:
    _, greedy = await server.client()
    reader, writer = await server.client()
    greedy.write(pipelined(b"greedy", 3000))
    while not server.handled:
        await asyncio.sleep(0)
    if how == "client":
        greedy.transport.abort()
    else:
        server.connections()[0].abort()
    writer.write(framed(b"alive"))
    assert await read_frames(reader, 1) == [b"alive"]
    while len(server.connections()) > 1:
        await asyncio.sleep(0)
    await turns(50)
    assert how == "client" or len(server.handled) < 3000
    assert (server.network.queue.size, server.network.queue.full) == (0, False)
    for each in (greedy, writer):
        each.close()
