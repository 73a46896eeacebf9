"""Writes the parts of an answer to a socket: small ones gathered into one buffer, large file ranges by sendfile.

A file range up to `SENDFILE_FROM_BYTES` is read (preadv) into the buffer that is written with everything around it; a
larger one goes from the page cache to the socket by `os.sendfile` while the socket takes it, the rest by the loop's; or in pieces
through memory where the transport is not plain, since what it is given is not what its socket sends.
Whole small answers can be put together first and written at once: a system call a turn instead of one an answer.
The size header is written first, so a file that has less than was promised can only end the connection.
Memory per connection: a buffer of less than `GATHER_BYTES` and one more file range, or the answer's own bytes, and what the
transport holds below its high-water mark; a peer that does not read holds up only its own task.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence

from broker_core.seams import FileRange, Part
from broker_core.server.adapters.disk import RealFile
from broker_core.server.adapters.framing import SIZE

SENDFILE_FROM_BYTES = 256 * 1024
"""On an idle machine larger slices that are read and written stall on the socket: 320 MB/s against 1,200 by sendfile, though reading
costs a bare server less processor time (`python -m tests.bench fetch`)."""
GATHER_BYTES = 1024 * 1024
HIGH_WATER_BYTES = 1024 * 1024
TOGETHER_BYTES = 64 * 1024
"""So much of small answers waits at most for the others of its turn."""


class ResponseWriter:
    """`pause` and `resume` come from the transport's flow control."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._loop = asyncio.get_running_loop()
        self._drained: asyncio.Future[None] | None = None
        self._is_plain = transport.get_extra_info("sslcontext") is None
        self._together: list[Part] = []
        self._together_bytes = 0
        transport.set_write_buffer_limits(high=HIGH_WATER_BYTES)

    def pause(self) -> None:
        self._drained = self._loop.create_future()

    def resume(self) -> None:
        if self._drained is not None and not self._drained.done():
            self._drained.set_result(None)
        self._drained = None

    def put(self, parts: Sequence[Part]) -> bool:
        """Adds an answer to what `flush` sends. False where it has to be written by itself: it is of files, or much."""
        total = 0
        for part in parts:
            if isinstance(part, FileRange):
                return False
            total += len(part)
        if self._together_bytes + total > TOGETHER_BYTES:
            return False
        self._add(parts, total)
        return True

    def put_all(self, parts: Sequence[Part]) -> None:
        """The same with an answer of any size, none of it in files."""
        self._add(parts, sum(map(len, parts)))  # type: ignore[arg-type]

    def _add(self, parts: Sequence[Part], total: int) -> None:
        self._together.append(SIZE.pack(total))
        self._together += parts
        self._together_bytes += SIZE.size + total

    def flush(self) -> None:
        """Hands over what was put together, however much the transport still holds."""
        if self._together:
            self._transport.write(b"".join(self._taken()))  # type: ignore[arg-type]

    def _taken(self) -> list[Part]:
        together, self._together, self._together_bytes = self._together, [], 0
        return together

    async def write(self, parts: Sequence[Part]) -> None:
        """What was put together, and these. `ConnectionError` when a file has less than promised; `OSError` when it cannot be read or
        the peer is gone."""
        total = sum(part.length if isinstance(part, FileRange) else len(part) for part in parts)
        gathered_bytes = self._together_bytes + SIZE.size
        gathered = [*self._taken(), SIZE.pack(total)]
        for part in parts:
            if isinstance(part, FileRange) and part.length > SENDFILE_FROM_BYTES:
                await self._write_gathered(gathered)
                await (self._send_file(part) if self._is_plain else self._copy_file(part))
                gathered, gathered_bytes = [], 0
                continue
            gathered.append(part)
            gathered_bytes += part.length if isinstance(part, FileRange) else len(part)
            if gathered_bytes >= GATHER_BYTES:
                await self._write_gathered(gathered)
                gathered, gathered_bytes = [], 0
        await self._write_gathered(gathered)

    async def _write_gathered(self, parts: Sequence[Part]) -> None:
        if not parts:
            return
        if any(isinstance(part, FileRange) for part in parts):
            self._transport.write(_filled(parts))
        else:
            self._transport.write(b"".join(parts))  # type: ignore[arg-type]
        await self.drained()

    async def drained(self) -> None:
        """Once the transport wants more; `ConnectionError` where it will not."""
        if self._drained is not None:
            await self._drained
        if self._transport.is_closing():
            raise ConnectionError("the connection is closed")

    async def _copy_file(self, part: FileRange) -> None:
        for start in range(0, part.length, GATHER_BYTES):
            await self._write_gathered([FileRange(part.file, part.position + start, min(GATHER_BYTES, part.length - start))])

    async def _send_file(self, part: FileRange) -> None:
        file = part.file
        assert isinstance(file, RealFile)
        sent = self._send_inline(file, part.position, part.length)
        if sent < part.length:
            await self.drained()
            sent += await self._send_rest(file, part.position + sent, part.length - sent)
        if sent != part.length:
            raise _short(part, sent)

    async def _send_rest(self, file: RealFile, position: int, count: int) -> int:
        """By the loop, which says no more of a first call that failed than that it did: the peer is gone, as a rule."""
        try:
            return await self._loop.sendfile(self._transport, file, position, count, fallback=False)  # type: ignore[arg-type]
        except asyncio.SendfileNotAvailableError as error:
            file.pread(position, 1)  # a file that cannot be read says so itself
            raise ConnectionError(f"{count} bytes of a file were not sent, the peer may be gone: {error}") from None

    def _send_inline(self, file: RealFile, position: int, count: int) -> int:
        """As much as the socket takes at once; nothing while the transport still has bytes that go first."""
        if self._transport.get_write_buffer_size() or self._transport.is_closing():
            return 0
        try:
            return os.sendfile(self._transport.get_extra_info("socket").fileno(), file.fileno(), position, count)
        except BlockingIOError:
            return 0
        except OSError:
            file.pread(position, 1)
            raise


def _filled(parts: Sequence[Part]) -> bytearray:
    """All parts in one buffer, each file range read into its place."""
    buffer = bytearray(sum(part.length if isinstance(part, FileRange) else len(part) for part in parts))
    position = 0
    with memoryview(buffer) as view:
        for part in parts:
            if isinstance(part, FileRange):
                position += _read_into(part, view[position : position + part.length])
            else:
                view[position : position + len(part)] = part
                position += len(part)
    return buffer


def _read_into(part: FileRange, place: memoryview) -> int:
    assert isinstance(part.file, RealFile)
    count = part.file.preadv(part.position, place)
    if count != part.length:
        raise _short(part, count)
    return count


def _short(part: FileRange, count: int) -> ConnectionError:
    return ConnectionError(f"{part.file.path} has {count} of {part.length} promised bytes at {part.position}")
