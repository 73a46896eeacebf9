"""Whether the records of a batch are what its header says: counted, whole, and nothing after the last.

A leader walks over every record that a client brings, as Kafka's does: one that cannot be read would stop every consumer at
its batch. Keys, values and headers are stepped over. What is plainly whole takes no Python per record (`swift.py`). The rest
is read here, some at a time, and judged: broken records, large ones, and all where there is no LuaJIT; there runs of records
in the same layout are still compared as columns (`alike.py`).
"""

from __future__ import annotations

from msgspec import Struct

from broker_core.errors import CorruptData
from broker_core.records.alike import Layout, run_of
from broker_core.records.budget import LEAST_RECORD_BYTES, check_headers
from broker_core.records.steps import RECORDS_PER_STEP, Steps
from broker_core.records.swift import take
from broker_core.records.varint import unzigzag, varint32, varint64

LARGE_RECORD_BYTES = 32 << 10
"""Of a batch's records on average: to read one here is less than to hand over a copy."""
HEADER_BYTES_PER_STEP = 16 << 10
"""Of records with headers that are walked one by one."""
ALIKE_BEFORE_RUN = 4
LEAST_RUN_RECORDS = 24
RECORDS_AFTER_SHORT_RUN = 256


class Walked(Struct):
    """What was found: timestamp deltas are to the batch's base, in ms; `in_order`: offset deltas are 0, 1, 2, …"""

    least_delta_ms: int = (1 << 63) - 1
    most_delta_ms: int = -(1 << 63)
    keyless: bool = False
    in_order: bool = True


def check_count(data: bytes | bytearray, count: int) -> None:
    """`CorruptData` for a number of records that cannot be in so many bytes, or for none."""
    if not 0 < count * LEAST_RECORD_BYTES <= len(data):
        raise CorruptData(f"{count} records cannot be in {len(data)} bytes")


def walking(data: bytes | bytearray, count: int) -> Steps[Walked]:
    """Walks over `count` records, at least one, which must fill `data`; `CorruptData` when they do not."""
    check_count(data, count)
    walk = _Walk(data, count)
    while True:
        walk.some()
        if walk.index == count:
            break
        yield
    if walk.position != len(data):
        raise CorruptData(f"{len(data) - walk.position} bytes after the last record")
    return walk.found


