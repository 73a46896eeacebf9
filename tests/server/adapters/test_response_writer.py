"""How answers leave where the transport is not plain; `test_listener.py` sends them over real sockets, which are."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any, cast

import pytest

from broker_core.seams import FileRange
from broker_core.server.adapters.disk import RealDisk
from broker_core.server.adapters.framing import SIZE
from broker_core.server.adapters.response_writer import GATHER_BYTES, ResponseWriter


class EncryptingTransport:
    """Takes bytes and has a socket that nobody else may write to."""

    def __init__(self) -> None:
        self.writes: list[bytes] = []

    def get_extra_info(self, name: str) -> Any:
        assert name == "sslcontext", "the socket is the transport's own"
        return object()

    def set_write_buffer_limits(self, high: int) -> None: ...

    def is_closing(self) -> bool:
        return False

    def write(self, data: bytes) -> None:
        self.writes.append(bytes(data))


async def test_no_file_goes_past_a_transport_that_encrypts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A large one is read in pieces of a bounded size, in its place between the other parts."""

    def forbidden(*_: object) -> int:
        raise AssertionError("plain bytes on an encrypted connection")

    monkeypatch.setattr(os, "sendfile", forbidden)
    disk, transport = RealDisk(), EncryptingTransport()
    content = bytes(index % 251 for index in range(2 * GATHER_BYTES + 3_000))
    file = disk.open(f"{tmp_path}/log", create=True)
    file.append(content)
    writer = ResponseWriter(cast(asyncio.Transport, transport))
    await writer.write([b"head", FileRange(file, 1_000, len(content) - 1_000), FileRange(file, 0, 10), b"tail"])
    wanted = b"head" + content[1_000:] + content[:10] + b"tail"
    assert b"".join(transport.writes) == SIZE.pack(len(wanted)) + wanted
    assert max(map(len, transport.writes)) <= GATHER_BYTES
    disk.close()
