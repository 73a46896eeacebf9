"""What the reading process asks of the decoding one, and its answers: MessagePack with its length before it, on a socket between them."""

from __future__ import annotations

import socket
import struct
import time
from typing import TypeVar

import msgspec
from msgspec import Struct

FRAME_BYTES_MAX = 32 * 1024 * 1024
_LENGTH = struct.Struct(">I")
T = TypeVar("T")


class Ask(Struct, frozen=True, kw_only=True):
    """Makes the schema `id` ready where a `text` is given, with the texts that it refers to by their names, those before which others
    need; decodes `body`, where there is one, by it."""

    id: int
    type: str
    text: str | None = None
    references: tuple[tuple[str, str], ...] = ()
    body: bytes | None = None


class Answer(Struct, frozen=True, kw_only=True):
    """`text` is JSON; `message` the name of Protobuf's message. With `encoded` some bytes are not shown as they were written. `error`
    says why there is none."""

    text: bytes = b""
    message: str = ""
    encoded: bool = False
    error: str = ""


class TooLarge(Exception):
    """More than a frame may have."""


def send(way: socket.socket, frame: Ask | Answer) -> None:
    raw = msgspec.msgpack.encode(frame)
    if len(raw) > FRAME_BYTES_MAX:
        raise TooLarge
    way.sendall(_LENGTH.pack(len(raw)) + raw)


def receive(way: socket.socket, kind: type[T], within_s: float | None = None) -> T | None:
    """The next frame; None at the end of the other side. Raises `TimeoutError`, and `TooLarge`."""
    end_s = None if within_s is None else time.monotonic() + within_s
    head = _bytes(way, _LENGTH.size, end_s)
    if head is None:
        return None
    (size,) = _LENGTH.unpack(head)
    if size > FRAME_BYTES_MAX:
        raise TooLarge
    raw = _bytes(way, size, end_s)
    return None if raw is None else msgspec.msgpack.decode(raw, type=kind)


def _bytes(way: socket.socket, count: int, end_s: float | None) -> bytes | None:
    found = bytearray()
    while len(found) < count:
        if end_s is not None:
            way.settimeout(max(end_s - time.monotonic(), 0.001))
        some = way.recv(min(count - len(found), 1 << 20))
        if not some:
            return None
        found += some
    return bytes(found)
