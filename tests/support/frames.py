"""Raw frames to a TCP port, right or wrong: what bad-input tests speak, with a list of what usually breaks servers."""

from __future__ import annotations

import asyncio
import random
import struct
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from broker_core.protocol.api import ApiKey
from broker_core.protocol.codec import decode_response
from broker_core.protocol.headers import encode_request_frame, parse_response_header, request_header

HUGE_INT32 = struct.pack(">i", 2**31 - 1)


def with_size(frame: bytes) -> bytes:
    return struct.pack(">i", len(frame)) + frame


class RawConnection:
    """One TCP connection to a broker, with nothing checked on the way out."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._correlation_id = 0

    async def send_bytes(self, data: bytes) -> None:
        """Exactly these bytes; a peer that is already gone is no failure."""
        try:
            self._writer.write(data)
            await self._writer.drain()
        except ConnectionError:
            return

    async def send_frame(self, frame: bytes) -> None:
        await self.send_bytes(with_size(frame))

    async def read_frame(self) -> bytes:
        """The next frame without its size; `IncompleteReadError` or `ConnectionError` when the peer closes instead."""
        (size,) = struct.unpack(">i", await self._reader.readexactly(4))
        return await self._reader.readexactly(size)

    async def request(self, api_key: ApiKey, version: int, payload: Mapping[str, Any], client_id: str = "raw") -> Any:
        """A well-formed request and its decoded response."""
        self._correlation_id += 1
        await self.send_frame(encode_request_frame(api_key, version, self._correlation_id, client_id, payload))
        frame = await self.read_frame()
        correlation_id, offset = parse_response_header(api_key, version, frame)
        assert correlation_id == self._correlation_id
        return decode_response(api_key, version, frame, offset)

    async def closed_without_an_answer(self) -> bool:
        """Waits until the peer closes; False when bytes came first."""
        try:
            return await self._reader.read(1) == b""
        except ConnectionError:
            return True

    async def closed_or_answered(self) -> bytes:
        """Everything the peer sends until it closes."""
        try:
            return await self._reader.read()
        except ConnectionError:
            return b""

    async def half_close(self) -> None:
        self._writer.write_eof()
        await self._writer.drain()

    async def close(self) -> None:
        self._writer.close()
        try:
            await self._writer.wait_closed()
        except ConnectionError:
            return


@asynccontextmanager
async def raw_connection(port: int, host: str = "127.0.0.1") -> AsyncIterator[RawConnection]:
    connection = RawConnection(*await asyncio.open_connection(host, port))
    try:
        yield connection
    finally:
        await connection.close()


def bad_streams() -> dict[str, bytes]:
    """Byte streams, sizes included, after which a broker must close the connection and nothing else."""
    metadata_header = request_header(ApiKey.METADATA, 0, 1, "raw")
    fetch_header = request_header(ApiKey.FETCH, 12, 1, "raw")
    return {
        "negative size": struct.pack(">i", -1),
        "size beyond every limit": HUGE_INT32,
        "HTTP": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "TLS hello": bytes.fromhex("16030100c8010000c403030000000000"),
        "empty frame": with_size(b""),
        "header cut short": with_size(bytes(5)),
        "unknown key": with_size(struct.pack(">hhih", 999, 0, 1, -1)),
        "negative key": with_size(struct.pack(">hhih", -3, 0, 1, -1)),
        "negative version": with_size(struct.pack(">hhih", 3, -1, 1, -1)),
        "version too high": with_size(request_header(ApiKey.METADATA, 99, 1, "raw") + b"\0"),
        "client id beyond the frame": with_size(struct.pack(">hhih", 3, 0, 1, 30_000) + b"abc"),
        "client id that is no text": with_size(struct.pack(">hhih", 3, 0, 1, 2) + b"\xff\xfe"),
        "count beyond the frame": with_size(metadata_header + HUGE_INT32),
        "negative count": with_size(metadata_header + struct.pack(">i", -9)),
        "compact count beyond the frame": with_size(fetch_header + bytes(25) + b"\xff\xff\xff\xff\x0f"),
        "nothing but 0xff": with_size(b"\xff" * 64),
    }


def bad_records() -> dict[str, bytes]:
    """Record data that Produce must refuse by an error code, with the connection left open."""
    rng = random.Random(17)
    return {
        "one byte": b"\0",
        "random": rng.randbytes(200),
        "header without records": struct.pack(">qiibI", 0, 49, -1, 2, 0) + bytes(40),
        "length beyond the data": struct.pack(">qiibI", 0, 1 << 30, -1, 2, 0) + bytes(60),
        "negative length": struct.pack(">qiibI", 0, -1, -1, 2, 0) + bytes(60),
        "magic 9": struct.pack(">qiibI", 0, 60, -1, 9, 0) + bytes(60),
    }
