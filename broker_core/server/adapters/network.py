"""Real TCP: connections that carry frames, to others and from others."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from broker_core.seams import FrameConnection, FrameHandler, Listener, Peer
from broker_core.server.adapters.client_connection import ClientConnection
from broker_core.server.adapters.eager import in_a_task
from broker_core.server.adapters.framing import MAX_FRAME_BYTES
from broker_core.server.adapters.listener import ConnectionCounts, NetworkLimits, RealListener
from broker_core.server.adapters.memory_budget import MemoryBudget
from broker_core.server.adapters.request_queue import RequestQueue

__all__ = ["ConnectionCounts", "NetworkLimits", "RealNetwork"]


class RealNetwork:
    """All listeners share one memory budget, one request queue and one count of connections (for the metrics, too)."""

    def __init__(self, limits: Callable[[], NetworkLimits] = NetworkLimits, max_frame_bytes: int = MAX_FRAME_BYTES) -> None:
        self._limits = limits
        self._max_frame_bytes = max_frame_bytes
        self.budget = MemoryBudget(lambda: limits().queued_max_request_bytes)
        self.queue = RequestQueue(lambda: limits().queued_max_requests)
        self.counts = ConnectionCounts()

    async def connect(self, host: str, port: int, *, timeout_ms: float) -> FrameConnection:
        loop = asyncio.get_running_loop()
        await in_a_task()
        async with asyncio.timeout(timeout_ms / 1000.0):
            try:
                _, connection = await loop.create_connection(lambda: ClientConnection(self._max_frame_bytes), host, port)
            except ConnectionRefusedError as error:
                raise ConnectionRefusedError(f"cannot connect to {host}:{port}: {error}") from error
            except OSError as error:
                raise ConnectionError(f"cannot connect to {host}:{port}: {error}") from error
        return connection

    async def listen(self, host: str, port: int, accept: Callable[[Peer], FrameHandler]) -> Listener:
        listener = RealListener(accept, self._limits, self.budget, self.queue, self.counts)
        await listener.start(host, port)
        return listener
