"""Decoders, compiled once per message from its layout.

A decoder takes a memoryview and a position and gives (value, next position). Structs become named tuples; neighbouring
fields of fixed size are read by one `unpack_from`. A count is believed only as far as the bytes left could hold that
many elements, and a message has a budget of elements, so a small frame never takes much memory and a large one no long
time. Unknown tagged fields are skipped.
"""

from __future__ import annotations

import functools
import struct
from collections import namedtuple
from collections.abc import Callable
from typing import Any

from broker_core.errors import ProtocolViolation
from broker_core.protocol.api import CONTROL_KEYS
from broker_core.protocol.reader_values import (
    CONVERSIONS,
    FIXED_FORMATS,
    INT32,
    Read,
    bytes_reader,
    fixed_reader,
    length_reader,
    smallest_element_bytes,
)
from broker_core.protocol.schema import EntitySpec, FieldSpec, Side, message_spec
from broker_core.protocol.varint import read_unsigned

Step = Callable[[list[Any], memoryview, int], int]

MAX_ELEMENTS = 1 << 20
"""Structs, strings, numbers and tagged fields in the lists of one message. Numbers, too: each may name a partition."""

MAX_CLIENT_ELEMENTS = 1 << 17
"""The same in a client's request. To answer for a million partitions takes 20 s on a busy machine, and a broker whose loop stands still
for 10 s gives itself up."""


class _Budget:
    """What is left of `limit` elements in the message being read; a reader reads one message at a time."""

    __slots__ = ("left", "limit")

    def __init__(self, limit: int) -> None:
        self.limit = self.left = limit

    def spend(self, count: int) -> None:
        self.left -= count
        if self.left < 0:
            raise ProtocolViolation(f"more than {self.limit} elements in one message")


@functools.cache
def message_reader(api_key: int, version: int, side: Side, *, beside_the_loop: bool = False) -> Read:
    """There is a second reader for the thread beside the loop."""
    budget = _Budget(MAX_CLIENT_ELEMENTS if side is Side.REQUEST and api_key not in CONTROL_KEYS else MAX_ELEMENTS)
    read_entity = _entity_reader(message_spec(api_key, version, side), budget)

    def read(buffer: memoryview, position: int) -> tuple[Any, int]:
        budget.left = budget.limit
        return read_entity(buffer, position)

    return read


def _entity_reader(spec: EntitySpec, budget: _Budget) -> Read:
    make = _struct_maker(spec)
    steps = _steps(spec, budget)
    tags = _tagged_reader(spec, budget) if spec.flexible else None

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


def _steps(spec: EntitySpec, budget: _Budget) -> list[Step]:
    steps: list[Step] = []
    run: list[FieldSpec] = []
    for field in spec.fields:
        if field.type in FIXED_FORMATS and not field.array:
            run.append(field)
            continue
        if run:
            steps.append(_run_step(run))
            run = []
        steps.append(_appending(_field_reader(field, spec.flexible, budget)))
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


def _tagged_reader(spec: EntitySpec, budget: _Budget) -> Step:
    places = {field.tag: index for index, field in enumerate(spec.tagged)}
    readers = [_field_reader(field, True, budget) for field in spec.tagged]
    defaults = [default_value(field) for field in spec.tagged]

    def step(values: list[Any], buffer: memoryview, position: int) -> int:
        count, position = read_unsigned(buffer, position)
        if not count:
            values += defaults
            return position
        budget.spend(count)
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


def _field_reader(field: FieldSpec, flexible: bool, budget: _Budget) -> Read:
    nullable = field.nullable and field.tag is None
    if field.array:
        return _array_reader(field, flexible, nullable, budget)
    if field.nested is not None:
        reader = _entity_reader(field.nested, budget)
        return _nullable_entity(reader) if nullable else reader
    if field.type in FIXED_FORMATS:
        return fixed_reader(field.type)
    return bytes_reader(field.type, flexible, field.nullable)


def _nullable_entity(read: Read) -> Read:
    def read_nullable(buffer: memoryview, position: int) -> tuple[Any, int]:
        marker = buffer[position]
        return (None, position + 1) if marker > 0x7F else read(buffer, position + 1)

    return read_nullable


def _array_reader(field: FieldSpec, flexible: bool, nullable: bool, budget: _Budget) -> Read:
    count_of = length_reader(flexible, INT32)
    smallest = smallest_element_bytes(field, flexible)
    items = _elements_reader(field, flexible, budget)

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


def _elements_reader(field: FieldSpec, flexible: bool, budget: _Budget) -> Callable[[memoryview, int, int], tuple[tuple[Any, ...], int]]:
    if field.type in FIXED_FORMATS and field.type not in CONVERSIONS:
        code, size = FIXED_FORMATS[field.type], struct.calcsize(">" + FIXED_FORMATS[field.type])

        def read_numbers(buffer: memoryview, position: int, count: int) -> tuple[tuple[Any, ...], int]:
            budget.spend(count)
            return struct.unpack_from(f">{count}{code}", buffer, position), position + count * size

        return read_numbers
    read_one = _element_reader(field, flexible, budget)

    def read_each(buffer: memoryview, position: int, count: int) -> tuple[tuple[Any, ...], int]:
        budget.spend(count)
        items = []
        for _ in range(count):
            item, position = read_one(buffer, position)
            items.append(item)
        return tuple(items), position

    return read_each


def _element_reader(field: FieldSpec, flexible: bool, budget: _Budget) -> Read:
    if field.nested is not None:
        return _entity_reader(field.nested, budget)
    if field.type in FIXED_FORMATS:
        return fixed_reader(field.type)
    return bytes_reader(field.type, flexible, nullable=False)
