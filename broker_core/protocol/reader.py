"""Decoders, compiled once per message from its layout.

A decoder takes a memoryview and a position and gives (value, next position). Structs become named tuples; neighbouring
fields of fixed size are read by one `unpack_from`. A count is believed only as far as the bytes left could hold that
many elements, so a small frame never takes much memory. Unknown tagged fields are skipped.
"""

from __future__ import annotations

import functools
import struct
import uuid
from collections import namedtuple
from collections.abc import Callable
from typing import Any

from broker_core.errors import ErrorCode, ProtocolViolation
from broker_core.protocol.schema import EntitySpec, FieldSpec, Side, message_spec
from broker_core.protocol.varint import read_unsigned

Read = Callable[[memoryview, int], tuple[Any, int]]
Step = Callable[[list[Any], memoryview, int], int]

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
_NO_UUID = bytes(16)
_ERROR_CODES = {int(code): code for code in ErrorCode}
_INT16 = struct.Struct(">h")
_INT32 = struct.Struct(">i")


def _to_uuid(raw: bytes) -> uuid.UUID | None:
    return None if raw == _NO_UUID else uuid.UUID(bytes=raw)


def _to_error_code(number: int) -> ErrorCode:
    return _ERROR_CODES.get(number, ErrorCode.UNKNOWN_SERVER_ERROR)


CONVERSIONS: dict[str, Callable[[Any], Any]] = {"uuid": _to_uuid, "error_code": _to_error_code}


@functools.cache
def message_reader(api_key: int, version: int, side: Side) -> Read:
    return entity_reader(message_spec(api_key, version, side))


def entity_reader(spec: EntitySpec) -> Read:
    make = _struct_maker(spec)
    steps = _steps(spec)
    tags = _tagged_reader(spec) if spec.flexible else None

    def read(buffer: memoryview, position: int) -> tuple[Any, int]:
        values: list[Any] = []
        for step in steps:
            position = step(values, buffer, position)
        if tags is not None:
            position = tags(values, buffer, position)
        return make(values), position

    return read


def _struct_maker(spec: EntitySpec) -> Callable[[list[Any]], Any]:
    """Makes the struct from its values in the order fields, then tagged fields."""
    struct_type: Any = namedtuple(spec.name, [field.name for field in spec.fields + spec.tagged])  # type: ignore[misc]
    return struct_type._make


def _steps(spec: EntitySpec) -> list[Step]:
    steps: list[Step] = []
    run: list[FieldSpec] = []
    for field in spec.fields:
        if field.type in FIXED_FORMATS and not field.array:
            run.append(field)
            continue
        if run:
            steps.append(_run_step(run))
            run = []
        steps.append(_appending(field_reader(field, spec.flexible)))
    if run:
        steps.append(_run_step(run))
    return steps


def _run_step(run: list[FieldSpec]) -> Step:
    layout = struct.Struct(">" + "".join(FIXED_FORMATS[field.type] for field in run))
    conversions = [(index - len(run), CONVERSIONS[field.type]) for index, field in enumerate(run) if field.type in CONVERSIONS]
    unpack_from, size = layout.unpack_from, layout.size

    def step(values: list[Any], buffer: memoryview, position: int) -> int:
        values += unpack_from(buffer, position)
        for index, convert in conversions:
            values[index] = convert(values[index])
        return position + size

    return step


def _appending(read: Read) -> Step:
    def step(values: list[Any], buffer: memoryview, position: int) -> int:
        value, position = read(buffer, position)
        values.append(value)
        return position

    return step


def _tagged_reader(spec: EntitySpec) -> Step:
    places = {field.tag: index for index, field in enumerate(spec.tagged)}
    readers = [field_reader(field, True) for field in spec.tagged]
    defaults = [default_value(field) for field in spec.tagged]

    def step(values: list[Any], buffer: memoryview, position: int) -> int:
        count, position = read_unsigned(buffer, position)
        if not count:
            values += defaults
            return position
        found = defaults[:]
        for _ in range(count):
            tag, position = read_unsigned(buffer, position)
            length, position = read_unsigned(buffer, position)
            end = position + length
            if end > len(buffer):
                raise ProtocolViolation(f"tagged field {tag} ends at {end}, the frame at {len(buffer)}")
            if tag in places:
                found[places[tag]], position = readers[places[tag]](buffer, position)
                if position != end:
                    raise ProtocolViolation(f"tagged field {tag} is not {length} bytes long")
            position = end
        values += found
        return position

    return step


def default_value(field: FieldSpec) -> Any:
    """What a reader gives for a tagged field that is absent."""
    if field.nested is None or field.array or field.default is None:
        return field.default
    spec = field.nested
    return _struct_maker(spec)([default_value(each) for each in spec.fields + spec.tagged])


