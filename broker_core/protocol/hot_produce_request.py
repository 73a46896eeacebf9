"""Produce requests by hand, from v3 on: named tuples as the compiled codec makes them.

Rare (`by_hand.py`) are tagged fields and records that are null.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from broker_core.protocol.by_hand import UNREADABLE, RareError, read_count, read_text, text_of, untagged
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


def read_produce_request(version: int, frame: memoryview, position: int, elements: int) -> ProduceRequest | None:
    """The request that begins there, with at most so many elements in its lists, as the codec would give it; None where it is the codec's
    to read or to refuse."""
    if version < READ_SINCE:
        return None
    try:
        return _flexible(frame, position, elements) if version >= FLEXIBLE_SINCE else _former(frame, position, elements)
    except UNREADABLE:
        return None


def _flexible(frame: memoryview, position: int, left: int) -> ProduceRequest:
    length, position = read_unsigned(frame, position)
    transactional_id = None
    if length:
        transactional_id, position = text_of(frame, position, length - 1)
    acks, timeout = _TERMS.unpack_from(frame, position)
    named, position = read_count(frame, position + _TERMS.size, left)
    left -= named
    topics = []
    for _ in range(named):
        name, position = read_text(frame, position)
        rows, position = read_count(frame, position, left)
        left -= rows
        partitions = []
        for _ in range(rows):
            (index,) = _INT32.unpack_from(frame, position)
            size, position = read_unsigned(frame, position + _INT32.size)
            records, position = _bytes(frame, position, size - 1)
            partitions.append(PartitionProduceData(index, records))
            position = untagged(frame, position)
        topics.append(TopicProduceData(name, tuple(partitions)))
        position = untagged(frame, position)
    untagged(frame, position)
    return ProduceRequest(transactional_id, acks, timeout, tuple(topics))


def _former(frame: memoryview, position: int, left: int) -> ProduceRequest:
    (length,) = _INT16.unpack_from(frame, position)
    position += _INT16.size
    transactional_id = None
    if length != -1:
        transactional_id, position = text_of(frame, position, length)
    acks, timeout, named = _TERMS_AND_COUNT.unpack_from(frame, position)
    position += _TERMS_AND_COUNT.size
    _check(named, left)
    left -= named
    topics = []
    for _ in range(named):
        (length,) = _INT16.unpack_from(frame, position)
        name, position = text_of(frame, position + _INT16.size, length)
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


def _check(found: int, most: int) -> None:
    if not 0 <= found <= most:
        raise RareError


def _bytes(frame: memoryview, position: int, length: int) -> tuple[memoryview, int]:
    end = position + length
    if length < 0 or end > len(frame):
        raise RareError
    return frame[position:end], end
