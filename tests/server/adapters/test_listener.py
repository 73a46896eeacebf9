"""The listener against clients of every kind: well-behaved, slow, broken, hostile, too many."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import os
import random
import select
import socket
import struct
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from broker_core.errors import ProtocolViolation
from broker_core.seams import FileRange, Part, Peer
from broker_core.server.adapters.disk import RealDisk
from broker_core.server.adapters.listener import NetworkLimits
from broker_core.server.adapters.network import RealNetwork
from broker_core.server.adapters.request_queue import TURNS_AT_ONCE
from broker_core.server.adapters.response_writer import SENDFILE_FROM_BYTES
from tests.support.exchanges import Answered
from tests.support.framing import framed, read_frame

pytestmark = pytest.mark.spec("N1")

Answer = Callable[[memoryview], list[Part] | None]


class Server:
    """A listener whose handlers answer by `answer`; frames that start with `wait` are answered when `go` is set."""

    def __init__(self, limits: NetworkLimits) -> None:
        self.limits = limits
        self.network = RealNetwork(lambda: self.limits)
        self.answer: Answer = lambda frame: [b"echo ", frame]
        self.go = asyncio.Event()
        self.frames: list[bytes] = []
        self.handling = 0
        self.most_handling = 0
        self.most_queued = 0
        self.sent: list[tuple[float, float]] = []
        self.was_sent = asyncio.Event()
        self.closed = 0
        self.all_closed = asyncio.Event()
        self.port = 0

    async def start(self) -> None:
        self.listener = await self.network.listen("127.0.0.1", 0, lambda peer: Handler(self, peer))
        self.port = self.listener.port

    def sockets(self) -> list[Any]:
        """Of the connections that are open."""
        return [connection._transport.get_extra_info("socket") for connection in self.listener._hosts]  # type: ignore[attr-defined]

    async def raw(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection("127.0.0.1", self.port)


class Handler:
    def __init__(self, server: Server, peer: Peer) -> None:
        assert peer.host == "127.0.0.1"
        self.server = server
        self.busy = False

    async def handle(self, frame: memoryview) -> Answered:
        assert not self.busy, "one request at a time"
        self.busy = True
        self.server.handling += 1
        self.server.most_queued = max(self.server.most_queued, 1 + self.server.network.queue.size)
        self.server.most_handling = max(self.server.most_handling, self.server.handling)
        try:
            self.server.frames.append(bytes(frame[:100]))
            for _ in range(5):
                await asyncio.sleep(0)
            if bytes(frame[:4]) == b"wait":
                await self.server.go.wait()
            if bytes(frame[:3]) == b"bad":
                raise ProtocolViolation("bad frame")
            if bytes(frame[:3]) == b"bug":
                raise RuntimeError("bug")
            parts = self.server.answer(frame)
            return Answered(lambda: parts, sent=self.sent)
        finally:
            self.busy = False
            self.server.handling -= 1

    def sent(self, waited_ms: float, sending_ms: float) -> None:
        self.server.sent.append((waited_ms, sending_ms))
        self.server.was_sent.set()

    def may_follow(self, frame: memoryview) -> bool:
        return False

    def closed(self) -> None:
        self.server.closed += 1
        self.server.all_closed.set()


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    server = Server(NetworkLimits(max_request_bytes=10_000_000))
    await server.start()
    yield server
    await server.listener.close()
    assert server.network.counts.open == 0
    assert server.network.budget.used_bytes == 0


async def ends(reader: asyncio.StreamReader) -> bool:
    """True once the server has closed the connection, whatever it sent before."""
    with contextlib.suppress(ConnectionError):
        await reader.read()
    return True


async def test_our_own_client_gets_its_frames(server: Server) -> None:
    connection = await server.network.connect("127.0.0.1", server.port, timeout_ms=60_000)
    for size in (1, 100, 70_000, 3_000_000):
        connection.send(bytes(size))
    for size in (1, 100, 70_000, 3_000_000):
        assert await connection.receive() == b"echo " + bytes(size)
    connection.close()
    with pytest.raises(ConnectionError):
        await connection.receive()
    with pytest.raises(ConnectionError):
        connection.send(b"x")


async def test_a_port_nobody_listens_on_is_a_connection_error(server: Server) -> None:
    with pytest.raises(ConnectionError, match=r"127\.0\.0\.1:1"):
        await server.network.connect("127.0.0.1", 1, timeout_ms=60_000)
    with pytest.raises(OSError, match=str(server.port)):
        await server.network.listen("127.0.0.1", server.port, lambda peer: Handler(server, peer))


async def test_frames_in_any_cut_are_handled_one_by_one_and_in_order(server: Server) -> None:
    chance = random.Random(1)
    frames = [b"%d " % number + chance.randbytes(int(10 ** chance.uniform(0, 5.5))) for number in range(60)]
    stream = b"".join(framed(frame) for frame in frames)
    reader, writer = await server.raw()

    async def send() -> None:
        position = 0
        while position < len(stream):
            step = int(10 ** chance.uniform(0, 5.3))
            writer.write(stream[position : position + step])
            position += step
            await writer.drain()
            await asyncio.sleep(0)

    sending = asyncio.create_task(send())
    for frame in frames:
        assert await read_frame(reader) == b"echo " + frame
    await sending
    assert server.most_handling == 1
    writer.close()


async def test_no_answer_where_none_is_due(server: Server) -> None:
    server.answer = lambda frame: None if bytes(frame) == b"acks 0" else [bytes(frame)]
    reader, writer = await server.raw()
    writer.write(framed(b"acks 0") + framed(b"next"))
    assert await read_frame(reader) == b"next"
    writer.close()


@pytest.mark.parametrize("size", [-1, -(2**31), 0, 10_000_001, 2**31 - 1])
async def test_an_impossible_size_closes_the_connection(server: Server, size: int) -> None:
    reader, writer = await server.raw()
    writer.write(struct.pack(">i", size) + b"x" * 100)
    assert await ends(reader)
    assert server.network.counts.broken_frames == 1
    assert not server.frames
    writer.close()


async def test_an_announced_size_takes_no_memory_before_its_bytes(server: Server) -> None:
    _, writer = await server.raw()
    writer.write(struct.pack(">i", 9_000_000) + b"x" * 10)
    reader, other = await server.raw()
    other.write(framed(b"hello"))
    assert await read_frame(reader) == b"echo hello"
    while not server.network.budget.used_bytes:
        await asyncio.sleep(0)
    assert server.network.budget.used_bytes < 200_000
    writer.close()
    other.close()


async def test_random_bytes_and_truncated_frames_hurt_nobody_else(server: Server) -> None:
    chance = random.Random(2)
    good_reader, good = await server.raw()
    for number in range(60):
        reader, writer = await server.raw()
        writer.write(chance.randbytes(chance.randint(0, 200)) if number % 2 else struct.pack(">i", 5_000) + b"x" * chance.randint(0, 4_999))
        writer.close() if chance.random() < 0.5 else writer.transport.abort()
        good.write(framed(b"%d" % number))
        assert await read_frame(good_reader) == b"echo %d" % number
        with contextlib.suppress(ConnectionError):
            await reader.read()
    good.close()
    while server.closed < 61:
        server.all_closed.clear()
        await server.all_closed.wait()


async def test_a_violation_closes_its_connection_only(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    reader, writer = await server.raw()
    other_reader, other = await server.raw()
    writer.write(framed(b"fine") + framed(b"bad one") + framed(b"never handled"))
    assert await read_frame(reader) == b"echo fine"
    assert await ends(reader)
    bug_reader, bug = await server.raw()
    bug.write(framed(b"bug"))
    assert await ends(bug_reader)
    assert "a request failed and its connection is closed" in caplog.text
    other.write(framed(b"alive"))
    assert await read_frame(other_reader) == b"echo alive"
    assert b"never handled" not in server.frames
    for each in (writer, bug, other):
        each.close()


async def test_what_is_sent_ahead_is_bounded(server: Server) -> None:
    """While a request is in work only a little more is read; then the client's own socket fills up."""
    reader, writer = await server.raw()
    writer.write(framed(b"wait"))
    while not server.handling:
        await asyncio.sleep(0)
    writer.write(framed(b"x" * 9_000_000) * 3)
    for _ in range(2_000):
        await asyncio.sleep(0)
    assert writer.transport.get_write_buffer_size() > 15_000_000
    server.go.set()
    assert await read_frame(reader) == b"echo wait"
    for _ in range(3):
        assert len(await read_frame(reader)) == 9_000_005
    writer.close()


