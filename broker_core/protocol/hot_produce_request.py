"""Produce requests by hand, from v3 on: named tuples as the compiled codec makes them.

As with Fetch (`hot_fetch_request.py`), what the request of every producer has is read here; one with something rare in it (a tagged
field, records that are null) or with bytes that are no request is left to the compiled codec, which also says what is wrong.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from broker_core.errors import ProtocolViolation
from broker_core.protocol.reader_values import MAX_STRING_BYTES
from broker_core.protocol.varint import read_unsigned

READ_SINCE = 3
FLEXIBLE_SINCE = 9

_INT16 = struct.Struct(">h")
_INT32 = struct.Struct(">i")
_TERMS = struct.Struct(">hi")
_TERMS_AND_COUNT = struct.Struct(">hii")
_ROW = struct.Struct(">ii")


class PartitionProduceData(NamedTuple):
    index: int  # type: ignore[assignment]  # hides tuple.index, which nobody asks of it
    records: memoryview


class TopicProduceData(NamedTuple):
    name: str
    partition_data: tuple[PartitionProduceData, ...]


class ProduceRequest(NamedTuple):
    transactional_id: str | None
    acks: int
    timeout: int
    topic_data: tuple[TopicProduceData, ...]


class _RareError(Exception):
    """The request has something that is not read by hand."""


def read_produce_request(version: int, frame: memoryview, position: int, elements: int) -> ProduceRequest | None:
    """The request that begins there, with at most so many elements in its lists, as the codec would give it; None where it is the codec's
    to read or to refuse."""
    if version < READ_SINCE:
        return None
    try:
        return _flexible(frame, position, elements) if version >= FLEXIBLE_SINCE else _former(frame, position, elements)
    except (_RareError, ProtocolViolation, struct.error, IndexError, UnicodeDecodeError):
        return None


def _flexible(frame: memoryview, position: int, left: int) -> ProduceRequest:
    length, position = read_unsigned(frame, position)
    transactional_id = None
    if length:
        transactional_id, position = _text(frame, position, length - 1)
    acks, timeout = _TERMS.unpack_from(frame, position)
    count, position = _count(*read_unsigned(frame, position + _TERMS.size), left)
    left -= count
    topics = []
    for _ in range(count):
        length, position = read_unsigned(frame, position)
        name, position = _text(frame, position, length - 1)
        rows, position = _count(*read_unsigned(frame, position), left)
        left -= rows
        partitions = []
        for _ in range(rows):
            (index,) = _INT32.unpack_from(frame, position)
            size, position = read_unsigned(frame, position + _INT32.size)
            records, position = _bytes(frame, position, size - 1)
            partitions.append(PartitionProduceData(index, records))
            position = _untagged(frame, position)
        topics.append(TopicProduceData(name, tuple(partitions)))
        position = _untagged(frame, position)
    _untagged(frame, position)
    return ProduceRequest(transactional_id, acks, timeout, tuple(topics))


def _former(frame: memoryview, position: int, left: int) -> ProduceRequest:
    (length,) = _INT16.unpack_from(frame, position)
    position += _INT16.size
    transactional_id = None
    if length != -1:
        transactional_id, position = _text(frame, position, length)
    acks, timeout, count = _TERMS_AND_COUNT.unpack_from(frame, position)
    position += _TERMS_AND_COUNT.size
    _check(count, left)
    left -= count
    topics = []
    for _ in range(count):
        (length,) = _INT16.unpack_from(frame, position)
        name, position = _text(frame, position + _INT16.size, length)
        (rows,) = _INT32.unpack_from(frame, position)
        position += _INT32.size
        _check(rows, left)
        left -= rows
        partitions = []
        for _ in range(rows):
            index, size = _ROW.unpack_from(frame, position)
            records, position = _bytes(frame, position + _ROW.size, size)
            partitions.append(PartitionProduceData(index, records))
        topics.append(TopicProduceData(name, tuple(partitions)))
    return ProduceRequest(transactional_id, acks, timeout, tuple(topics))


def _count(count: int, position: int, most: int) -> tuple[int, int]:
    """Of a list that must be there: one is added where it is compact."""
    _check(count - 1, most)
    return count - 1, position


def _check(count: int, most: int) -> None:
    if not 0 <= count <= most:
        raise _RareError


def _text(frame: memoryview, position: int, length: int) -> tuple[str, int]:
    end = position + length
    if not 0 <= length <= MAX_STRING_BYTES or end > len(frame):
        raise _RareError
    return str(frame[position:end], "utf-8"), end


def _bytes(frame: memoryview, position: int, length: int) -> tuple[memoryview, int]:
    end = position + length
    if length < 0 or end > len(frame):
        raise _RareError
    return frame[position:end], end


def _untagged(frame: memoryview, position: int) -> int:
    if frame[position]:
        raise _RareError
    return position + 1
