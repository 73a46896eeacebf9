"""Keys and values of `__consumer_offsets` in Kafka's binary formats (spec G3), so that Kafka's own tools can read the topic.

Every key and value starts with an int16 version; strings and bytes are length-prefixed (int16 and int32), big-endian.

| record | key | value |
|---|---|---|
| offset commit | 0 or 1: group, topic, partition i32 | 0..4; written as 3: offset i64, leader epoch i32, metadata, commit time i64 |
| | | with an explicit expiry written as 1: offset i64, metadata, commit time i64, expiry time i64 |
| group | 2: group | 0..4; written as 3: protocol type, generation i32, protocol?, leader?, state time i64, members |

A member (v3): id, instance id?, client id, client host, rebalance timeout i32, session timeout i32, subscription, assignment.
Version 4 is version 3 in the flexible encoding (varint lengths + 1, tagged fields); it is read, never written (KIP-915). A null
value is a tombstone.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from msgspec import Struct

from broker_core.coordinator_runtime.partition_writer import KeyValue
from broker_core.coordinator_runtime.wire import Reader, put_bytes, put_nullable, put_string
from broker_core.errors import CorruptData
from broker_core.model import TopicPartition

OFFSET_KEY_VERSION = 1
GROUP_KEY_VERSION = 2
OFFSET_VALUE_VERSION = 3
OFFSET_VALUE_WITH_EXPIRY_VERSION = 1
GROUP_VALUE_VERSION = 3
FLEXIBLE_VERSION = 4
NO_TIMESTAMP = -1


class OffsetKey(NamedTuple):
    group_id: str
    topic_partition: TopicPartition


class GroupKey(NamedTuple):
    group_id: str


class UnknownKey(NamedTuple):
    """A record of a later release; it is left alone."""

    version: int


class OffsetCommit(Struct, frozen=True):
    """A committed position. Times are in ms since the epoch; `expire_ms` is set only by commits v2–4 that name a retention."""

    offset: int
    leader_epoch: int
    metadata: str
    commit_ms: int
    expire_ms: int | None = None


class MemberValue(Struct, frozen=True):
    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    subscription: bytes
    assignment: bytes


class GroupValue(Struct, frozen=True):
    """A generation as it is stored; `state_ms` is None in records older than version 2."""

    protocol_type: str
    generation: int
    protocol: str | None
    leader: str | None
    state_ms: int | None
    members: tuple[MemberValue, ...]


def offset_records(group_id: str, commits: Mapping[TopicPartition, OffsetCommit]) -> list[KeyValue]:
    return [(encode_offset_key(group_id, tp), encode_offset_value(commit)) for tp, commit in commits.items()]


def tombstones(group_id: str, partitions: Iterable[TopicPartition], *, with_group: bool) -> list[KeyValue]:
    records: list[KeyValue] = [(encode_offset_key(group_id, tp), None) for tp in partitions]
    return [*records, (encode_group_key(group_id), None)] if with_group else records


def encode_offset_key(group_id: str, topic_partition: TopicPartition) -> bytes:
    out = bytearray(struct.pack(">h", OFFSET_KEY_VERSION))
    put_string(out, group_id)
    put_string(out, topic_partition.topic)
    out += struct.pack(">i", topic_partition.partition)
    return bytes(out)


def encode_group_key(group_id: str) -> bytes:
    out = bytearray(struct.pack(">h", GROUP_KEY_VERSION))
    put_string(out, group_id)
    return bytes(out)


def encode_offset_value(commit: OffsetCommit) -> bytes:
    with_expiry = commit.expire_ms is not None
    out = bytearray(struct.pack(">hq", OFFSET_VALUE_WITH_EXPIRY_VERSION if with_expiry else OFFSET_VALUE_VERSION, commit.offset))
    if not with_expiry:
        out += struct.pack(">i", commit.leader_epoch)
    put_string(out, commit.metadata)
    out += struct.pack(">q", commit.commit_ms)
    if with_expiry:
        out += struct.pack(">q", commit.expire_ms)
    return bytes(out)


def encode_group_value(value: GroupValue) -> bytes:
    out = bytearray(struct.pack(">h", GROUP_VALUE_VERSION))
    put_string(out, value.protocol_type)
    out += struct.pack(">i", value.generation)
    put_nullable(out, value.protocol)
    put_nullable(out, value.leader)
    out += struct.pack(">qi", NO_TIMESTAMP if value.state_ms is None else value.state_ms, len(value.members))
    for member in value.members:
        _put_member(out, member)
    return bytes(out)


def _put_member(out: bytearray, member: MemberValue) -> None:
    put_string(out, member.member_id)
    put_nullable(out, member.instance_id)
    put_string(out, member.client_id)
    put_string(out, member.client_host)
    out += struct.pack(">ii", member.rebalance_timeout_ms, member.session_timeout_ms)
    put_bytes(out, member.subscription)
    put_bytes(out, member.assignment)


def decode_key(data: bytes) -> OffsetKey | GroupKey | UnknownKey:
    reader = Reader(data)
    version = reader.int16()
    if version in (0, OFFSET_KEY_VERSION):
        return OffsetKey(reader.string(), TopicPartition(reader.string(), reader.int32()))
    if version == GROUP_KEY_VERSION:
        return GroupKey(reader.string())
    return UnknownKey(version)


def decode_offset_value(data: bytes) -> OffsetCommit:
    reader = Reader(data)
    version = reader.int16()
    _check_version("offset commit", version)
    reader.flexible = version >= FLEXIBLE_VERSION
    offset = reader.int64()
    leader_epoch = reader.int32() if version >= 3 else -1
    metadata = reader.string()
    commit_ms = reader.int64()
    expire_ms = reader.int64() if version == 1 else NO_TIMESTAMP
    return OffsetCommit(offset, leader_epoch, metadata, commit_ms, None if expire_ms == NO_TIMESTAMP else expire_ms)


def decode_group_value(data: bytes) -> GroupValue:
    reader = Reader(data)
    version = reader.int16()
    _check_version("group", version)
    reader.flexible = version >= FLEXIBLE_VERSION
    protocol_type, generation = reader.string(), reader.int32()
    protocol, leader = reader.nullable_string(), reader.nullable_string()
    state_ms = reader.int64() if version >= 2 else NO_TIMESTAMP
    members = tuple(_member(reader, version) for _ in range(reader.array_length()))
    _check_unique([member.member_id for member in members])
    _check_unique([member.instance_id for member in members if member.instance_id is not None])
    return GroupValue(protocol_type, generation, protocol, leader, None if state_ms == NO_TIMESTAMP else state_ms, members)


def _member(reader: Reader, version: int) -> MemberValue:
    member_id = reader.string()
    instance_id = reader.nullable_string() if version >= 3 else None
    client_id, client_host = reader.string(), reader.string()
    rebalance_timeout_ms = reader.int32() if version >= 1 else NO_TIMESTAMP
    session_timeout_ms = reader.int32()
    subscription, assignment = reader.byte_string(), reader.byte_string()
    reader.tagged_fields()
    return MemberValue(
        member_id,
        instance_id,
        client_id,
        client_host,
        rebalance_timeout_ms if version >= 1 else session_timeout_ms,
        session_timeout_ms,
        subscription,
        assignment,
    )


def _check_unique(ids: list[str]) -> None:
    if len(dict.fromkeys(ids)) != len(ids):
        raise CorruptData("a group value in __consumer_offsets names a member twice")


def _check_version(what: str, version: int) -> None:
    if not 0 <= version <= FLEXIBLE_VERSION:
        raise CorruptData(f"unknown version {version} of a {what} value in __consumer_offsets")
