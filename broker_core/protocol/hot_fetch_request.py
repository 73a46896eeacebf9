"""Fetch requests by hand, from the version on that followers send (v12): named tuples as the compiled codec makes them.

Rare (`by_hand.py`) is a tagged field other than a follower's state.
"""

from __future__ import annotations

import struct
from typing import NamedTuple
from uuid import UUID

from broker_core.protocol.by_hand import UNREADABLE, RareError, read_count, read_text, read_topic_id, untagged

READ_SINCE = 12
BY_ID_SINCE = 13
STATE_SINCE = 15
FOLDERS_SINCE = 17

_HEAD = struct.Struct(">iiibii")
_FORMER_HEAD = struct.Struct(">iiiibii")
_PARTITION = struct.Struct(">iiqiqiB")
_STATE = struct.Struct(">BBBiqB")
_ONE_TAG, _STATE_TAG, _STATE_BYTES = 1, 1, 13
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


def read_fetch_request(version: int, frame: memoryview, position: int, elements: int) -> FetchRequest | FormerFetchRequest | None:
    """The request that begins there, with at most so many elements in its lists, as the codec would give it; None where it is the codec's
    to read or to refuse."""
    if version < READ_SINCE:
        return None
    try:
        return _former(version, frame, position, elements) if version < STATE_SINCE else _present(version, frame, position, elements)
    except UNREADABLE:
        return None


def _present(version: int, frame: memoryview, position: int, left: int) -> FetchRequest:
    head = _HEAD.unpack_from(frame, position)
    topics, forgotten, rack_id, position = _lists(version, frame, position + _HEAD.size, left)
    return FetchRequest._make((*head, topics, forgotten, rack_id, None, _replica_state(frame, position)))


def _former(version: int, frame: memoryview, position: int, left: int) -> FormerFetchRequest:
    head = _FORMER_HEAD.unpack_from(frame, position)
    topics, forgotten, rack_id, position = _lists(version, frame, position + _FORMER_HEAD.size, left)
    untagged(frame, position)
    return FormerFetchRequest._make((*head, topics, forgotten, rack_id, None))


def _lists(version: int, frame: memoryview, position: int, left: int) -> tuple[Topics, Forgotten, str, int]:
    count, position = read_count(frame, position, left)
    left -= count
    make = FetchPartition if version < FOLDERS_SINCE else PartitionOfFolder
    topics: list[FetchTopic | NamedTopic] = []
    for _ in range(count):
        name, position = _named(version, frame, position)
        rows, position = read_count(frame, position, left)
        left -= rows
        partitions = []
        for _ in range(rows):
            *fields, tags = _PARTITION.unpack_from(frame, position)
            if tags:
                raise RareError
            partitions.append(make(*fields))
            position += _PARTITION.size
        topics.append(FetchTopic(name, tuple(partitions)) if not isinstance(name, str) else NamedTopic(name, tuple(partitions)))
        position = untagged(frame, position)
    forgotten, position = _forgotten(version, frame, position, left)
    rack_id, position = read_text(frame, position)
    return tuple(topics), forgotten, rack_id, position


def _forgotten(version: int, frame: memoryview, position: int, left: int) -> tuple[Forgotten, int]:
    count, position = read_count(frame, position, left)
    left -= count
    forgotten: list[ForgottenTopic | ForgottenName] = []
    for _ in range(count):
        name, position = _named(version, frame, position)
        rows, position = read_count(frame, position, left)
        left -= rows
        end = position + _INT32_BYTES * rows
        if end > len(frame):
            raise RareError
        partitions = struct.unpack_from(f">{rows}i", frame, position)
        forgotten.append(ForgottenTopic(name, partitions) if not isinstance(name, str) else ForgottenName(name, partitions))
        position = untagged(frame, end)
    return tuple(forgotten), position


def _named(version: int, frame: memoryview, position: int) -> tuple[UUID | str | None, int]:
    if version < BY_ID_SINCE:
        return read_text(frame, position)
    return read_topic_id(frame, position)


def _replica_state(frame: memoryview, position: int) -> ReplicaState:
    if not frame[position]:
        return ReplicaState()
    tags, tag, size, replica_id, replica_epoch, tags_inside = _STATE.unpack_from(frame, position)
    if (tags, tag, size, tags_inside) != (_ONE_TAG, _STATE_TAG, _STATE_BYTES, 0):
        raise RareError
    return ReplicaState(replica_id, replica_epoch)