class _Walk:
    """A walk under way: the next record is number `index`, at `position`."""

    __slots__ = ("_alike", "_count", "_data", "_size", "_swift_at", "_try_at", "found", "index", "position")

    def __init__(self, data: bytes | bytearray, count: int) -> None:
        self._data = data
        self._count = count
        self._size = -1
        self._alike = 0
        """How many records before this one have had the size of the one before them."""
        self._try_at = 0 if count > LEAST_RUN_RECORDS else count
        """From which record on a run is looked for again: one that is not found has cost something."""
        self._swift_at = 0 if len(data) <= count * LARGE_RECORD_BYTES else count
        """From which record on those are taken that are plainly whole: after one that is not, some are read here."""
        self.index = 0
        self.position = 0
        self.found = Walked()

    def some(self) -> None:
        """A piece of records plainly whole, or one run of records alike, or `RECORDS_PER_STEP` one by one."""
        if self.index >= self._swift_at:
            if self._take():
                return
            self._swift_at = self.index + RECORDS_PER_STEP
        try:
            layout = self._one_by_one(min(self._count, self.index + RECORDS_PER_STEP))
        except IndexError:
            raise CorruptData(f"a record from {self.index} on goes beyond the {len(self._data)} bytes there are") from None
        if layout is not None:
            self._run(layout)

    def _take(self) -> bool:
        taken, size_bytes, least_ms, most_ms, keyless, in_order = take(self._data, self.position, self.index, self._count - self.index)
        if taken:
            found = self.found
            found.least_delta_ms = min(found.least_delta_ms, least_ms)
            found.most_delta_ms = max(found.most_delta_ms, most_ms)
            found.keyless = found.keyless or keyless
            found.in_order = found.in_order and in_order
            self.index += taken
            self.position += size_bytes
        return taken > 0

    def _one_by_one(self, stop: int) -> Layout | None:  # noqa: PLR0912, PLR0915 - see below
        """Up to `stop`, or until some records had the same size: the layout of the last is returned.

        Written out for integers of one and two bytes: this runs per record, where records are not alike.
        """
        data, found, position, last_size, alike = self._data, self.found, self.position, self._size, self._alike
        keyless, in_order = found.keyless, found.in_order
        deltas: dict[int, None] = {}
        for index in range(self.index, stop):
            first = position
            size, start = data[first], first + 1
            if size > 127:
                if data[start] < 128:
                    size, start = size + (data[start] - 1 << 7), first + 2
                else:
                    size, start = varint32(data, first)
            raw, offset_at = data[start + 1], start + 2
            if raw > 127:
                if data[offset_at] < 128:
                    raw, offset_at = raw + (data[offset_at] - 1 << 7), start + 3
                else:
                    raw, offset_at = varint64(data, start + 1)
            deltas[raw] = None
            raw, key_at = data[offset_at], offset_at + 1
            if raw > 127:
                if data[key_at] < 128:
                    raw, key_at = raw + (data[key_at] - 1 << 7), offset_at + 2
                else:
                    raw, key_at = varint32(data, offset_at)
            if raw != index + index:
                in_order = False
            raw, value_at = data[key_at], key_at + 1
            if raw > 127:
                raw, value_at = varint32(data, key_at)
            key_end = value_at
            if raw & 1:
                keyless = True
            else:
                value_at += raw >> 1
            raw, value_end = data[value_at], value_at + 1
            if raw > 127:
                if data[value_end] < 128:
                    raw, value_end = raw + (data[value_end] - 1 << 7), value_at + 2
                else:
                    raw, value_end = varint32(data, value_at)
            position = value_end if raw & 1 else value_end + (raw >> 1)
            headers = data[position]
            position = _after_headers(data, position) if headers else position + 1
            if size & 1 or position != start + (size >> 1):
                raise CorruptData(f"record {index} ends at {position}, by its length at {start + unzigzag(size)}")
            alike = alike + 1 if size == last_size and not headers else 0
            last_size = size
            if headers and position - self.position > HEADER_BYTES_PER_STEP:
                break
            if alike >= ALIKE_BEFORE_RUN and index >= self._try_at:
                break
        deltas_ms = [unzigzag(raw) for raw in deltas]
        self.found = Walked(min(found.least_delta_ms, *deltas_ms), max(found.most_delta_ms, *deltas_ms), keyless, in_order)
        self.index, self.position, self._size, self._alike = index + 1, position, last_size, alike
        if alike < ALIKE_BEFORE_RUN or index < self._try_at or self._count - self.index < LEAST_RUN_RECORDS:
            return None
        parts = (start, offset_at, key_at, key_end, value_at, value_end, position)
        return Layout(*(part - first for part in parts))

    def _run(self, layout: Layout) -> None:
        run = run_of(self._data, self.position, layout, self.index, self._count - self.index)
        if run.records:
            found = self.found
            found.least_delta_ms = min(found.least_delta_ms, run.least_delta_ms)
            found.most_delta_ms = max(found.most_delta_ms, run.most_delta_ms)
            found.in_order = found.in_order and run.in_order
            self.index += run.records
            self.position += run.records * layout.size_bytes
        if run.records < LEAST_RUN_RECORDS:
            self._try_at = self.index + RECORDS_AFTER_SHORT_RUN


def _after_headers(data: bytes | bytearray, position: int) -> int:
    """Where the headers whose count is at `position` end."""
    raw, position = varint32(data, position)
    count = unzigzag(raw)
    if not 0 <= count <= len(data) - position:
        raise CorruptData(f"{count} record headers at {position}")
    check_headers(count)
    for _ in range(count):
        raw, position = varint32(data, position)
        if raw & 1:
            raise CorruptData(f"a record header before {position} has no name")
        raw, position = varint32(data, position + (raw >> 1))
        if not raw & 1:
            position += raw >> 1
    return position
