"""Bodies of requests and responses: bytes to named tuples, nested mappings to bytes, for every key and version of 3.9.

Field names are kio's: snake case, times without their `_ms` suffix (`throttle_time`, `max_wait`), and times are ints in
milliseconds. A nullable field that a mapping lacks is null. `records` fields are views of the frame; other bytes are copies.
Produce requests of v3 and later and Fetch requests of v12 and later are read by hand where they have nothing rare in them.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from typing import Any

from broker_core.errors import ProtocolViolation
from broker_core.protocol.api import ApiKey
from broker_core.protocol.hot_fetch_request import read_fetch_request
from broker_core.protocol.hot_produce_request import read_produce_request
from broker_core.protocol.reader import MAX_CLIENT_ELEMENTS, message_reader
from broker_core.protocol.schema import Side, to_millis
from broker_core.protocol.writer import message_writer

millis = to_millis

_UNREADABLE = (struct.error, IndexError, UnicodeDecodeError)
_BY_HAND: dict[int, Callable[[int, memoryview, int, int], Any]] = {
    ApiKey.PRODUCE: read_produce_request,
    ApiKey.FETCH: read_fetch_request,
}


def decode_request(api_key: int, version: int, frame: bytes | memoryview, offset: int, *, beside_the_loop: bool = False) -> Any:
    """The body that starts at `offset`. Bytes after it are ignored as Kafka does: librdkafka 2 sends three after Metadata v12.

    `beside_the_loop`: in the one thread there is for that (`Node.aside`).
    """
    by_hand = _BY_HAND.get(api_key)
    if by_hand is not None and (read := by_hand(version, memoryview(frame), offset, MAX_CLIENT_ELEMENTS)) is not None:
        return read
    return _decode(api_key, version, Side.REQUEST, frame, offset, beside_the_loop=beside_the_loop)


def decode_response(api_key: int, version: int, frame: bytes | memoryview, offset: int) -> Any:
    return _decode(api_key, version, Side.RESPONSE, frame, offset)


def _decode(api_key: int, version: int, side: Side, frame: bytes | memoryview, offset: int, *, beside_the_loop: bool = False) -> Any:
    read = message_reader(api_key, version, side, beside_the_loop=beside_the_loop)
    try:
        entity, end = read(memoryview(frame), offset)
    except _UNREADABLE as error:
        raise ProtocolViolation(f"unreadable {side.value} of key {api_key} version {version}: {error}") from None
    if end != len(frame) and side is Side.RESPONSE:
        raise ProtocolViolation(f"{len(frame) - end} bytes after a {side.value} of key {api_key} version {version}")
    return entity


def encode_request(api_key: int, version: int, payload: Mapping[str, Any]) -> bytes:
    return _encode(api_key, version, Side.REQUEST, payload)


def encode_response(api_key: int, version: int, payload: Mapping[str, Any]) -> bytes:
    """The body alone; the header is `headers.response_header`."""
    return _encode(api_key, version, Side.RESPONSE, payload)


def _encode(api_key: int, version: int, side: Side, payload: Mapping[str, Any]) -> bytes:
    out = bytearray()
    message_writer(api_key, version, side)(out, payload)
    return bytes(out)


def field(entity: Any, name: str, default: Any) -> Any:
    """A field that not every version of the message has."""
    return getattr(entity, name, default)
