"""Frames between nodes: latency by the seed, cuts that stall and heal, connections that break with their process.

Each direction of a connection is a `Pipe`: it keeps its order, as TCP does, while different connections overtake each
other. A cut pipe holds what arrives at the cut; healing lets it through (TCP retransmits). A killed process's system
closes its connections: the peer first gets what was sent before. A machine without power says nothing, and answers with
a reset once it is up again.
"""

from __future__ import annotations

import asyncio
import errno
import random
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from broker_core.errors import ProtocolViolation
from broker_core.seams import ConnectionThrottled, FileRange, FrameConnection, FrameHandler, Listener, Part, Peer
from broker_core.server.adapters.unanswered import AnswerLine, Unanswered
from tests.simulation.kernel.scheduler import Scheduler

if TYPE_CHECKING:
    from tests.simulation.kernel.life import Life

LATENCY_MS = (0.05, 0.5)
SLOW_LATENCY_MS = (1.0, 20.0)
SLOW_CHANCE = 0.02
FIRST_FREE_PORT = 40_000


class Fabric:
    """The network of the whole world: who listens where, which pairs are cut, and how slow the others are."""

    def __init__(self, scheduler: Scheduler, seed: str) -> None:
        self.scheduler = scheduler
        self.listeners: dict[tuple[str, int], SimListener] = {}
        self.owners: dict[tuple[str, int], Life] = {}
        self._random = random.Random(f"{seed}/network")
        self._cuts: dict[tuple[str, str], None] = {}
        self._delays_ms: dict[tuple[str, str], float] = {}
        self._stalled: list[Pipe] = []
        self._free_port = FIRST_FREE_PORT

    def cut(self, source: str, target: str) -> None:
        self._cuts[source, target] = None

    def heal(self, source: str, target: str) -> None:
        self._cuts.pop((source, target), None)
        stalled, self._stalled = self._stalled, []
        for pipe in stalled:
            pipe.resume()

    def delay(self, source: str, target: str, delay_ms: float) -> None:
        self._delays_ms[source, target] = delay_ms

    def is_cut(self, source: str, target: str) -> bool:
        return (source, target) in self._cuts

    def latency_us(self, source: str, target: str) -> int:
        spread = SLOW_LATENCY_MS if self._random.random() < SLOW_CHANCE else LATENCY_MS
        return round((self._random.uniform(*spread) + self._delays_ms.get((source, target), 0.0)) * 1000)

    def stall(self, pipe: Pipe) -> None:
        self._stalled.append(pipe)

    def free_port(self) -> int:
        self._free_port += 1
        return self._free_port


class Pipe:
    """One direction between two places, in order. Messages are calls made when they arrive."""

    def __init__(self, fabric: Fabric, source: str, target: str) -> None:
        self.source = source
        self.target = target
        self._fabric = fabric
        self._messages: deque[Callable[[], None]] = deque()
        self._last_due_us = 0
        self._stalled = 0

    def put(self, message: Callable[[], None]) -> None:
        self._messages.append(message)
        self._schedule()

    def _schedule(self) -> None:
        scheduler = self._fabric.scheduler
        self._last_due_us = max(self._last_due_us, scheduler.now_us + self._fabric.latency_us(self.source, self.target))
        scheduler.call_at_us(self._last_due_us, self._arrive)

    def _arrive(self) -> None:
        """Whichever timer fires, the oldest message arrives: that keeps the order."""
        if self._fabric.is_cut(self.source, self.target):
            if not self._stalled:
                self._fabric.stall(self)
            self._stalled += 1
        else:
            self._messages.popleft()()

    def resume(self) -> None:
        stalled, self._stalled = self._stalled, 0
        for _ in range(stalled):
            self._schedule()


class End:
    """One end of a connection, in one life of a node. `out` leads to the other end."""

    def __init__(self, life: Life, out: Pipe) -> None:
        self.life = life
        self.out = out
        self.other: End
        self.open = True
        self.frames: deque[bytes] = deque()
        self._waiter: asyncio.Future[None] | None = None
        self._taker: Callable[[bytes], None] | None = None
        self._lost: Callable[[str], None] | None = None
        life.ends[self] = None

    def send(self, frame: bytes) -> None:
        self.life.check()
        if not self.open:
            raise ConnectionError("the connection is closed")
        self.life.note("send", f"-> {self.out.target}", frame)
        other = self.other
        self.out.put(lambda: other.arrive(frame))

    async def receive(self) -> bytes:
        while not self.frames:
            self.life.check()
            if not self.open:
                raise ConnectionError("the connection is closed")
            self._waiter = self.life.loop.create_future()
            await self._waiter
        return self.frames.popleft()

    def hand_on(self, take: Callable[[bytes], None], lost: Callable[[str], None]) -> None:
        self.life.check()
        self._taker, self._lost = take, lost
        self._hand_over()

    def _hand_over(self) -> None:
        while self.frames and self._taker is not None:
            self._taker(self.frames.popleft())
        if not self.open and self._lost is not None:
            lost, self._taker, self._lost = self._lost, None, None
            lost("the connection is closed")

    def close(self) -> None:
        self.life.check()
        self._taker = self._lost = None
        self.shut()

    def shut(self) -> None:
        """Closes this end and tells the other one."""
        if self.open:
            self.lose()
            self.out.put(self.other.reset)

    def lose(self) -> None:
        self.open = False
        self.life.ends.pop(self, None)
        self._wake()

    def arrive(self, frame: bytes) -> None:
        if not self.life.powered:
            return
        if self.life.dead or not self.open:
            self.out.put(self.other.reset)
        else:
            self.life.loop.call_soon(self._take, frame)

    def reset(self) -> None:
        if self.life.powered and not self.life.dead:
            self.life.loop.call_soon(self.lose)

    def _take(self, frame: bytes) -> None:
        if self.open:
            self.frames.append(frame)
            self._wake()

    def _wake(self) -> None:
        if self._taker is not None and not self.life.dead:
            self._hand_over()
        elif self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


