"""Serves `GET /metrics`: HTTP/1.0, one small request per connection, nothing else."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable

REQUEST_BYTES_MAX = 8192
REQUEST_SECONDS_MAX = 5.0
CONNECTIONS_MAX = 16


class MetricsServer:
    """Answers with what `render` returns; a client too many is told 503."""

    def __init__(self, render: Callable[[], str]) -> None:
        self._render = render
        self._open = 0
        self._server: asyncio.Server | None = None

    async def start(self, host: str, port: int) -> int:
        """Listens and returns the port."""
        self._server = await asyncio.start_server(self._serve, host, port, limit=REQUEST_BYTES_MAX)
        return int(self._server.sockets[0].getsockname()[1])

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open += 1
        try:
            async with asyncio.timeout(REQUEST_SECONDS_MAX):
                writer.write(await self._answer(reader))
                await writer.drain()
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            writer.transport.abort()
        finally:
            self._open -= 1
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    async def _answer(self, reader: asyncio.StreamReader) -> bytes:
        if self._open > CONNECTIONS_MAX:
            return _response(503, "too many connections\n")
        head = await reader.readuntil(b"\r\n\r\n")
        method, _, rest = head.split(b"\r\n", 1)[0].partition(b" ")
        path = rest.split(b" ", 1)[0].split(b"?", 1)[0]
        if method not in (b"GET", b"HEAD"):
            return _response(405, "only GET is served\n")
        if path != b"/metrics":
            return _response(404, "see /metrics\n")
        return _response(200, self._render(), body=method == b"GET")


def _response(status: int, text: str, *, body: bool = True) -> bytes:
    reasons = {200: "OK", 404: "Not Found", 405: "Method Not Allowed", 503: "Service Unavailable"}
    data = text.encode()
    head = (
        f"HTTP/1.0 {status} {reasons[status]}\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"
        f"Content-Length: {len(data)}\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + (data if body else b"")
