"""Decoders of single values, and how small values can be."""

from __future__ import annotations

import functools
import struct
import uuid
from collections.abc import Callable
from typing import Any

from broker_core.errors import ErrorCode, ProtocolViolation
from broker_core.protocol.schema import FieldSpec
from broker_core.protocol.varint import read_unsigned

Read = Callable[[memoryview, int], tuple[Any, int]]
"""Takes a frame and a position, gives the value and the next position."""

FIXED_FORMATS = {
    "int8": "b",
    "int16": "h",
    "int32": "i",
    "int64": "q",
    "uint8": "B",
    "uint16": "H",
    "uint32": "I",
    "uint64": "Q",
    "float64": "d",
    "bool": "?",
    "error_code": "h",
    "timedelta_i32": "i",
    "timedelta_i64": "q",
    "datetime_i64": "q",
    "uuid": "16s",
}
MAX_STRING_BYTES = 32_767
"""Of a text in any version; what is said to be bytes may be longer."""
UUIDS_KEPT = 1024
"""The same few topics are named again and again, and making a UUID takes a microsecond and a half."""

_NO_UUID = bytes(16)
_ERROR_CODES = {int(code): code for code in ErrorCode}
_INT16 = struct.Struct(">h")
INT32 = struct.Struct(">i")


@functools.lru_cache(UUIDS_KEPT)
def to_uuid(raw: bytes) -> uuid.UUID | None:
    return None if raw == _NO_UUID else uuid.UUID(bytes=raw)


def to_error_code(number: int) -> ErrorCode:
    return _ERROR_CODES.get(number, ErrorCode.UNKNOWN_SERVER_ERROR)


CONVERSIONS: dict[str, Callable[[Any], Any]] = {"uuid": to_uuid, "error_code": to_error_code}


def fixed_reader(kind: str) -> Read:
    layout = struct.Struct(">" + FIXED_FORMATS[kind])
    convert = CONVERSIONS.get(kind)

    def read(buffer: memoryview, position: int) -> tuple[Any, int]:
        (value,) = layout.unpack_from(buffer, position)
        return (value if convert is None else convert(value)), position + layout.size

    return read


def bytes_reader(kind: str, flexible: bool, nullable: bool) -> Read:
    length_of = length_reader(flexible, _INT16 if kind == "string" else INT32)
    converters: dict[str, Callable[[memoryview], Any]] = {"string": _text, "bytes": bytes, "records": memoryview}
    convert = converters[kind]
    is_text = kind == "string"

    def read(buffer: memoryview, position: int) -> tuple[Any, int]:
        length, position = length_of(buffer, position)
        if length < 0:
            if not nullable:
                raise ProtocolViolation(f"null where a value of type {kind} is required")
            return None, position
        if is_text and length > MAX_STRING_BYTES:
            raise ProtocolViolation(f"a text of {length} bytes, {MAX_STRING_BYTES} is the most")
        end = position + length
        if end > len(buffer):
            raise ProtocolViolation(f"a value of type {kind} ends at {end}, the frame at {len(buffer)}")
        return convert(buffer[position:end]), end

    return read


def _text(raw: memoryview) -> str:
    return str(raw, "utf-8")


def length_reader(flexible: bool, layout: struct.Struct) -> Callable[[memoryview, int], tuple[int, int]]:
    """Reads a length or count: -1 for null, never less."""
    if flexible:
        return _compact_length
    unpack_from, size = layout.unpack_from, layout.size

    def legacy_length(buffer: memoryview, position: int) -> tuple[int, int]:
        (length,) = unpack_from(buffer, position)
        if length < -1:
            raise ProtocolViolation(f"the length {length} is negative")
        return length, position + size

    return legacy_length


def _compact_length(buffer: memoryview, position: int) -> tuple[int, int]:
    byte = buffer[position]
    if byte < 0x80:
        return byte - 1, position + 1
    value, position = read_unsigned(buffer, position)
    return value - 1, position


def smallest_element_bytes(field: FieldSpec, flexible: bool) -> int:
    """The least number of bytes that one element of an array field takes; at least 1."""
    if field.nested is None:
        return _smallest_value(field.type, flexible)
    spec = field.nested
    total = sum(_smallest_field(each, spec.flexible) for each in spec.fields)
    return max(1, total + spec.flexible)


def _smallest_field(field: FieldSpec, flexible: bool) -> int:
    if field.array:
        return 1 if flexible else INT32.size
    if field.nested is not None:
        return 1 if field.nullable else smallest_element_bytes(field, flexible)
    return _smallest_value(field.type, flexible)


def _smallest_value(kind: str, flexible: bool) -> int:
    if kind in FIXED_FORMATS:
        return struct.calcsize(">" + FIXED_FORMATS[kind])
    if flexible:
        return 1
    return _INT16.size if kind == "string" else INT32.size
