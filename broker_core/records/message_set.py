"""Messages of magic 0 (Kafka 0.8) and magic 1 (0.10), before there were batches.

    bytes   field                                     magic
    0–8     offset                                    0 1
    8–12    size of what follows                      0 1
    12–16   CRC-32 of bytes 16 to the end             0 1
    16      magic                                     0 1
    17      attributes: 0–2 compression, 3 time type  0 1
    18–26   timestamp, ms                             1
            key length (-1: null), key, value length (-1: null), value

A compressed set is one message, the wrapper, whose value is the compressed set of inner messages and whose offset is that
of the last of them. In magic 0 inner offsets are absolute, in magic 1 they count from the first.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from broker_core.errors import CorruptData
from broker_core.records.budget import Budget, check_converted
from broker_core.records.compression import Buffer, Codec, compressing, decompressing
from broker_core.records.header import COMPRESSION_MASK, LOG_APPEND_TIME, NO_TIMESTAMP, TIMESTAMP_TYPE_BIT
from broker_core.records.lz4_header import age_checksum, mend_checksum
from broker_core.records.record import Record
from broker_core.records.steps import BYTES_PER_STEP, RECORDS_PER_STEP, Steps, finish

_START = struct.Struct(">qiIbb")
_INT64 = struct.Struct(">q")
_INT32 = struct.Struct(">i")
_OVERHEAD_BYTES = 12
_CRC_END = 16


class Message(NamedTuple):
    """One message as it stands; `size_bytes` includes offset and size."""

    offset: int
    size_bytes: int
    magic: int
    attributes: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None

    @property
    def codec(self) -> int:
        return self.attributes & COMPRESSION_MASK

    @property
    def has_append_time(self) -> bool:
        return self.magic > 0 and bool(self.attributes & TIMESTAMP_TYPE_BIT)


def parse_message(data: Buffer, position: int = 0) -> Message:
    """The message at `position`, its CRC verified; `CorruptData` otherwise."""
    try:
        offset, size, crc, magic, attributes = _START.unpack_from(data, position)
        end = position + _OVERHEAD_BYTES + size
        if magic not in (0, 1) or size < _START.size - _OVERHEAD_BYTES or end > len(data):
            raise CorruptData(f"no message of magic 0 or 1 at {position} of {len(data)}: magic {magic}, size {size}")
        with memoryview(data) as view:
            found = zlib.crc32(view[position + _CRC_END : end])
        if found != crc:
            raise CorruptData(f"the message at {position}, offset {offset}, fails its CRC")
        cursor = position + _START.size
        timestamp_ms = NO_TIMESTAMP
        if magic == 1:
            (timestamp_ms,) = _INT64.unpack_from(data, cursor)
            cursor += _INT64.size
        key, cursor = _read_bytes(data, cursor, end)
        value, cursor = _read_bytes(data, cursor, end)
    except struct.error:
        raise CorruptData(f"the message at {position} of {len(data)} is cut short") from None
    if cursor != end:
        raise CorruptData(f"the message at {position} ends at {cursor}, its size says {end}")
    return Message(offset, end - position, magic, attributes, timestamp_ms, key, value)


def _read_bytes(data: Buffer, position: int, end: int) -> tuple[bytes | None, int]:
    (length,) = _INT32.unpack_from(data, position)
    position += _INT32.size
    if length == -1:
        return None, position
    if not 0 <= length <= end - position:
        raise CorruptData(f"a value of {length} bytes at {position}, the message ends at {end}")
    return bytes(data[position : position + length]), position + length


def message_chunks(data: Buffer) -> Iterator[list[Message]]:
    """All messages of a set that ends whole, at most `RECORDS_PER_STEP` and `BYTES_PER_STEP` (or one message) at a time."""
    position = 0
    while position < len(data):
        chunk: list[Message] = []
        room = position + BYTES_PER_STEP
        while position < min(len(data), room) and len(chunk) < RECORDS_PER_STEP:
            message = parse_message(data, position)
            chunk.append(message)
            position += message.size_bytes
        yield chunk


def records_in(message: Message, budget: Budget) -> Steps[Iterator[list[Record]]]:
    """The record that a message is, or those inside it, with absolute offsets, few at a time.

    `CorruptData` from either part, also where a wrapper holds a wrapper.
    """
    budget.earn(message.size_bytes)
    if message.codec == Codec.NONE:
        budget.take_records(1)
        return iter([[Record(message.offset, message.timestamp_ms, message.key, message.value)]])
    data = yield from _unwrapped(message, budget)
    last_offset = yield from _last_offset(message, data, budget)
    return _records_of(message, data, _first_offset(message, last_offset) if message.magic == 1 else 0)


def _unwrapped(message: Message, budget: Budget) -> Steps[Buffer]:
    if message.value is None or message.codec not in (Codec.GZIP, Codec.SNAPPY, Codec.LZ4):
        raise CorruptData(f"the wrapper of offset {message.offset} has codec {message.codec} or no value")
    value = message.value
    if message.codec == Codec.LZ4 and message.magic == 0:
        value = mend_checksum(value)
    return (yield from decompressing(message.codec, value, budget))


def _last_offset(wrapper: Message, data: Buffer, budget: Budget) -> Steps[int]:
    """The offset of the last message inside; they are counted before any of them is read."""
    position, count, offset = 0, 0, -1
    while position < len(data):
        if len(data) - position < _START.size:
            raise CorruptData(f"{len(data) - position} bytes after the last message in the wrapper of offset {wrapper.offset}")
        offset, size, _, _, attributes = _START.unpack_from(data, position)
        if size < _START.size - _OVERHEAD_BYTES:
            raise CorruptData(f"a message of {size} bytes in the wrapper of offset {wrapper.offset}")
        if attributes & COMPRESSION_MASK:
            raise CorruptData(f"the wrapper of offset {wrapper.offset} holds a compressed message")
        check_converted(size)
        position += _OVERHEAD_BYTES + size
        count += 1
        if count % RECORDS_PER_STEP == 0:
            budget.take_records(RECORDS_PER_STEP)
            yield
    if not count:
        raise CorruptData(f"the wrapper of offset {wrapper.offset} holds no messages")
    budget.take_records(count % RECORDS_PER_STEP)
    return offset


def _records_of(wrapper: Message, data: Buffer, base: int) -> Iterator[list[Record]]:
    append_time = wrapper.timestamp_ms if wrapper.has_append_time else None
    for chunk in message_chunks(data):
        yield [
            Record(base + each.offset, each.timestamp_ms if append_time is None else append_time, each.key, each.value) for each in chunk
        ]


def _first_offset(wrapper: Message, last_inner: int) -> int:
    """Some versions of librdkafka leave the wrapper's offset 0 in what they produce."""
    if wrapper.offset == 0:
        return 0
    if wrapper.offset < last_inner:
        raise CorruptData(f"the wrapper's offset {wrapper.offset} is below that of its last message, {last_inner}")
    return wrapper.offset - last_inner


