"""Single records of magic 2, inside a batch.

length varint, attributes int8, timestamp delta varlong, offset delta varint, key length varint (-1: null), key, value
length varint, value, header count varint, then for each header: key length, key, value length (-1: null), value. All
varints are zigzag. Only conversion, compaction, timestamp search and the coordinators' topics look this deep.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from broker_core.errors import CorruptData
from broker_core.records.budget import check_headers
from broker_core.records.steps import BYTES_PER_STEP, RECORDS_PER_STEP

Buffer = bytes | bytearray | memoryview

_LEAST_INT64 = -(1 << 63)
_LONGEST_VARINT_BYTES = 10


class Record(NamedTuple):
    """A record with its offset and time resolved."""

    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()


def write_zigzag(out: bytearray, value: int) -> None:
    value = value << 1 if value >= 0 else (~value << 1) | 1
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)


def read_zigzag(data: bytes, position: int) -> tuple[int, int]:
    """(value, next position) of a zigzag varint of at most ten bytes; `IndexError` past the end."""
    byte = data[position]
    position += 1
    value = byte & 0x7F
    shift = 7
    while byte > 0x7F:
        if shift > 63:
            raise CorruptData(f"a variable-length integer before {position} has more than ten bytes")
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        shift += 7
    return (value >> 1) ^ -(value & 1), position


def encode_record(record: Record, base_offset: int, base_timestamp_ms: int) -> bytes:
    body = bytearray(1)
    write_zigzag(body, record.timestamp_ms - base_timestamp_ms)
    write_zigzag(body, record.offset - base_offset)
    _write_bytes(body, record.key)
    _write_bytes(body, record.value)
    write_zigzag(body, len(record.headers))
    for name, value in record.headers:
        _write_bytes(body, name.encode())
        _write_bytes(body, value)
    length = bytearray()
    write_zigzag(length, len(body))
    return bytes(length + body)


def _write_bytes(out: bytearray, value: bytes | None) -> None:
    if value is None:
        out.append(1)
        return
    write_zigzag(out, len(value))
    out += value


def decode_records(data: Buffer, count: int, base_offset: int, base_timestamp_ms: int) -> list[Record]:
    """Exactly `count` records that fill `data`; `CorruptData` otherwise."""
    return [record for chunk in record_chunks(data, count, base_offset, base_timestamp_ms) for record in chunk]


def record_chunks(data: Buffer, count: int, base_offset: int, base_timestamp_ms: int) -> Iterator[list[Record]]:
    """The same, at most `RECORDS_PER_STEP` and `BYTES_PER_STEP` (or one record) at a time; what is wrong is told when it is reached."""
    position = 0
    with memoryview(data) as view:
        while count > 0:
            chunk, position = _decode_some(view, position, min(count, RECORDS_PER_STEP), base_offset, base_timestamp_ms)
            count -= len(chunk)
            yield chunk
    if position != len(data):
        raise CorruptData(f"{len(data) - position} bytes after the last record")


def _decode_some(view: memoryview, begin: int, count: int, base_offset: int, base_timestamp_ms: int) -> tuple[list[Record], int]:
    """(records from `begin` on as far as the bytes of a step go, at least one; where the next begins)."""
    records: list[Record] = []
    window = bytes(view[begin : begin + BYTES_PER_STEP])
    is_last = begin + len(window) == len(view)
    position = 0
    try:
        while len(records) < count and (is_last or len(window) - position >= _LONGEST_VARINT_BYTES):
            length, start = read_zigzag(window, position)
            end = start + length
            if length <= 0 or begin + end > len(view):
                raise CorruptData(f"a record of {length} bytes at {begin + start} of {len(view)}")
            if end > len(window):
                if records:
                    break
                window = bytes(view[begin : begin + end])
            records.append(_decode(window, start, end, base_offset, base_timestamp_ms))
            position = end
    except (IndexError, UnicodeDecodeError) as error:
        raise CorruptData(f"unreadable record before {begin + position} of {len(view)}: {error}") from None
    return records, begin + position


def _decode(data: bytes, position: int, end: int, base_offset: int, base_timestamp_ms: int) -> Record:
    timestamp_delta, position = read_zigzag(data, position + 1)
    offset_delta, position = read_zigzag(data, position)
    key, position = _read_bytes(data, position, end)
    value, position = _read_bytes(data, position, end)
    header_count, position = read_zigzag(data, position)
    headers: tuple[tuple[str, bytes | None], ...] = ()
    if header_count:
        headers, position = _read_headers(data, position, end, header_count)
    if position != end:
        raise CorruptData(f"a record ends at {position}, its length says {end}")
    timestamp_ms = base_timestamp_ms + timestamp_delta
    if not _LEAST_INT64 <= timestamp_ms < -_LEAST_INT64:
        raise CorruptData(f"a record's timestamp is {timestamp_ms}, no field can hold that")
    return Record(base_offset + offset_delta, timestamp_ms, key, value, headers)


def _read_headers(data: bytes, position: int, end: int, count: int) -> tuple[tuple[tuple[str, bytes | None], ...], int]:
    if not 0 <= count <= end - position:
        raise CorruptData(f"{count} record headers at {position} in {end - position} bytes")
    check_headers(count)
    headers = []
    for _ in range(count):
        name, position = _read_bytes(data, position, end)
        if name is None:
            raise CorruptData(f"a record header before {position} has no name")
        value, position = _read_bytes(data, position, end)
        headers.append((str(name, "utf-8"), value))
    return tuple(headers), position


def _read_bytes(data: bytes, position: int, end: int) -> tuple[bytes | None, int]:
    length, position = read_zigzag(data, position)
    if length < 0:
        return None, position
    if length > end - position:
        raise CorruptData(f"a value of {length} bytes at {position}, the record ends at {end}")
    return data[position : position + length], position + length
