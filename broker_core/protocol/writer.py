"""Encoders, compiled once per message from its layout.

An encoder appends to a bytearray what a nested mapping says: ints for numbers, error codes and milliseconds, `UUID` or 16
bytes, None for null. What the mapping lacks takes the schema's default; names that the version does not have are passed
over, so one mapping serves all versions of a message. Neighbouring fields of fixed size are written by one `pack`.
"""

from __future__ import annotations

import functools
import struct
import uuid
from collections.abc import Callable
from typing import Any

from msgspec import Struct

from broker_core.protocol.reader_values import FIXED_FORMATS
from broker_core.protocol.schema import EntitySpec, FieldSpec, Side, message_spec, to_millis
from broker_core.protocol.varint import unsigned, write_unsigned

Get = Callable[[str, Any], Any]
WriteField = Callable[[bytearray, Get], None]
Write = Callable[[bytearray, Any], None]

_NO_UUID = bytes(16)


class EncodedItems(Struct, frozen=True):
    """Stands for an array whose elements are encoded already (`items_writer`): thousands need not be encoded in one go."""

    count: int
    data: bytes | bytearray


def _millis(value: Any) -> int:
    return value if type(value) is int else to_millis(value)


def _uuid_bytes(value: Any) -> bytes:
    if value is None:
        return _NO_UUID
    return value.bytes if isinstance(value, uuid.UUID) else bytes(value)


CONVERSIONS: dict[str, Callable[[Any], Any]] = {
    "uuid": _uuid_bytes,
    "timedelta_i32": _millis,
    "timedelta_i64": _millis,
    "datetime_i64": _millis,
}


@functools.cache
def message_writer(api_key: int, version: int, side: Side) -> Write:
    return entity_writer(message_spec(api_key, version, side))


@functools.cache
def items_writer(api_key: int, version: int, side: Side, *path: str) -> Write:
    """Writes some elements of the array at `path`, names from the message's top, without their count."""
    spec = message_spec(api_key, version, side)
    for name in path[:-1]:
        nested = _field_of(spec, name).nested
        assert nested is not None, f"{name} has no fields"
        spec = nested
    return _elements_writer(_field_of(spec, path[-1]), spec.flexible)


def _field_of(spec: EntitySpec, name: str) -> FieldSpec:
    return next(field for field in spec.fields if field.name == name)


def entity_writer(spec: EntitySpec) -> Write:
    steps = _steps(spec)

    def write(out: bytearray, value: Any) -> None:
        get = value.get if type(value) is dict else _getter(value)
        for step in steps:
            step(out, get)

    return write


def _getter(value: Any) -> Get:
    """Field access for other mappings and for decoded messages."""
    if hasattr(value, "get"):
        return value.get  # type: ignore[no-any-return]
    return functools.partial(getattr, value)


def _steps(spec: EntitySpec) -> list[WriteField]:
    steps: list[WriteField] = []
    run: list[FieldSpec] = []
    for field in spec.fields:
        if field.type in FIXED_FORMATS and not field.array:
            run.append(field)
            continue
        if run:
            steps.append(_run_step(run))
            run = []
        steps.append(_field_step(field, spec.flexible))
    if run:
        steps.append(_run_step(run))
    if spec.flexible:
        steps.append(_tagged_step(spec) if spec.tagged else _no_tags)
    return steps


def _run_step(run: list[FieldSpec]) -> WriteField:
    pack = struct.Struct(">" + "".join(FIXED_FORMATS[field.type] for field in run)).pack
    names = [(field.name, field.default) for field in run]
    conversions = [(index, CONVERSIONS[field.type]) for index, field in enumerate(run) if field.type in CONVERSIONS]

    def step(out: bytearray, get: Get) -> None:
        values = [get(name, default) for name, default in names]
        for index, convert in conversions:
            values[index] = convert(values[index])
        out += pack(*values)

    return step


def _field_step(field: FieldSpec, flexible: bool) -> WriteField:
    name, default = field.name, field.default
    write = value_writer(field, flexible)

    def step(out: bytearray, get: Get) -> None:
        write(out, get(name, default))

    return step


