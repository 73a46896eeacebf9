"""Our own client's connection when frames are handed on as they come: all of them, then why there are no more."""

from __future__ import annotations

import struct

import pytest

from broker_core.server.adapters import client_connection
from broker_core.server.adapters.client_connection import ClientConnection

LIMIT = 100_000


class Transport:
    """What a connection asks of its transport."""

    def __init__(self) -> None:
        self.reading = True
        self.closed = False

    def pause_reading(self) -> None:
        self.reading = False

    def resume_reading(self) -> None:
        self.reading = True

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def connection() -> ClientConnection:
    made = ClientConnection(LIMIT)
    made._transport = Transport()  # type: ignore[assignment]
    return made


def arrive(connection: ClientConnection, data: bytes) -> None:
    while data:
        with connection.get_buffer(-1) as buffer:
            size = min(len(buffer), len(data))
            buffer[:size] = data[:size]
        connection.buffer_updated(size)
        data = data[size:]


def framed(frame: bytes) -> bytes:
    return struct.pack(">i", len(frame)) + frame


def handed_on(connection: ClientConnection) -> list[bytes | str]:
    seen: list[bytes | str] = []
    connection.hand_on(lambda frame: seen.append(bytes(frame)), seen.append)
    return seen


async def test_frames_that_wait_and_frames_that_come(connection: ClientConnection) -> None:
    arrive(connection, framed(b"one") + framed(b"two") + framed(b"three")[:5])
    seen = handed_on(connection)
    assert seen == [b"one", b"two"]
    arrive(connection, framed(b"three")[5:])
    arrive(connection, framed(bytes(90_000)))
    assert seen == [b"one", b"two", b"three", bytes(90_000)]
    connection.connection_lost(None)
    assert seen[-1] == "the peer closed the connection"
    connection.connection_lost(None)
    connection.close()
    assert len(seen) == 5


async def test_what_came_before_a_broken_frame_is_handed_on_first(connection: ClientConnection) -> None:
    seen = handed_on(connection)
    arrive(connection, framed(b"one") + framed(b"two") + struct.pack(">i", LIMIT + 1))
    assert seen == [b"one", b"two", f"the peer announced a frame of {LIMIT + 1} bytes; the limit is {LIMIT}"]


async def test_a_connection_that_is_lost_already(connection: ClientConnection) -> None:
    arrive(connection, framed(b"one"))
    connection.connection_lost(ConnectionResetError("reset"))
    assert handed_on(connection) == [b"one", "the connection was lost: reset"]


async def test_nothing_is_handed_on_after_the_close(connection: ClientConnection) -> None:
    seen: list[bytes | str] = []

    def take(frame: bytes | memoryview) -> None:
        seen.append(bytes(frame))
        connection.close()

    connection.hand_on(take, seen.append)
    arrive(connection, framed(b"one") + framed(b"two"))
    connection.connection_lost(None)
    assert seen == [b"one"]


async def test_reading_does_not_pause_for_frames_that_are_handed_on(connection: ClientConnection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_connection, "MAX_QUEUED_FRAMES", 3)
    transport = connection._transport
    assert isinstance(transport, Transport)
    arrive(connection, framed(b"x") * 4)
    assert not transport.reading
    seen = handed_on(connection)
    assert transport.reading
    arrive(connection, framed(b"y") * 9)
    assert transport.reading
    assert seen == [b"x"] * 4 + [b"y"] * 9