async def test_a_client_that_leaves_during_its_request(server: Server) -> None:
    _, writer = await server.raw()
    writer.write(framed(b"wait"))
    while not server.handling:
        await asyncio.sleep(0)
    writer.transport.abort()
    await server.all_closed.wait()
    server.go.set()
    while server.handling:
        await asyncio.sleep(0)


async def test_a_client_that_stops_reading_is_bounded_and_in_nobodys_way(server: Server) -> None:
    server.answer = lambda frame: [bytes(8_000_000)] if bytes(frame) == b"big" else [bytes(frame)]
    _, greedy = await server.raw()
    greedy.write(framed(b"big") * 50)
    reader, writer = await server.raw()
    for number in range(200):
        writer.write(framed(b"%d" % number))
        assert await read_frame(reader) == b"%d" % number
    assert server.frames.count(b"big") <= 2
    writer.close()
    server.limits = NetworkLimits(max_idle_ms=20)
    greedy_connection = next(iter(server.listener._hosts))  # type: ignore[attr-defined]
    greedy_connection.abort()
    await server.all_closed.wait()
    greedy.close()


async def test_what_a_frame_and_its_answer_waited_is_told(server: Server) -> None:
    """A frame waits while the loop does something else; an answer, while its reader does not read."""
    server.answer = lambda frame: [bytes(20_000_000)] if bytes(frame) == b"big" else None
    reader, writer = await server.raw()
    connection = next(iter(server.listener._hosts))  # type: ignore[attr-defined]
    began = time.monotonic()
    server.network.queue._called = TURNS_AT_ONCE
    connection._ahead += framed(b"small") + framed(b"behind it")
    connection._start_frame(new=True)
    time.sleep(0.02)
    while len(server.sent) < 2:
        await asyncio.sleep(0)
    (waited_ms, sending_ms), (waited_behind_ms, _) = server.sent
    assert 20 <= waited_ms <= (time.monotonic() - began) * 1000
    assert waited_behind_ms == 0.0, "it waited for its connection, not for the broker"
    assert 0 <= sending_ms < waited_ms
    writer.write(framed(b"big"))
    while not connection.writing:
        await asyncio.sleep(0)
    server.was_sent.clear()
    time.sleep(0.02)
    await reader.readexactly(20_000_004)
    await server.was_sent.wait()
    assert server.sent[-1][1] >= 20
    writer.close()


