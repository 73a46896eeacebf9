"""Request and response headers, and whole request frames.

Request header: key int16, version int16, correlation id int32, then from v1 the client id (int16 length, -1 for null; never
compact), then from v2 tagged fields. Response header: correlation id int32, then from v1 tagged fields.
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Mapping
from typing import Any, NamedTuple

from broker_core.errors import ProtocolViolation
from broker_core.protocol.api import VENDOR_KEY_MIN, ApiKey, request_header_version, response_header_version
from broker_core.protocol.codec import encode_request
from broker_core.protocol.varint import read_unsigned

MAX_HEADER_TAGS = 1000
HEADER_ENDS_KEPT = 256
"""Of requests of our own: a fetcher's are alike up to the correlation id."""

_FIXED = struct.Struct(">hhi")
_FIXED_AND_LENGTH = struct.Struct(">hhih")
_CORRELATION = struct.Struct(">i")
_API_KEYS = {int(key): key for key in ApiKey}


class RequestHeader(NamedTuple):
    """`api_key` is an `ApiKey`, or a plain int for a vendor key; the body starts at `body_offset` of the frame."""

    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None
    body_offset: int


def parse_request_header(frame: bytes | memoryview) -> RequestHeader:
    """The header of a frame without its size prefix.

    `ProtocolViolation` for unknown keys and bytes that are no header. A version above our highest is no violation: its
    header can still be read, and ApiVersions must answer it.
    """
    try:
        return _parse(frame)
    except (struct.error, IndexError, UnicodeDecodeError) as error:
        raise ProtocolViolation(f"a frame of {len(frame)} bytes has no readable request header: {error}") from None


def _parse(frame: bytes | memoryview) -> RequestHeader:
    number, version, correlation_id = _FIXED.unpack_from(frame)
    key = _API_KEYS.get(number, number)
    if (number not in _API_KEYS and number < VENDOR_KEY_MIN) or version < 0:
        raise ProtocolViolation(f"request key {number} version {version} does not exist")
    header_version = request_header_version(key, version)
    if header_version == 0:
        return RequestHeader(key, version, correlation_id, None, _FIXED.size)
    length = _FIXED_AND_LENGTH.unpack_from(frame)[3]
    position = _FIXED_AND_LENGTH.size
    client_id = None
    if length >= 0:
        client_id = str(frame[position : position + length], "utf-8")
        position += length
    elif length != -1:
        raise ProtocolViolation(f"the client id has length {length}")
    if header_version == 2:
        position = skip_tagged_fields(frame, position) if frame[position] else position + 1
    if position > len(frame):
        raise ProtocolViolation(f"the request header ends at {position}, the frame at {len(frame)}")
    return RequestHeader(key, version, correlation_id, client_id, position)


def skip_tagged_fields(frame: bytes | memoryview, position: int) -> int:
    """The position after a section of tagged fields, whatever they hold."""
    count, position = read_unsigned(frame, position)
    if count > MAX_HEADER_TAGS:
        raise ProtocolViolation(f"a header with {count} tagged fields")
    for _ in range(count):
        _, position = read_unsigned(frame, position)
        length, position = read_unsigned(frame, position)
        position += length
    return position


def response_header(api_key: int, version: int, correlation_id: int) -> bytes:
    header = _CORRELATION.pack(correlation_id)
    return header + b"\0" if response_header_version(api_key, version) == 1 else header


def parse_response_header(api_key: int, version: int, frame: bytes | memoryview) -> tuple[int, int]:
    """(correlation id, offset of the body) of a response frame; `ProtocolViolation` when it has no header."""
    try:
        position = _CORRELATION.size
        if response_header_version(api_key, version) == 1:
            position = skip_tagged_fields(frame, position)
        return _CORRELATION.unpack_from(frame)[0], position
    except (struct.error, IndexError) as error:
        raise ProtocolViolation(f"a frame of {len(frame)} bytes has no readable response header: {error}") from None


def request_header(api_key: int, version: int, correlation_id: int, client_id: str | None) -> bytes:
    return _FIXED.pack(api_key, version, correlation_id) + _after_correlation_id(api_key, version, client_id)


@functools.lru_cache(HEADER_ENDS_KEPT)
def _after_correlation_id(api_key: int, version: int, client_id: str | None) -> bytes:
    header_version = request_header_version(api_key, version)
    if header_version == 0:
        return b""
    name = client_id.encode() if client_id is not None else b""
    length = struct.pack(">h", len(name) if client_id is not None else -1)
    return length + name + (b"\0" if header_version == 2 else b"")


def encode_request_frame(api_key: int, version: int, correlation_id: int, client_id: str | None, payload: Mapping[str, Any]) -> bytes:
    """Header and body of a request, without the size prefix."""
    return request_header(api_key, version, correlation_id, client_id) + encode_request(api_key, version, payload)