async def serve(end: End, accept: Callable[[Peer], FrameHandler], peer: Peer) -> None:
    """The server's side of a connection: one request after the other, and their answers in the same order."""
    try:
        handler = accept(peer)
    except ConnectionThrottled:
        end.shut()
        return
    muted_until_ms = 0.0
    now_ms = end.life.clock.monotonic_ms

    def leave(leaving: Sequence[Unanswered]) -> None:
        for exchange, _ in leaving:
            parts = exchange.answer()
            if parts is not None and end.open and not end.life.dead:
                end.send(joined(parts))
            if exchange.throttled_ms > 0:
                nonlocal muted_until_ms
                muted_until_ms = max(muted_until_ms, now_ms() + exchange.throttled_ms)
            exchange.sent(0.0, 0.0)

    line = AnswerLine(leave)
    try:
        while True:
            frame = memoryview(await end.receive())
            if line.count and (line.full or not handler.may_follow(frame)):
                await line.emptied()
            if muted_until_ms > now_ms():
                await end.life.clock.sleep(muted_until_ms - now_ms())
            exchange = await handler.handle(frame)
            if exchange.waits_for is not None or line.count:
                line.add(Unanswered(exchange, 0.0))
            else:
                leave([Unanswered(exchange, 0.0)])
    except (ConnectionError, ProtocolViolation) as error:
        await line.emptied()
        end.life.note("hung up", type(error).__name__)
    finally:
        line.close()
        if not end.life.dead:
            end.shut()
            handler.closed()


def joined(parts: list[Part]) -> bytes:
    """The response's bytes; a file that has less than promised or fails breaks the connection, as sendfile would."""
    frame = bytearray()
    for part in parts:
        if isinstance(part, FileRange):
            try:
                data = part.file.pread(part.position, part.length)
            except OSError as error:
                raise ConnectionError(f"{part.file.path} cannot be read: {error}") from error
            if len(data) != part.length:
                raise ConnectionError(f"{part.file.path} has {len(data)} of {part.length} bytes at {part.position}")
            frame += data
        else:
            frame += part
    return bytes(frame)


class SimListener:
    def __init__(self, fabric: Fabric, life: Life, host: str, port: int, accept: Callable[[Peer], FrameHandler]) -> None:
        self._fabric = fabric
        self.life = life
        self.host = host
        self.port = port
        self.accept = accept

    async def close(self) -> None:
        self.life.check()
        self._fabric.listeners.pop((self.host, self.port), None)


class SimNetwork:
    """The network as one life of a node sees it."""

    def __init__(self, fabric: Fabric, life: Life) -> None:
        self._fabric = fabric
        self._life = life

    async def listen(self, host: str, port: int, accept: Callable[[Peer], FrameHandler]) -> Listener:
        self._life.check()
        address = (host, port or self._fabric.free_port())
        if address in self._fabric.listeners:
            raise OSError(errno.EADDRINUSE, f"{host}:{port} is taken")
        listener = SimListener(self._fabric, self._life, *address, accept)
        self._fabric.listeners[address] = listener
        self._fabric.owners[address] = self._life
        return listener

    async def connect(self, host: str, port: int, *, timeout_ms: float) -> FrameConnection:
        self._life.check()
        connected: asyncio.Future[End] = self._life.loop.create_future()
        self._dial((host, port), connected)
        return await self._life.clock.wait_for(connected, timeout_ms)

    def _dial(self, address: tuple[str, int], connected: asyncio.Future[End]) -> None:
        owner = self._fabric.owners.get(address)
        target = owner.name if owner is not None else self._life.name
        out = Pipe(self._fabric, self._life.name, target)
        back = Pipe(self._fabric, target, self._life.name)
        self._life.note("connect", f"-> {address[0]}:{address[1]}")
        out.put(lambda: self._arrive(address, out, back, connected))

    def _arrive(self, address: tuple[str, int], out: Pipe, back: Pipe, connected: asyncio.Future[End]) -> None:
        """The call reaches the machine that had the address last; nobody answers where there is no power."""
        owner = self._fabric.owners.get(address)
        if owner is not None and not owner.powered:
            return
        listener = self._fabric.listeners.get(address)
        if listener is None:
            back.put(lambda: self._life.loop.call_soon(_refuse, connected, address))
            return
        end, other = End(self._life, out), End(listener.life, back)
        end.other, other.other = other, end
        peer = Peer(self._life.name, self._fabric.free_port())
        listener.life.loop.call_soon(lambda: listener.life.spawn(serve(other, listener.accept, peer), name=f"connection from {peer.host}"))
        back.put(lambda: self._life.loop.call_soon(_establish, connected, end))


def _refuse(connected: asyncio.Future[End], address: tuple[str, int]) -> None:
    if not connected.done():
        connected.set_exception(ConnectionRefusedError(errno.ECONNREFUSED, f"nobody listens on {address[0]}:{address[1]}"))


def _establish(connected: asyncio.Future[End], end: End) -> None:
    if connected.done():
        end.shut()
    else:
        connected.set_result(end)
