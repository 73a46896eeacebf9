"""The metrics port: one page, everything else refused."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from broker_core.server import metrics_http
from broker_core.server.metrics_http import MetricsServer


@pytest_asyncio.fixture
async def port() -> AsyncIterator[int]:
    server = MetricsServer(lambda: "x 1\n")
    yield await server.start("127.0.0.1", 0)
    await server.stop()


async def get(port: int, request: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    answer = await asyncio.wait_for(reader.read(), 60)
    writer.close()
    await writer.wait_closed()
    return answer


async def test_the_page(port: int) -> None:
    answer = await get(port, b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
    assert answer.startswith(b"HTTP/1.0 200 OK\r\n")
    assert answer.endswith(b"\r\n\r\nx 1\n")
    assert b"Content-Length: 4\r\n" in answer
    assert (await get(port, b"HEAD /metrics?a=b HTTP/1.0\r\n\r\n")).endswith(b"\r\n\r\n")


async def test_everything_else_is_refused(port: int) -> None:
    assert b" 404 " in await get(port, b"GET / HTTP/1.0\r\n\r\n")
    assert b" 405 " in await get(port, b"POST /metrics HTTP/1.0\r\n\r\n")
    assert await get(port, b"x" * 20_000 + b"\r\n\r\n") == b""


async def test_who_does_not_read_in_time_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its connection would stay open for as long as it likes, and no longer count for the limit."""
    monkeypatch.setattr(metrics_http, "REQUEST_SECONDS_MAX", 0.5)
    size = 30_000_000
    server = MetricsServer(lambda: "x" * size)
    reader, writer = await asyncio.open_connection("127.0.0.1", await server.start("127.0.0.1", 0), limit=1000)
    writer.write(b"GET /metrics HTTP/1.0\r\n\r\n")
    assert (await reader.readexactly(8)) == b"HTTP/1.0"
    while server._open:
        await asyncio.sleep(0)
    received = 0
    with contextlib.suppress(ConnectionError):
        while data := await reader.read(1_000_000):
            received += len(data)
    assert received < size
    writer.close()
    await server.stop()
