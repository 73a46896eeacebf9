"""Answers to a follower's fetches by hand.

What every answer has is read here; one with something rare in it (aborted transactions, a divergence, fields of later versions) or
with bytes that are no answer is left to the compiled codec, which also says what is wrong.
"""

from __future__ import annotations

import struct
from uuid import UUID

from msgspec import Struct

from broker_core.errors import ErrorCode, ProtocolViolation
from broker_core.protocol.api import ApiKey
from broker_core.protocol.codec import decode_response
from broker_core.protocol.headers import parse_response_header
from broker_core.protocol.reader import MAX_ELEMENTS
from broker_core.protocol.reader_values import MAX_STRING_BYTES, to_error_code, to_uuid
from broker_core.protocol.varint import read_unsigned

FOLLOWERS_VERSIONS = (12, 15)
BY_ID_SINCE = 13

_NO_TAGS_AT = 4
_START = struct.Struct(">ihi")
_START_AT = 5
_PARTITION = struct.Struct(">ihqqqBi")
_EMPTY_LIST = 1
_UNDEFINED_EPOCH = -1
_UUID_BYTES = 16
_ONE_BYTE = 0x7F


class FetchedPartition(Struct):
    """What an answer has for one partition; `diverging` is (epoch, end offset) where the logs part."""

    topic: UUID | str | None
    partition: int
    error_code: ErrorCode
    high_watermark: int
    log_start_offset: int
    records: memoryview | None
    diverging: tuple[int, int] | None = None


class FetchAnswer(Struct):
    error_code: ErrorCode
    session_id: int
    partitions: list[FetchedPartition]


class _RareError(Exception):
    """The answer has something that is not read by hand."""


def decode_fetch_answer(version: int, frame: memoryview) -> FetchAnswer:
    """The answer in a frame, header included; `ProtocolViolation` where there is none, or of a version that no follower asks for."""
    if version not in FOLLOWERS_VERSIONS:
        raise ProtocolViolation(f"no follower fetches with version {version}")
    try:
        return _by_hand(version, frame)
    except (_RareError, struct.error, IndexError, UnicodeDecodeError):
        return _by_codec(version, frame)


def _by_hand(version: int, frame: memoryview) -> FetchAnswer:
    _, code, session_id = _START.unpack_from(frame, _START_AT)
    topics, position = _count(frame, _START_AT + _START.size, MAX_ELEMENTS)
    left = MAX_ELEMENTS - topics
    partitions: list[FetchedPartition] = []
    for _ in range(topics):
        topic, position = _topic_id(frame, position) if version >= BY_ID_SINCE else _topic_name(frame, position)
        count, position = _count(frame, position, left)
        left -= count
        for _ in range(count):
            index, error, high_watermark, _, log_start, aborted, _ = _PARTITION.unpack_from(frame, position)
            length, start = read_unsigned(frame, position + _PARTITION.size)
            end = start + length - 1 if length else start
            if aborted > _EMPTY_LIST or frame[end]:
                raise _RareError
            position = end + 1
            records = frame[start:end] if length else None
            fetched = FetchedPartition(topic, index, to_error_code(error), high_watermark, log_start, records)
            partitions.append(fetched)
        if frame[position]:
            raise _RareError
        position += 1
    if frame[_NO_TAGS_AT] or frame[position] or position + 1 != len(frame):
        raise _RareError
    return FetchAnswer(to_error_code(code), session_id, partitions)


def _count(frame: memoryview, position: int, most: int) -> tuple[int, int]:
    """Of a list that must be there, with at most so many elements."""
    count = frame[position]
    position += 1
    if count > _ONE_BYTE:
        count, position = read_unsigned(frame, position - 1)
    if not 0 < count <= most + 1:
        raise _RareError
    return count - 1, position


def _topic_id(frame: memoryview, position: int) -> tuple[UUID | None, int]:
    end = position + _UUID_BYTES
    raw = bytes(frame[position:end])
    if len(raw) < _UUID_BYTES:
        raise _RareError
    return to_uuid(raw), end


def _topic_name(frame: memoryview, position: int) -> tuple[str, int]:
    length, position = _count(frame, position, MAX_STRING_BYTES)
    end = position + length
    if end > len(frame):
        raise _RareError
    return str(frame[position:end], "utf-8"), end


def _by_codec(version: int, frame: memoryview) -> FetchAnswer:
    answer = decode_response(ApiKey.FETCH, version, frame, parse_response_header(ApiKey.FETCH, version, frame)[1])
    partitions = []
    for topic in answer.responses:
        name = topic.topic_id if version >= BY_ID_SINCE else topic.topic
        for data in topic.partitions:
            fetched = FetchedPartition(
                name, data.partition_index, data.error_code, data.high_watermark, data.log_start_offset, data.records
            )
            if data.diverging_epoch.epoch != _UNDEFINED_EPOCH:
                fetched.diverging = (data.diverging_epoch.epoch, data.diverging_epoch.end_offset)
            partitions.append(fetched)
    return FetchAnswer(answer.error_code, answer.session_id, partitions)