async def test_idle_connections_are_closed_and_busy_ones_are_not() -> None:
    server = Server(NetworkLimits(max_idle_ms=300))
    await server.start()
    reader, writer = await server.raw()
    busy_reader, busy = await server.raw()
    busy.write(framed(b"wait for it"))
    half_reader, half = await server.raw()
    half.write(struct.pack(">i", 1_000) + b"x")
    assert await ends(reader)
    assert await ends(half_reader)
    assert server.network.counts.closed_idle == 2
    server.go.set()
    assert await read_frame(busy_reader) == b"echo wait for it"
    assert await ends(busy_reader)
    for each in (writer, busy, half):
        each.close()
    await server.listener.close()


async def test_connection_limits_in_total_and_per_address() -> None:
    server = Server(NetworkLimits(max_connections=2))
    await server.start()
    pairs = [await server.raw() for _ in range(2)]
    for reader, writer in pairs:
        writer.write(framed(b"in"))
        assert await read_frame(reader) == b"echo in"
    refused_reader, refused = await server.raw()
    assert await ends(refused_reader)
    server.limits = NetworkLimits(max_connections=10, max_connections_per_ip=2)
    reader, writer = await server.raw()
    assert await ends(reader)
    assert (server.network.counts.refused, server.network.counts.open) == (2, 2)
    pairs[0][1].close()
    await server.all_closed.wait()
    again_reader, again = await server.raw()
    again.write(framed(b"room"))
    assert await read_frame(again_reader) == b"echo room"
    for each in (refused, writer, again, pairs[1][1]):
        each.close()
    await server.listener.close()


