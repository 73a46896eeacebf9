"""Fetch requests by hand, from the version on that followers send (v12): named tuples as the compiled codec makes them.

What the request of every client has is read here; one with something rare in it (a tagged field other than a follower's state) or with
bytes that are no request is left to the compiled codec, which also says what is wrong.
"""

from __future__ import annotations

import struct
from typing import NamedTuple
from uuid import UUID

from broker_core.errors import ProtocolViolation
from broker_core.protocol.reader_values import MAX_STRING_BYTES, to_uuid
from broker_core.protocol.varint import read_unsigned

READ_SINCE = 12
BY_ID_SINCE = 13
STATE_SINCE = 15
FOLDERS_SINCE = 17

_HEAD = struct.Struct(">iiibii")
_FORMER_HEAD = struct.Struct(">iiiibii")
_PARTITION = struct.Struct(">iiqiqiB")
_STATE = struct.Struct(">BBBiqB")
_ONE_TAG, _STATE_TAG, _STATE_BYTES = 1, 1, 13
_UUID_BYTES = 16
_ONE_BYTE = 0x7F
_INT32_BYTES = 4


class ReplicaState(NamedTuple):
    replica_id: int = -1
    replica_epoch: int = -1


class FetchPartition(NamedTuple):
    partition: int
    current_leader_epoch: int
    fetch_offset: int
    last_fetched_epoch: int
    log_start_offset: int
    partition_max_bytes: int


class PartitionOfFolder(NamedTuple):
    """As from v17 on; a directory id is KRaft's, and rare."""

    partition: int
    current_leader_epoch: int
    fetch_offset: int
    last_fetched_epoch: int
    log_start_offset: int
    partition_max_bytes: int
    replica_directory_id: UUID | None = None


class FetchTopic(NamedTuple):
    topic_id: UUID | None
    partitions: tuple[FetchPartition | PartitionOfFolder, ...]


class NamedTopic(NamedTuple):
    topic: str
    partitions: tuple[FetchPartition | PartitionOfFolder, ...]


class ForgottenTopic(NamedTuple):
    topic_id: UUID | None
    partitions: tuple[int, ...]


class ForgottenName(NamedTuple):
    topic: str
    partitions: tuple[int, ...]


Topics = tuple[FetchTopic | NamedTopic, ...]
Forgotten = tuple[ForgottenTopic | ForgottenName, ...]


class FetchRequest(NamedTuple):
    """As from v15 on."""

    max_wait: int
    min_bytes: int
    max_bytes: int
    isolation_level: int
    session_id: int
    session_epoch: int
    topics: Topics
    forgotten_topics_data: Forgotten
    rack_id: str
    cluster_id: str | None
    replica_state: ReplicaState


class FormerFetchRequest(NamedTuple):
    replica_id: int
    max_wait: int
    min_bytes: int
    max_bytes: int
    isolation_level: int
    session_id: int
    session_epoch: int
    topics: Topics
    forgotten_topics_data: Forgotten
    rack_id: str
    cluster_id: str | None


class _RareError(Exception):
    """The request has something that is not read by hand."""


def read_fetch_request(version: int, frame: memoryview, position: int, elements: int) -> FetchRequest | FormerFetchRequest | None:
    """The request that begins there, with at most so many elements in its lists, as the codec would give it; None where it is the codec's
    to read or to refuse."""
    if version < READ_SINCE:
        return None
    try:
        return _former(version, frame, position, elements) if version < STATE_SINCE else _present(version, frame, position, elements)
    except (_RareError, ProtocolViolation, struct.error, IndexError, UnicodeDecodeError):
        return None


def _present(version: int, frame: memoryview, position: int, left: int) -> FetchRequest:
    head = _HEAD.unpack_from(frame, position)
    topics, forgotten, rack_id, position = _lists(version, frame, position + _HEAD.size, left)
    return FetchRequest._make((*head, topics, forgotten, rack_id, None, _replica_state(frame, position)))


def _former(version: int, frame: memoryview, position: int, left: int) -> FormerFetchRequest:
    head = _FORMER_HEAD.unpack_from(frame, position)
    topics, forgotten, rack_id, position = _lists(version, frame, position + _FORMER_HEAD.size, left)
    _untagged(frame, position)
    return FormerFetchRequest._make((*head, topics, forgotten, rack_id, None))


def _lists(version: int, frame: memoryview, position: int, left: int) -> tuple[Topics, Forgotten, str, int]:
    count, position = _count(frame, position, left)
    left -= count
    make = FetchPartition if version < FOLDERS_SINCE else PartitionOfFolder
    topics: list[FetchTopic | NamedTopic] = []
    for _ in range(count):
        name, position = _named(version, frame, position)
        rows, position = _count(frame, position, left)
        left -= rows
        partitions = []
        for _ in range(rows):
            *fields, tags = _PARTITION.unpack_from(frame, position)
            if tags:
                raise _RareError
            partitions.append(make(*fields))
            position += _PARTITION.size
        topics.append(FetchTopic(name, tuple(partitions)) if not isinstance(name, str) else NamedTopic(name, tuple(partitions)))
        position = _untagged(frame, position)
    forgotten, position = _forgotten(version, frame, position, left)
    rack_id, position = _text(frame, position)
    return tuple(topics), forgotten, rack_id, position


def _forgotten(version: int, frame: memoryview, position: int, left: int) -> tuple[Forgotten, int]:
    count, position = _count(frame, position, left)
    left -= count
    forgotten: list[ForgottenTopic | ForgottenName] = []
    for _ in range(count):
        name, position = _named(version, frame, position)
        rows, position = _count(frame, position, left)
        left -= rows
        end = position + _INT32_BYTES * rows
        if end > len(frame):
            raise _RareError
        partitions = struct.unpack_from(f">{rows}i", frame, position)
        forgotten.append(ForgottenTopic(name, partitions) if not isinstance(name, str) else ForgottenName(name, partitions))
        position = _untagged(frame, end)
    return tuple(forgotten), position


def _named(version: int, frame: memoryview, position: int) -> tuple[UUID | str | None, int]:
    if version < BY_ID_SINCE:
        return _text(frame, position)
    end = position + _UUID_BYTES
    raw = bytes(frame[position:end])
    if len(raw) < _UUID_BYTES:
        raise _RareError
    return to_uuid(raw), end


def _replica_state(frame: memoryview, position: int) -> ReplicaState:
    if not frame[position]:
        return ReplicaState()
    tags, tag, size, replica_id, replica_epoch, tags_inside = _STATE.unpack_from(frame, position)
    if (tags, tag, size, tags_inside) != (_ONE_TAG, _STATE_TAG, _STATE_BYTES, 0):
        raise _RareError
    return ReplicaState(replica_id, replica_epoch)


def _count(frame: memoryview, position: int, most: int) -> tuple[int, int]:
    """Of a list that must be there, with at most so many elements."""
    count = frame[position]
    position += 1
    if count > _ONE_BYTE:
        count, position = read_unsigned(frame, position - 1)
    if not 0 < count <= most + 1:
        raise _RareError
    return count - 1, position


def _text(frame: memoryview, position: int) -> tuple[str, int]:
    length, position = _count(frame, position, MAX_STRING_BYTES)
    end = position + length
    if end > len(frame):
        raise _RareError
    return str(frame[position:end], "utf-8"), end


def _untagged(frame: memoryview, position: int) -> int:
    if frame[position]:
        raise _RareError
    return position + 1
