"""The client's side of a connection: frames out, frames in."""

from __future__ import annotations

import asyncio
from collections import deque

from broker_core.server.adapters.framing import SIZE

MAX_QUEUED_FRAMES = 1024
MAX_UNSENT_BYTES = 64 * 1024 * 1024


class ClientConnection(asyncio.Protocol):
    """Cuts what arrives into frames; reading pauses while `MAX_QUEUED_FRAMES` wait to be received.

    A peer that does not read is given up once `MAX_UNSENT_BYTES` wait to be sent to it.
    """

    def __init__(self, max_frame_bytes: int) -> None:
        self._max_frame_bytes = max_frame_bytes
        self._buffer = bytearray()
        self._frames: deque[bytes] = deque()
        self._waiter: asyncio.Future[None] | None = None
        self._error: str | None = None
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while self._error is None and self._cut_frame():
            pass
        if len(self._frames) >= MAX_QUEUED_FRAMES and self._transport is not None:
            self._transport.pause_reading()
        self._wake()

    def _cut_frame(self) -> bool:
        if len(self._buffer) < SIZE.size:
            return False
        (size,) = SIZE.unpack_from(self._buffer)
        if not 0 <= size <= self._max_frame_bytes:
            self._fail(f"the peer announced a frame of {size} bytes; the limit is {self._max_frame_bytes}")
            return False
        end = SIZE.size + size
        if len(self._buffer) < end:
            return False
        with memoryview(self._buffer) as view:
            self._frames.append(bytes(view[SIZE.size : end]))
        del self._buffer[:end]
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        self._fail(f"the connection was lost: {exc}" if exc else "the peer closed the connection")

    def _fail(self, reason: str) -> None:
        self._error = self._error or reason
        if self._transport is not None:
            self._transport.close()
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def send(self, frame: bytes) -> None:
        if self._error is not None or self._transport is None:
            raise ConnectionError(self._error or "not connected")
        if self._transport.get_write_buffer_size() > MAX_UNSENT_BYTES:
            self._fail(f"the peer does not read: {MAX_UNSENT_BYTES} bytes are unsent")
            self._transport.abort()
            raise ConnectionError(self._error)
        self._transport.writelines([SIZE.pack(len(frame)), frame])

    async def receive(self) -> bytes:
        while not self._frames:
            if self._error is not None:
                raise ConnectionError(self._error)
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter
        frame = self._frames.popleft()
        if len(self._frames) < MAX_QUEUED_FRAMES // 2 and self._transport is not None:
            self._transport.resume_reading()
        return frame

    def close(self) -> None:
        self._fail("the connection is closed")