async def test_an_address_may_have_a_limit_of_its_own() -> None:
    """`max.connections.per.ip.overrides`, which may let one in where nobody else may."""
    server = Server(NetworkLimits(max_connections_per_ip=0, max_connections_per_ip_overrides=("10.0.0.1:9", "127.0.0.1:1")))
    await server.start()
    reader, writer = await server.raw()
    writer.write(framed(b"in"))
    assert await read_frame(reader) == b"echo in"
    refused_reader, refused = await server.raw()
    assert await ends(refused_reader)
    for each in (writer, refused):
        each.close()
    await server.listener.close()


async def test_without_a_limit_no_connection_is_closed_for_being_idle() -> None:
    """`connections.max.idle.ms=-1`: nobody looks."""
    server = Server(NetworkLimits(max_idle_ms=-1))
    await server.start()
    reader, writer = await server.raw()
    writer.write(framed(b"in"))
    assert await read_frame(reader) == b"echo in"
    assert server.listener._idle_timer is None  # type: ignore[attr-defined]
    writer.close()
    await server.listener.close()


async def test_sockets_have_the_buffers_that_were_asked_for() -> None:
    """The system counts twice what it is asked for; by default it chooses, more than these."""
    server = Server(NetworkLimits(send_buffer_bytes=20_000, receive_buffer_bytes=30_000, backlog=1))
    await server.start()
    reader, writer = await server.raw()
    writer.write(framed(b"in"))
    assert await read_frame(reader) == b"echo in"
    (connection,) = server.sockets()
    assert connection.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) == 40_000
    assert connection.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) == 60_000
    writer.close()
    await server.listener.close()


async def test_the_memory_budget_holds_and_everyone_gets_through() -> None:
    server = Server(NetworkLimits(queued_max_request_bytes=1_000_000))
    server.answer = lambda frame: [b"%d" % len(frame)]
    await server.start()
    most = 0

    async def send(size: int) -> None:
        nonlocal most
        reader, writer = await server.raw()
        for part in range(0, size, 50_000):
            writer.write((struct.pack(">i", size) if part == 0 else b"") + bytes(min(50_000, size - part)))
            await asyncio.sleep(0)
            most = max(most, server.network.budget.used_bytes)
        assert await read_frame(reader) == b"%d" % size
        writer.close()

    await asyncio.gather(*[send(900_000 + number) for number in range(12)])
    assert server.network.budget.waits > 0
    assert most < 1_000_000 + 900_012 + 12 * 65_536
    await server.listener.close()
    assert server.network.budget.used_bytes == 0


async def test_half_sent_frames_do_not_wait_for_requests_that_hold_little() -> None:
    """Some fetch is nearly always being handled; its end makes no room where the frames fill the budget themselves."""
    server = Server(NetworkLimits(queued_max_request_bytes=1_000_000))
    server.answer = lambda frame: [b"%d" % len(frame)]
    await server.start()
    polling_reader, polling = await server.raw()
    polling.write(framed(b"wait"))
    while not server.handling:
        await asyncio.sleep(0)
    pairs = [await server.raw() for _ in range(3)]
    for _, writer in pairs:
        writer.write(struct.pack(">i", 900_000) + bytes(900_000))
    for reader, _ in pairs:
        assert await asyncio.wait_for(read_frame(reader), 60) == b"900000"
    assert server.network.budget.waits > 0
    server.go.set()
    assert await read_frame(polling_reader) == b"4"
    for _, writer in [*pairs, (polling_reader, polling)]:
        writer.close()
    await server.listener.close()
    assert server.network.budget.used_bytes == 0


async def test_a_frame_passes_requests_that_fill_the_budget_and_wait() -> None:
    """For members of a group, for replicas: they may wait for long, and for what is in just that frame."""
    server = Server(NetworkLimits(queued_max_request_bytes=1_000_000))
    server.answer = lambda frame: [b"%d" % len(frame)]
    await server.start()
    parked = [await server.raw() for _ in range(2)]
    for _, writer in parked:
        writer.write(framed(b"wait" + bytes(510_000)))
    while server.handling < 2:
        await asyncio.sleep(0)
    pairs = [await server.raw() for _ in range(2)]
    for _, writer in pairs:
        writer.write(framed(bytes(900_000)))
    for reader, _ in pairs:
        assert await asyncio.wait_for(read_frame(reader), 60) == b"900000"
    server.go.set()
    for reader, _ in parked:
        assert await read_frame(reader) == b"510004"
    for _, writer in [*pairs, *parked]:
        writer.close()
    await server.listener.close()
    assert server.network.budget.used_bytes == 0


