"""Accepts connections on one port, within the limits, and closes the idle ones (spec N1)."""

from __future__ import annotations

import asyncio
import socket
from collections import Counter
from collections.abc import Callable

from msgspec import Struct

from broker_core.seams import ConnectionThrottled, FrameHandler, Peer
from broker_core.server.adapters.memory_budget import UNLIMITED, MemoryBudget
from broker_core.server.adapters.request_queue import RequestQueue
from broker_core.server.adapters.server_connection import SCRATCH_BYTES, ServerConnection
from broker_core.server.adapters.spare_buffers import SpareBuffers

SYSTEM_S_OWN = -1
"""The size of a socket's buffer that the system chooses, and changes as it sees fit."""
HELD_MAX = 1000
"""Connections that were not taken and are not closed yet. Beyond that they are closed at once: they cost open files."""


class NetworkLimits(Struct, frozen=True):
    """Kafka's `socket.request.max.bytes`, `queued.max.request.bytes` (-1: none), `queued.max.requests`, `max.connections`,
    `max.connections.per.ip` with its overrides (`address:count`), `connections.max.idle.ms`, and of listeners `socket.listen.backlog.size`,
    `socket.send.buffer.bytes` and `socket.receive.buffer.bytes`."""

    max_request_bytes: int = 100 * 1024 * 1024
    queued_max_request_bytes: int = UNLIMITED
    queued_max_requests: int = 500
    max_connections: int = 10_000
    max_connections_per_ip: int = 2**31 - 1
    max_idle_ms: float = 600_000.0
    max_connections_per_ip_overrides: tuple[str, ...] = ()
    backlog: int = 512
    send_buffer_bytes: int = SYSTEM_S_OWN
    receive_buffer_bytes: int = SYSTEM_S_OWN

    def max_connections_of(self, host: str) -> int:
        """How many connections an address may have."""
        for override in self.max_connections_per_ip_overrides:
            address, _, count = override.rpartition(":")
            if address == host:
                return int(count)
        return self.max_connections_per_ip


class ConnectionCounts:
    """Open connections of all listeners of a broker, by address, and what was refused or closed for being idle."""

    def __init__(self) -> None:
        self.by_host: Counter[str] = Counter()
        self.refused = 0
        self.closed_idle = 0
        self.broken_frames = 0

    @property
    def open(self) -> int:
        return self.by_host.total()


class RealListener:
    """One port. `limits` is asked at each use, so changed settings apply to the next connection or frame."""

    def __init__(
        self,
        accept: Callable[[Peer], FrameHandler],
        limits: Callable[[], NetworkLimits],
        budget: MemoryBudget,
        queue: RequestQueue,
        counts: ConnectionCounts,
    ) -> None:
        self.port = 0
        self.scratch = memoryview(bytearray(SCRATCH_BYTES))
        self.budget = budget
        self.queue = queue
        self.spares = SpareBuffers()
        self._accept = accept
        self._limits = limits
        self._counts = counts
        self._loop = asyncio.get_running_loop()
        self._server: asyncio.Server | None = None
        self._active_at: dict[ServerConnection, float] = {}
        self._hosts: dict[ServerConnection, str] = {}
        self._idle_timer: asyncio.TimerHandle | None = None
        self._emptied: asyncio.Future[None] | None = None
        self._held: dict[asyncio.Transport, asyncio.TimerHandle] = {}

    async def start(self, host: str, port: int) -> None:
        """`OSError` naming the address when it is taken."""
        limits = self._limits()
        self._server = await self._loop.create_server(
            lambda: ServerConnection(self), host, port, backlog=limits.backlog, family=socket.AF_UNSPEC, start_serving=False
        )
        for listening in self._server.sockets:
            _set_buffer(listening, socket.SO_RCVBUF, limits.receive_buffer_bytes)
        await self._server.start_serving()
        self.port = self._server.sockets[0].getsockname()[1]

    async def close(self) -> None:
        """Stops accepting and ends all connections."""
        if self._server is not None:
            self._server.close()
        if self._idle_timer is not None:
            self._idle_timer.cancel()
        for transport in list(self._held):
            self._let_go(transport)
        if self._hosts:
            self._emptied = self._loop.create_future()
            for connection in list(self._hosts):
                connection.abort()
            await self._emptied

    # For the connections.

    def max_request_bytes(self) -> int:
        return self._limits().max_request_bytes

    def broken(self) -> None:
        self._counts.broken_frames += 1

    def opened(self, connection: ServerConnection, transport: asyncio.Transport) -> FrameHandler | None:
        """The connection's handler, or None where it is not taken; then it is closed, at once or after the time that it is held."""
        host, port = transport.get_extra_info("peername")[:2]
        limits = self._limits()
        if self._counts.open >= limits.max_connections or self._counts.by_host[host] >= limits.max_connections_of(host):
            self._counts.refused += 1
            transport.abort()
            return None
        try:
            handler = self._accept(Peer(host, port))
        except ConnectionThrottled as throttled:
            self._hold(transport, throttled.rest_ms)
            return None
        _set_buffer(transport.get_extra_info("socket"), socket.SO_SNDBUF, limits.send_buffer_bytes)
        self._counts.by_host[host] += 1
        self._hosts[connection] = host
        self.active(connection)
        self._watch_idle()
        return handler

    def _hold(self, transport: asyncio.Transport, rest_ms: float) -> None:
        self._counts.refused += 1
        if len(self._held) >= HELD_MAX:
            transport.abort()
            return
        transport.pause_reading()
        self._held[transport] = self._loop.call_later(rest_ms / 1000.0, self._let_go, transport)

    def _let_go(self, transport: asyncio.Transport) -> None:
        self._held.pop(transport).cancel()
        transport.abort()

    def active(self, connection: ServerConnection) -> None:
        """Moves the connection to the end of the line of those that may be idle."""
        self._active_at.pop(connection, None)
        if connection in self._hosts:
            self._active_at[connection] = self._loop.time()

    def gone(self, connection: ServerConnection) -> None:
        self._active_at.pop(connection, None)
        host = self._hosts.pop(connection)
        self._counts.by_host[host] -= 1
        if not self._counts.by_host[host]:
            del self._counts.by_host[host]
        if not self._hosts and self._emptied is not None:
            self._emptied.set_result(None)

    def _watch_idle(self) -> None:
        """One timer, for the connection that has been quiet the longest."""
        if self._idle_timer is None and self._active_at and self._limits().max_idle_ms >= 0:
            oldest = next(iter(self._active_at.values()))
            self._idle_timer = self._loop.call_at(oldest + self._limits().max_idle_ms / 1000.0, self._close_idle)

    def _close_idle(self) -> None:
        self._idle_timer = None
        limit_s = self._limits().max_idle_ms / 1000.0
        while self._active_at:
            connection, active_at = next(iter(self._active_at.items()))
            if active_at + limit_s > self._loop.time():
                break
            if connection.busy:
                self.active(connection)
            else:
                self._counts.closed_idle += 1
                self._active_at.pop(connection)
                connection.abort()
        self._watch_idle()


def _set_buffer(of: socket.socket, option: int, size_bytes: int) -> None:
    """Connections take the receiving buffer over from the socket that listens: their window is announced before they are accepted."""
    if size_bytes != SYSTEM_S_OWN:
        of.setsockopt(socket.SOL_SOCKET, option, size_bytes)
