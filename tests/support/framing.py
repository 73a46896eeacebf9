"""Frames as they stand on a socket: a size, then so many bytes."""

from __future__ import annotations

import asyncio

from broker_core.server.adapters.framing import SIZE


def framed(*frames: bytes) -> bytes:
    return b"".join(SIZE.pack(len(frame)) + frame for frame in frames)


async def read_frame(reader: asyncio.StreamReader) -> bytes:
    (size,) = SIZE.unpack(await reader.readexactly(SIZE.size))
    return await reader.readexactly(size)


async def read_frames(reader: asyncio.StreamReader, count: int) -> list[bytes]:
    return [await read_frame(reader) for _ in range(count)]