def _no_tags(out: bytearray, _get: Get) -> None:
    out.append(0)


def _tagged_step(spec: EntitySpec) -> WriteField:
    """Writes the tagged fields whose value differs from the default; compared as they would be encoded."""
    fields = [(field.name, field.tag, value_writer(field, True)) for field in spec.tagged]
    defaults = {field.name: _encoded(value_writer(field, True), field.default) for field in spec.tagged}

    def step(out: bytearray, get: Get) -> None:
        count, section = 0, bytearray()
        for name, tag, write in fields:
            value = get(name, step)
            if value is step:
                continue
            encoded = _encoded(write, value)
            if encoded is not None and encoded != defaults[name]:
                count += 1
                section += unsigned(tag or 0) + unsigned(len(encoded)) + encoded
        write_unsigned(out, count)
        out += section

    return step


def _encoded(write: Write, value: Any) -> bytes | None:
    out = bytearray()
    if value is None:
        return None
    write(out, value)
    return bytes(out)


def value_writer(field: FieldSpec, flexible: bool) -> Write:
    nullable = field.nullable and field.tag is None
    if field.array:
        return _array_writer(field, flexible)
    if field.nested is not None:
        writer = entity_writer(field.nested)
        return _nullable_entity(writer) if nullable else writer
    if field.type in FIXED_FORMATS:
        return _fixed_writer(field.type)
    return _bytes_writer(field, flexible)


def _nullable_entity(write: Write) -> Write:
    def write_nullable(out: bytearray, value: Any) -> None:
        if value is None:
            out.append(0xFF)
            return
        out.append(1)
        write(out, value)

    return write_nullable


def _fixed_writer(kind: str) -> Write:
    pack = struct.Struct(">" + FIXED_FORMATS[kind]).pack
    convert = CONVERSIONS.get(kind)

    def write(out: bytearray, value: Any) -> None:
        out += pack(value if convert is None else convert(value))

    return write


def _length_writer(flexible: bool, code: str) -> Callable[[int], bytes]:
    """Encodes a length or count; -1 is null."""
    if flexible:
        return lambda length: unsigned(length + 1)
    return struct.Struct(">" + code).pack


def _bytes_writer(field: FieldSpec, flexible: bool) -> Write:
    text = field.type == "string"
    length = _length_writer(flexible, "h" if text else "i")
    null = length(-1)

    def write(out: bytearray, value: Any) -> None:
        if value is None:
            if not field.nullable:
                raise ValueError(f"{field.name} must not be null")
            out += null
            return
        raw = value.encode() if text else value
        out += length(len(raw))
        out += raw

    return write


def _array_writer(field: FieldSpec, flexible: bool) -> Write:
    count = _length_writer(flexible, "i")
    write_items = _elements_writer(field, flexible)

    def write(out: bytearray, items: Any) -> None:
        if items is None:
            if not field.nullable:
                raise ValueError(f"{field.name} must not be null")
            out += count(-1)
            return
        if type(items) is EncodedItems:
            out += count(items.count)
            out += items.data
            return
        out += count(len(items))
        write_items(out, items)

    return write


def _elements_writer(field: FieldSpec, flexible: bool) -> Write:
    if field.type in FIXED_FORMATS and field.type not in CONVERSIONS:
        code = FIXED_FORMATS[field.type]

        def write_numbers(out: bytearray, items: Any) -> None:
            out += struct.pack(f">{len(items)}{code}", *items)

        return write_numbers
    write_one = _element_writer(field, flexible)

    def write_each(out: bytearray, items: Any) -> None:
        for item in items:
            write_one(out, item)

    return write_each


def _element_writer(field: FieldSpec, flexible: bool) -> Write:
    if field.nested is not None:
        return entity_writer(field.nested)
    if field.type in FIXED_FORMATS:
        return _fixed_writer(field.type)
    return _bytes_writer(field, flexible)