def build_message(record: Record, magic: int, attributes: int = 0) -> bytes:
    body = bytearray((magic, attributes))
    if magic == 1:
        body += _INT64.pack(record.timestamp_ms)
    for value in (record.key, record.value):
        body += _INT32.pack(-1 if value is None else len(value))
        body += value or b""
    return _INT64.pack(record.offset) + _INT32.pack(len(body) + 4) + struct.pack(">I", zlib.crc32(body)) + bytes(body)


def build_message_set(records: Sequence[Record], magic: int, codec: int = Codec.NONE, timestamp_type: int = 0) -> bytes:
    """The records as messages, or as one compressed wrapper of them. Headers are lost: the old formats have none."""
    return finish(building_message_set([records], magic, codec, timestamp_type))


def building_message_set(chunks: Iterable[Sequence[Record]], magic: int, codec: int, timestamp_type: int) -> Steps[bytes]:
    """`build_message_set` of records that come in chunks, a step for each."""
    type_bit = TIMESTAMP_TYPE_BIT if magic == 1 and timestamp_type == LOG_APPEND_TIME else 0
    relative = magic == 1 and codec != Codec.NONE
    out = bytearray()
    base, last_offset, newest_ms = 0, -1, NO_TIMESTAMP
    for chunk in chunks:
        for record in chunk:
            if last_offset < 0 and relative:
                base = record.offset
            last_offset, newest_ms = record.offset, max(newest_ms, record.timestamp_ms)
            out += build_message(record._replace(offset=record.offset - base) if base else record, magic, type_bit)
        yield
    if codec == Codec.NONE or last_offset < 0:
        return bytes(out)
    value = yield from compressing(codec, out)
    if codec == Codec.LZ4 and magic == 0:
        value = age_checksum(value)
    return build_message(Record(last_offset, newest_ms, None, value), magic, codec | type_bit)
