"""The client's side of a connection: frames out, frames in."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

from broker_core.server.adapters.framing import SIZE
from broker_core.server.adapters.spare_buffers import SpareBuffers

SCRATCH_BYTES = 32 * 1024
MAX_QUEUED_FRAMES = 1024
MAX_UNSENT_BYTES = 64 * 1024 * 1024


class ClientConnection(asyncio.BufferedProtocol):
    """Cuts what arrives into frames; reading pauses while `MAX_QUEUED_FRAMES` wait to be received, unless they are handed on.

    Small frames are cut out of a scratch buffer. One that does not fit in a read gets a buffer of its own, the one before
    if nobody looks into that any more, which grows as bytes arrive. A peer that does not read is given up once
    `MAX_UNSENT_BYTES` wait to be sent to it.
    """

    def __init__(self, max_frame_bytes: int) -> None:
        self._max_frame_bytes = max_frame_bytes
        self._scratch = memoryview(bytearray(SCRATCH_BYTES))
        self._in_scratch = 0
        self._frame: bytearray | None = None
        self._frame_bytes = 0
        self._filled = 0
        self._room = 0
        self._last: bytearray | None = None
        self._spares = SpareBuffers()
        self._frames: deque[bytes | memoryview] = deque()
        self._waiter: asyncio.Future[None] | None = None
        self._take: Callable[[bytes | memoryview], None] | None = None
        self._lost: Callable[[str], None] | None = None
        self._error: str | None = None
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def get_buffer(self, sizehint: int) -> memoryview:
        if self._frame is None:
            return self._scratch[self._in_scratch :]
        if len(self._frame) < self._room:
            self._frame.extend(bytes(self._room - len(self._frame)))
        return memoryview(self._frame)[self._filled : self._room]

    def buffer_updated(self, nbytes: int) -> None:
        if self._frame is None:
            self._in_scratch += nbytes
            self._cut_frames()
        else:
            self._filled += nbytes
            self._go_on(self._frame)
        if self._frames:
            self._wake()
        if len(self._frames) >= MAX_QUEUED_FRAMES and self._transport is not None:
            self._transport.pause_reading()

    def _cut_frames(self) -> None:
        """Takes the whole frames out of the scratch buffer; what stays there is less than a size."""
        position = 0
        while self._error is None and self._in_scratch - position >= SIZE.size:
            (size,) = SIZE.unpack_from(self._scratch, position)
            if not 0 <= size <= self._max_frame_bytes:
                self._fail(f"the peer announced a frame of {size} bytes; the limit is {self._max_frame_bytes}")
                return
            begin, end = position + SIZE.size, position + SIZE.size + size
            position = min(end, self._in_scratch)
            if end <= self._in_scratch:
                self._frames.append(bytes(self._scratch[begin:end]))
            else:
                self._begin_frame(size, self._scratch[begin:position])
        rest = bytes(self._scratch[position : self._in_scratch])
        self._scratch[: len(rest)] = rest
        self._in_scratch = len(rest)

    def _begin_frame(self, size: int, begun: memoryview) -> None:
        if self._last is not None:
            self._spares.give_back(self._last)
            self._last = None
        self._frame = self._spares.take()
        self._frame[: len(begun)] = begun
        self._frame_bytes = size
        self._filled = self._room = len(begun)
        self._go_on(self._frame)

    def _go_on(self, frame: bytearray) -> None:
        """Hands the frame on when it is complete; otherwise sees that there may be more of it."""
        if self._filled == self._frame_bytes:
            self._frames.append(memoryview(frame)[: self._frame_bytes])
            self._last, self._frame = frame, None
        elif self._filled == self._room:
            self._room += min(self._frame_bytes - self._room, max(SCRATCH_BYTES, self._room))

    def connection_lost(self, exc: Exception | None) -> None:
        self._fail(f"the connection was lost: {exc}" if exc else "the peer closed the connection")

    def _fail(self, reason: str) -> None:
        self._error = self._error or reason
        if self._transport is not None:
            self._transport.close()
        self._wake()

    def _wake(self) -> None:
        if self._take is not None:
            self._hand_over()
        elif self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _hand_over(self) -> None:
        while self._frames and self._take is not None:
            self._take(self._frames.popleft())
        if self._error is not None and self._lost is not None:
            lost, self._take, self._lost = self._lost, None, None
            lost(self._error)

    def send(self, frame: bytes) -> None:
        if self._error is not None or self._transport is None:
            raise ConnectionError(self._error or "not connected")
        if self._transport.get_write_buffer_size() > MAX_UNSENT_BYTES:
            self._fail(f"the peer does not read: {MAX_UNSENT_BYTES} bytes are unsent")
            self._transport.abort()
            raise ConnectionError(self._error)
        self._transport.writelines([SIZE.pack(len(frame)), frame])

    async def receive(self) -> bytes | memoryview:
        while not self._frames:
            if self._error is not None:
                raise ConnectionError(self._error)
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter
        frame = self._frames.popleft()
        if len(self._frames) < MAX_QUEUED_FRAMES // 2 and self._transport is not None:
            self._transport.resume_reading()
        return frame

    def hand_on(self, take: Callable[[bytes | memoryview], None], lost: Callable[[str], None]) -> None:
        self._take, self._lost = take, lost
        self._hand_over()
        if self._error is None and self._transport is not None:
            self._transport.resume_reading()

    def close(self) -> None:
        self._take = self._lost = None
        self._fail("the connection is closed")