async def test_a_request_whose_client_has_left_counts_until_it_has_been_handled(server: Server) -> None:
    """Its bytes are in use until then: who sends and leaves, again and again, would fill the memory."""
    _, writer = await server.raw()
    writer.write(framed(b"wait" + bytes(96)))
    while not server.handling:
        await asyncio.sleep(0)
    writer.transport.abort()
    await server.all_closed.wait()
    assert server.network.budget.used_bytes == 100
    server.go.set()
    while server.handling:
        await asyncio.sleep(0)
    assert server.network.budget.used_bytes == 0


async def test_reading_stops_while_the_request_queue_is_full_and_goes_on() -> None:
    """Whatever one turn of the loop finds to read: no more than `queued.max.requests` are read and not begun."""
    server = Server(NetworkLimits(queued_max_requests=3))
    await server.start()
    pairs = [await server.raw() for _ in range(TURNS_AT_ONCE + 20)]
    while len(server.sockets()) < len(pairs):
        await asyncio.sleep(0)
    for number, (_, writer) in enumerate(pairs):
        writer.write(framed(b"%d" % number))
    while len(select.select(server.sockets(), [], [], 60)[0]) < len(pairs):
        time.sleep(0.001)  # the loop stands still until all have arrived
    for number, (reader, _) in enumerate(pairs):
        assert await read_frame(reader) == b"echo %d" % number
    assert server.most_queued == 3
    assert server.network.queue.pauses >= 17
    assert (server.network.queue.size, server.network.queue.full) == (0, False)
    for _, writer in pairs:
        writer.close()
    await server.listener.close()


async def test_requests_that_wait_for_others_do_not_fill_the_request_queue() -> None:
    """Fetches and acks=all produces wait for requests that must still come in, the controller's among them."""
    server = Server(NetworkLimits(queued_max_requests=2))
    await server.start()
    pairs = [await server.raw() for _ in range(5)]
    for _, writer in pairs:
        writer.write(framed(b"wait") + framed(b"behind it"))
    while server.handling < 5:
        await asyncio.sleep(0)
    reader, writer = await server.raw()
    writer.write(framed(b"completes them"))
    assert await read_frame(reader) == b"echo completes them"
    server.go.set()
    for each, _ in pairs:
        assert [await read_frame(each), await read_frame(each)] == [b"echo wait", b"echo behind it"]
    for _, each_writer in [*pairs, (reader, writer)]:
        each_writer.close()
    await server.listener.close()


async def test_frames_of_all_sizes_pass_a_request_queue_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """One byte at a time in the worst case, also under a small memory budget and behind a request in work."""
    monkeypatch.setattr("broker_core.server.adapters.request_queue.TURNS_AT_ONCE", 1)
    server = Server(NetworkLimits(queued_max_requests=1, queued_max_request_bytes=300_000))
    await server.start()

    async def client(number: int) -> None:
        chance = random.Random(number)
        frames = [b"%d " % each + chance.randbytes(int(10 ** chance.uniform(0, 5.5))) for each in range(10)]
        reader, writer = await server.raw()
        writer.write(b"".join(framed(frame) for frame in frames))
        for frame in frames:
            assert await read_frame(reader) == b"echo " + frame
        writer.close()

    await asyncio.gather(*[client(number) for number in range(10)])
    assert server.network.queue.pauses > 0
    await server.listener.close()


async def test_a_client_that_leaves_while_it_waits_for_the_request_queue() -> None:
    server = Server(NetworkLimits(queued_max_requests=1))
    await server.start()
    pairs = [await server.raw() for _ in range(8)]
    for _, writer in pairs:
        writer.write(framed(b"hello"))
    for _, writer in pairs[1:-1]:
        writer.transport.abort()
    assert await read_frame(pairs[0][0]) == b"echo hello"
    assert await read_frame(pairs[-1][0]) == b"echo hello"
    await server.listener.close()
    assert server.network.queue.size == 0
    pairs[0][1].close()
    pairs[-1][1].close()


