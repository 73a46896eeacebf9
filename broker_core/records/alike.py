"""Records of one batch that follow one another in the same layout, checked as columns of bytes: no Python runs per record.

In such a run every structural byte (lengths of the record, of its key and value, the header count of zero) is the same in
all records, and the variable-length deltas of time and offset have the same widths. A column is the byte at one place of
each record: a slice with the record's size as its step.
"""

from __future__ import annotations

from itertools import chain
from typing import NamedTuple

from broker_core.records.varint import unzigzag, varint64

RUN_RECORDS = 1024
_LAST_BYTES = bytes(range(128))
_OTHER_BYTES = bytes(range(128, 256))
_OFFSETS_PER_FIRST_BYTE = 64


class Layout(NamedTuple):
    """Where the parts of a record without headers begin, counted from its own beginning; its last byte is the header count."""

    attributes: int
    offset: int
    key: int
    key_end: int
    value: int
    value_end: int
    size_bytes: int


class Run(NamedTuple):
    """So many records alike; their timestamp deltas lie between the two, in ms."""

    records: int
    least_delta_ms: int
    most_delta_ms: int
    in_order: bool


def run_of(data: bytes | bytearray, position: int, layout: Layout, index: int, count: int) -> Run:
    """How many of the `count` records from `position` on, the first being number `index`, are laid out as the one before them."""
    stride = layout.size_bytes
    count = min(count, (len(data) - position) // stride, RUN_RECORDS)
    same = chain(range(layout.attributes), range(layout.key, layout.key_end), range(layout.value, layout.value_end), (stride - 1,))
    for at in same:
        before = position - stride + at
        count = _leading(_column(data, position + at, stride, count), data[before : before + 1])
    for start, end in ((layout.attributes + 1, layout.offset), (layout.offset, layout.key)):
        for at in range(start, end):
            count = _leading(_column(data, position + at, stride, count), _LAST_BYTES if at == end - 1 else _OTHER_BYTES)
    if not count:
        return Run(0, 0, 0, in_order=True)
    times = [_column(data, position + at, stride, count) for at in range(layout.attributes + 1, layout.offset)]
    deltas = _deltas(times)
    width = layout.key - layout.offset
    in_order = all(
        _column(data, position + layout.offset + place, stride, count) == _offsets_column(index, count, place, width)
        for place in range(width)
    )
    return Run(count, min(deltas), max(deltas), in_order)


def _column(data: bytes | bytearray, position: int, stride: int, count: int) -> bytes | bytearray:
    return data[position : position + count * stride : stride]


def _leading(column: bytes | bytearray, allowed: bytes | bytearray) -> int:
    """How many bytes at the column's beginning are among those allowed."""
    if len(allowed) == 1 and column.count(allowed) == len(column):
        return len(column)
    return len(column) - len(column.lstrip(allowed))


def _deltas(columns: list[bytes | bytearray]) -> list[int]:
    """The different values of zigzag varints whose bytes are these columns."""
    if len(columns) == 1:
        return [unzigzag(raw) for raw in dict.fromkeys(columns[0])]
    if len(columns) == 2:
        return [unzigzag(low & 127 | high << 7) for low, high in dict.fromkeys(zip(*columns, strict=True))]
    return [unzigzag(varint64(bytes(parts), 0)[0]) for parts in dict.fromkeys(zip(*columns, strict=True))]


def _offsets_column(index: int, count: int, place: int, width: int) -> bytes:
    """Byte `place` of the zigzag varints, `width` bytes each, of the offset deltas from `index` on."""
    more = 0 if place == width - 1 else 128
    if place == 0:
        cycle = bytes(range(more, more + 128, 2))
        start = index % _OFFSETS_PER_FIRST_BYTE
        return (cycle * (count // _OFFSETS_PER_FIRST_BYTE + 2))[start : start + count]
    block = _OFFSETS_PER_FIRST_BYTE << 7 * (place - 1)
    end = index + count
    return b"".join(
        bytes((number & 127 | more,)) * (min(end, (number + 1) * block) - max(index, number * block))
        for number in range(index // block, (end - 1) // block + 1)
    )
