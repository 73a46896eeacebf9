"""A TCP proxy on loopback that a test can cut and heal."""

from __future__ import annotations

import asyncio
import contextlib


class TcpProxy:
    """While cut it accepts and drops connections at once, and those that were open are gone."""

    def __init__(self, target_port: int) -> None:
        self._target_port = target_port
        self._writers: list[asyncio.StreamWriter] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._is_cut = False
        self._server: asyncio.Server | None = None
        self.port = 0

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._is_cut:
            writer.close()
            return
        target_reader, target_writer = await asyncio.open_connection("127.0.0.1", self._target_port)
        self._writers += [writer, target_writer]
        self._tasks += [asyncio.create_task(self._pump(reader, target_writer)), asyncio.create_task(self._pump(target_reader, writer))]

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(65_536):
                writer.write(data)
        writer.close()

    def cut(self) -> None:
        self._is_cut = True
        for writer in self._writers:
            writer.transport.abort()
        self._writers.clear()

    def heal(self) -> None:
        self._is_cut = False

    async def stop(self) -> None:
        self.cut()
        assert self._server is not None
        self._server.close()
        await asyncio.gather(*self._tasks, return_exceptions=True)
