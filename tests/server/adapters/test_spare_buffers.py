"""Frame buffers that are used again."""

from __future__ import annotations

import asyncio
import struct

import pytest

from broker_core.server.adapters.listener import NetworkLimits
from broker_core.server.adapters.network import RealNetwork
from broker_core.server.adapters.spare_buffers import SPARE_BYTES_MAX, SPARES_MAX, SpareBuffers
from tests.support.exchanges import Answered, answered

pytestmark = pytest.mark.spec("N1")


def test_a_buffer_that_somebody_looks_into_is_not_kept() -> None:
    spares, buffer = SpareBuffers(), bytearray(100)
    view = memoryview(buffer)[10:20]
    spares.give_back(buffer)
    assert spares.take() == b""
    view.release()
    spares.give_back(buffer)
    assert spares.take() is buffer


def test_what_is_kept_is_bounded() -> None:
    spares = SpareBuffers()
    spares.give_back(bytearray(SPARE_BYTES_MAX + 1))
    assert spares.take() == b""
    for _ in range(SPARES_MAX + 1):
        spares.give_back(bytearray(1))
    assert [len(spares.take()) for _ in range(SPARES_MAX + 1)] == [1] * SPARES_MAX + [0]


class Keeping:
    """Answers with what it was sent; keeps a view of the frames that ask for it."""

    def __init__(self) -> None:
        self.kept: list[memoryview] = []

    async def handle(self, frame: memoryview) -> Answered:
        if frame[:4] == b"keep":
            self.kept.append(frame)
        return answered([bytes(frame)])

    def may_follow(self, frame: memoryview) -> bool:
        return False

    def closed(self) -> None: ...


async def test_frames_of_falling_and_rising_length_come_whole_and_kept_ones_stay() -> None:
    handler, network = Keeping(), RealNetwork(NetworkLimits)
    listener = await network.listen("127.0.0.1", 0, lambda peer: handler)
    reader, writer = await asyncio.open_connection("127.0.0.1", listener.port)
    for size, what in [(900_000, b"a"), (1_100_000, b"b"), (70_000, b"c"), (500_000, b"keep"), (2_000_000, b"d"), (500_000, b"e")]:
        frame = what + bytes([size % 251]) * size
        writer.write(struct.pack(">i", len(frame)) + frame)
        assert await reader.readexactly(4 + len(frame)) == struct.pack(">i", len(frame)) + frame
    assert handler.kept[0] == b"keep" + bytes([500_000 % 251]) * 500_000
    writer.close()
    await writer.wait_closed()
    await listener.close()


async def test_our_client_keeps_what_is_looked_into_and_uses_the_rest_again() -> None:
    """Answers of every size around those of the buffers, some of them sent in one piece with the next."""
    network = RealNetwork(NetworkLimits)
    listener = await network.listen("127.0.0.1", 0, lambda peer: Keeping())
    connection = await network.connect("127.0.0.1", listener.port, timeout_ms=60_000)
    sizes = [900_000, 5, 1_100_000, 32_764, 32_765, 40_000, 2_000_000, 1, 500_000]
    for size in sizes:
        connection.send(bytes([size % 251]) * size)
    kept = [await connection.receive() for _ in sizes]
    assert [bytes(frame) for frame in kept] == [bytes([size % 251]) * size for size in sizes]
    kept.clear()
    for size in sizes:
        connection.send(bytes([size % 241]) * size)
        assert await connection.receive() == bytes([size % 241]) * size
    connection.close()
    await listener.close()


async def test_a_buffer_comes_back_when_its_frame_was_handled_at_once() -> None:
    """Not even the transport, which read into it, looks into it then."""
    network = RealNetwork(NetworkLimits)
    listener = await network.listen("127.0.0.1", 0, lambda peer: Keeping())
    reader, writer = await asyncio.open_connection("127.0.0.1", listener.port)
    for _ in range(2):
        writer.write(struct.pack(">i", 500_000) + bytes(500_000))
        await reader.readexactly(500_004)
    (spare,) = listener.spares._spares  # type: ignore[attr-defined]
    assert len(spare) == 500_000
    writer.close()
    await writer.wait_closed()
    await listener.close()