def field_reader(field: FieldSpec, flexible: bool) -> Read:
    nullable = field.nullable and field.tag is None
    if field.array:
        return _array_reader(field, flexible, nullable)
    if field.nested is not None:
        reader = entity_reader(field.nested)
        return _nullable_entity(reader) if nullable else reader
    if field.type in FIXED_FORMATS:
        return _fixed_reader(field.type)
    return _bytes_reader(field.type, flexible, field.nullable)


def _nullable_entity(read: Read) -> Read:
    def read_nullable(buffer: memoryview, position: int) -> tuple[Any, int]:
        marker = buffer[position]
        return (None, position + 1) if marker > 0x7F else read(buffer, position + 1)

    return read_nullable


def _fixed_reader(kind: str) -> Read:
    layout = struct.Struct(">" + FIXED_FORMATS[kind])
    convert = CONVERSIONS.get(kind)

    def read(buffer: memoryview, position: int) -> tuple[Any, int]:
        (value,) = layout.unpack_from(buffer, position)
        return (value if convert is None else convert(value)), position + layout.size

    return read


def _bytes_reader(kind: str, flexible: bool, nullable: bool) -> Read:
    length_of = _length_reader(flexible, _INT16 if kind == "string" else _INT32)
    converters: dict[str, Callable[[memoryview], Any]] = {"string": _text, "bytes": bytes, "records": memoryview}
    convert = converters[kind]

    def read(buffer: memoryview, position: int) -> tuple[Any, int]:
        length, position = length_of(buffer, position)
        if length < 0:
            if not nullable:
                raise ProtocolViolation(f"null where a value of type {kind} is required")
            return None, position
        end = position + length
        if end > len(buffer):
            raise ProtocolViolation(f"a value of type {kind} ends at {end}, the frame at {len(buffer)}")
        return convert(buffer[position:end]), end

    return read


def _text(raw: memoryview) -> str:
    return str(raw, "utf-8")


def _length_reader(flexible: bool, layout: struct.Struct) -> Callable[[memoryview, int], tuple[int, int]]:
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


def _array_reader(field: FieldSpec, flexible: bool, nullable: bool) -> Read:
    count_of = _length_reader(flexible, _INT32)
    smallest = smallest_element_bytes(field, flexible)
    items = _elements_reader(field, flexible)

    def read(buffer: memoryview, position: int) -> tuple[Any, int]:
        count, position = count_of(buffer, position)
        if count < 0:
            if not nullable:
                raise ProtocolViolation(f"null where the list {field.name} is required")
            return None, position
        if count * smallest > len(buffer) - position:
            raise ProtocolViolation(f"{count} elements of {field.name} cannot be in the {len(buffer) - position} bytes left")
        return items(buffer, position, count)

    return read


def _elements_reader(field: FieldSpec, flexible: bool) -> Callable[[memoryview, int, int], tuple[tuple[Any, ...], int]]:
    if field.type in FIXED_FORMATS and field.type not in CONVERSIONS:
        code, size = FIXED_FORMATS[field.type], struct.calcsize(">" + FIXED_FORMATS[field.type])

        def read_numbers(buffer: memoryview, position: int, count: int) -> tuple[tuple[Any, ...], int]:
            return struct.unpack_from(f">{count}{code}", buffer, position), position + count * size

        return read_numbers
    read_one = element_reader(field, flexible)

    def read_each(buffer: memoryview, position: int, count: int) -> tuple[tuple[Any, ...], int]:
        items = []
        for _ in range(count):
            item, position = read_one(buffer, position)
            items.append(item)
        return tuple(items), position

    return read_each


def element_reader(field: FieldSpec, flexible: bool) -> Read:
    if field.nested is not None:
        return entity_reader(field.nested)
    if field.type in FIXED_FORMATS:
        return _fixed_reader(field.type)
    return _bytes_reader(field.type, flexible, nullable=False)


def smallest_element_bytes(field: FieldSpec, flexible: bool) -> int:
    """The least number of bytes that one element of an array field takes; at least 1."""
    if field.nested is None:
        return _smallest_value(field.type, flexible)
    spec = field.nested
    total = sum(_smallest_field(each, spec.flexible) for each in spec.fields)
    return max(1, total + spec.flexible)


def _smallest_field(field: FieldSpec, flexible: bool) -> int:
    if field.array:
        return 1 if flexible else _INT32.size
    if field.nested is not None:
        return 1 if field.nullable else smallest_element_bytes(field, flexible)
    return _smallest_value(field.type, flexible)


def _smallest_value(kind: str, flexible: bool) -> int:
    if kind in FIXED_FORMATS:
        return struct.calcsize(">" + FIXED_FORMATS[kind])
    if flexible:
        return 1
    return _INT16.size if kind == "string" else _INT32.size
