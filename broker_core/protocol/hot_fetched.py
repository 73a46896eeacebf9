"""Answers to a follower's fetches by hand.

Rare (`by_hand.py`) are aborted transactions, a divergence and fields of later versions.
"""

from __future__ import annotations

import struct
from uuid import UUID

from msgspec import Struct

from broker_core.errors import ErrorCode, ProtocolViolation
from broker_core.protocol.api import ApiKey
from broker_core.protocol.by_hand import UNREADABLE, RareError, read_count, read_text, read_topic_id, untagged
from broker_core.protocol.codec import decode_response
from broker_core.protocol.headers import parse_response_header
from broker_core.protocol.reader import MAX_ELEMENTS
from broker_core.protocol.reader_values import to_error_code
from broker_core.protocol.varint import read_unsigned

FOLLOWERS_VERSIONS = range(12, 18)
BY_ID_SINCE = 13

_NO_TAGS_AT = 4
_START = struct.Struct(">ihi")
_START_AT = 5
_PARTITION = struct.Struct(">ihqqqBi")
_EMPTY_LIST = 1
_UNDEFINED_EPOCH = -1


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


def decode_fetch_answer(version: int, frame: memoryview) -> FetchAnswer:
    """The answer in a frame, header included; `ProtocolViolation` where there is none, or of a version that no follower asks for."""
    if version not in FOLLOWERS_VERSIONS:
        raise ProtocolViolation(f"no follower fetches with version {version}")
    try:
        return _by_hand(version, frame)
    except UNREADABLE:
        return _by_codec(version, frame)


def _by_hand(version: int, frame: memoryview) -> FetchAnswer:
    _, code, session_id = _START.unpack_from(frame, _START_AT)
    topics, position = read_count(frame, _START_AT + _START.size, MAX_ELEMENTS)
    left = MAX_ELEMENTS - topics
    partitions: list[FetchedPartition] = []
    for _ in range(topics):
        topic, position = read_topic_id(frame, position) if version >= BY_ID_SINCE else read_text(frame, position)
        rows, position = read_count(frame, position, left)
        left -= rows
        for _ in range(rows):
            index, error, high_watermark, _, log_start, aborted, _ = _PARTITION.unpack_from(frame, position)
            length, start = read_unsigned(frame, position + _PARTITION.size)
            end = start + length - 1 if length else start
            if aborted > _EMPTY_LIST or frame[end]:
                raise RareError
            position = end + 1
            records = frame[start:end] if length else None
            fetched = FetchedPartition(topic, index, to_error_code(error), high_watermark, log_start, records)
            partitions.append(fetched)
        position = untagged(frame, position)
    if frame[_NO_TAGS_AT] or frame[position] or position + 1 != len(frame):
        raise RareError
    return FetchAnswer(to_error_code(code), session_id, partitions)


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