@pytest.fixture
async def disk() -> AsyncIterator[RealDisk]:
    disk = RealDisk()
    yield disk
    disk.close()


async def test_answers_from_files_by_gathering_and_by_sendfile(server: Server, disk: RealDisk, tmp_path: Path) -> None:
    content = random.Random(3).randbytes(8_000_000)
    file = disk.open(f"{tmp_path}/log", create=True)
    file.append(content)
    plans: list[list[Part]] = [
        [b"small ", FileRange(file, 10, 1_000), b" end"],
        [FileRange(file, number * 1_000, 10_000) for number in range(300)],
        [b"big ", FileRange(file, 5, SENDFILE_FROM_BYTES + 1), b" middle ", FileRange(file, 0, 7_999_999), memoryview(b" end")],
        [FileRange(file, 0, 8_000_000)],
    ]
    server.answer = lambda frame: plans[int(bytes(frame))]
    reader, writer = await server.raw()
    for number, plan in enumerate(plans):
        writer.write(framed(b"%d" % number))
        wanted = b"".join(content[p.position : p.position + p.length] if isinstance(p, FileRange) else bytes(p) for p in plan)
        assert await read_frame(reader) == wanted
    writer.close()


@pytest.mark.parametrize("length", [10_000, 2_000_000])
async def test_a_file_shorter_than_promised_closes_the_connection(server: Server, disk: RealDisk, tmp_path: Path, length: int) -> None:
    file = disk.open(f"{tmp_path}/log", create=True)
    file.append(bytes(length))
    answer: list[Part] = [FileRange(file, 0, length)]
    file.truncate(length - 1)
    server.answer = lambda frame: answer
    reader, writer = await server.raw()
    writer.write(framed(b"x"))
    received = await reader.read()
    assert len(received) < 4 + length
    writer.close()


async def test_a_deleted_and_closed_file_is_sent_to_its_end(server: Server, disk: RealDisk, tmp_path: Path) -> None:
    file = disk.open(f"{tmp_path}/log", create=True)
    file.append(bytes(20_000_000))
    server.answer = lambda frame: [FileRange(file, 0, 20_000_000)]
    reader, writer = await server.raw()
    writer.write(framed(b"x"))
    await reader.readexactly(1_000)
    file.close()
    await disk.remove(f"{tmp_path}/log")
    assert len(await reader.readexactly(20_000_004 - 1_000)) == 19_999_004
    writer.close()


async def test_a_reader_that_leaves_in_the_middle_of_a_file(
    server: Server, disk: RealDisk, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Nothing to worry about: no error, no traceback in the log."""
    file = disk.open(f"{tmp_path}/log", create=True)
    file.append(bytes(50_000_000))
    server.answer = lambda frame: [FileRange(file, 0, 50_000_000)]
    reader, writer = await server.raw()
    writer.write(framed(b"x"))
    await reader.readexactly(1_000)
    writer.transport.abort()
    await server.all_closed.wait()
    _, stuck = await server.raw()
    stuck.write(framed(b"x"))
    while len(server.frames) < 2:
        await asyncio.sleep(0)
    await server.listener.close()
    stuck.close()
    assert not [record.getMessage() for record in caplog.records if record.levelno > logging.INFO]


@pytest.mark.parametrize("length", [1_000, SENDFILE_FROM_BYTES + 1])
async def test_a_file_that_cannot_be_read_is_told_to_its_disk(
    server: Server, disk: RealDisk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, length: int
) -> None:
    """The client only sees its connection end: nobody else would learn that the disk fails."""
    told: list[tuple[int | None, str | None]] = []
    disk.on_read_error = lambda error: told.append((error.errno, error.filename))
    file = disk.open(f"{tmp_path}/log", create=True)
    file.append(bytes(length))
    server.answer = lambda frame: [FileRange(file, 0, length)]

    def refused(*_: object) -> int:
        raise OSError(errno.EIO, "Input/output error")

    for name in ("pread", "preadv", "sendfile"):
        monkeypatch.setattr(os, name, refused)
    reader, writer = await server.raw()
    writer.write(framed(b"x"))
    assert len(await reader.read()) < 4 + length
    assert told == [(errno.EIO, f"{tmp_path}/log")]
    writer.close()
