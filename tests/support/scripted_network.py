"""A network whose other end the test plays, and a clock that moves when the test says so."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from broker_core.seams import Node


class ManualTimer:
    def __init__(self, due_ms: float, callback: Callable[[], None]) -> None:
        self.due_ms = due_ms
        self.callback = callback
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True


class ManualClock:
    """`expire` ends every wait that is under way with `TimeoutError`, and lets the timers that are set have their time."""

    def __init__(self) -> None:
        self.now = 0.0
        self.timers: list[ManualTimer] = []
        self._waits: list[asyncio.Future[None]] = []

    def call_later(self, delay_ms: float, callback: Callable[[], None]) -> ManualTimer:
        self.timers.append(ManualTimer(self.now + delay_ms, callback))
        return self.timers[-1]

    def monotonic_ms(self) -> float:
        return self.now

    def now_ms(self) -> int:
        return int(self.now)

    async def wait_for(self, awaitable: Awaitable[Any], timeout_ms: float) -> Any:
        task = asyncio.ensure_future(awaitable)
        over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waits.append(over)
        try:
            await asyncio.wait([task, over], return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                return task.result()
            raise TimeoutError
        finally:
            self._waits.remove(over)
            task.cancel()

    def expire(self) -> None:
        for wait in self._waits:
            wait.set_result(None)
        timers, self.timers = self.timers, []
        for timer in timers:
            if not timer.cancelled:
                self.now = max(self.now, timer.due_ms)
                timer.callback()


class ScriptedConnection:
    """What the client sent is in `sent`; the test answers with `give`, or breaks the connection."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []
        self.closed = False
        self._frames: asyncio.Queue[bytes | ConnectionError] = asyncio.Queue()
        self._take: Callable[[bytes], None] | None = None
        self._lost: Callable[[str], None] | None = None

    def send(self, frame: bytes) -> None:
        if self.closed:
            raise ConnectionError("the connection is closed")
        self.sent.append(frame)

    async def receive(self) -> bytes:
        frame = await self._frames.get()
        if isinstance(frame, ConnectionError):
            raise frame
        return frame

    def hand_on(self, take: Callable[[bytes], None], lost: Callable[[str], None]) -> None:
        self._take, self._lost = take, lost

    def give(self, frame: bytes) -> None:
        if self._take is not None:
            self._take(frame)
        else:
            self._frames.put_nowait(frame)

    def break_off(self, reason: str = "the peer closed the connection") -> None:
        self.closed = True
        if self._lost is not None:
            self._lost(reason)
        else:
            self._frames.put_nowait(ConnectionError(reason))

    def close(self) -> None:
        self._take = self._lost = None
        self.break_off("the connection is closed")


class ScriptedNetwork:
    """Accepts every connection once `gate` is set; `refuse` makes connecting fail."""

    def __init__(self) -> None:
        self.connections: list[ScriptedConnection] = []
        self.addresses: list[tuple[str, int]] = []
        self.refuse: Exception | None = None
        self.gate = asyncio.Event()
        self.gate.set()

    async def connect(self, host: str, port: int, *, timeout_ms: float) -> ScriptedConnection:
        self.addresses.append((host, port))
        await self.gate.wait()
        if self.refuse is not None:
            raise self.refuse
        self.connections.append(ScriptedConnection())
        return self.connections[-1]


class ScriptedNode:
    """The parts of a node that a client touches, and the tasks it started."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.network = ScriptedNetwork()
        self.tasks: list[asyncio.Task[Any]] = []

    def spawn(self, coroutine: Coroutine[Any, Any, Any], *, name: str) -> asyncio.Task[Any]:
        task = asyncio.get_running_loop().create_task(coroutine, name=name)
        self.tasks.append(task)
        return task

    def as_node(self) -> Node:
        return Node(clock=self.clock, spawn=self.spawn, entropy=None, disk=None, network=self.network, store=None)  # type: ignore[arg-type]


async def settle() -> None:
    """Lets everything that can run do so."""
    for _ in range(20):
        await asyncio.sleep(0)
