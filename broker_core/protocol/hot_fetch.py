"""Fetch responses and followers' Fetch requests by hand.

A response is a list of parts, so that records go from the segment file to the socket unseen.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import NamedTuple
from uuid import UUID

from msgspec import Struct, field

from broker_core.protocol.api import ApiKey
from broker_core.protocol.headers import request_header, response_header
from broker_core.protocol.hot_common import NO_LEADER_KNOWN, NodeEndpoint, endpoints_section, leader_tag
from broker_core.protocol.varint import unsigned, write_unsigned
from broker_core.seams import FileRange, Part

COPY_BELOW_BYTES = 2048
"""Records in memory that are shorter join the bytes around them: a part of its own would cost more than the copy."""

_NO_UUID = bytes(16)
_INT16 = struct.Struct(">h")
_START = struct.Struct(">ihq")
_INT32 = struct.Struct(">i")
_INT64 = struct.Struct(">q")
_EPOCH_END = struct.Struct(">iqB")
_ABORTED = struct.Struct(">qq")
_POSITION = struct.Struct(">iiqiqiB").pack
_REPLICA_STATE = struct.Struct(">iqB")
_FETCH = struct.Struct(">iiibii")
_ERROR_AND_SESSION = struct.Struct(">hi")
_FLEXIBLE_HEAD = struct.Struct(">ihqqqBi").pack
_FLEXIBLE_START = struct.Struct(">ihqqq").pack
_TAG_DIVERGING, _TAG_LEADER = 0, 1


class FetchPartitionResult(Struct):
    """What a fetch got from one partition. `records_bytes` is the sum of the parts' lengths.

    `aborted` is (producer id, first offset) of each aborted transaction in the records, None where nobody asked;
    `diverging` (epoch, end offset) tells a follower to truncate; `current_leader` (broker id, epoch) a client where to go.
    """

    partition: int
    error_code: int
    high_watermark: int = -1
    last_stable_offset: int = -1
    log_start_offset: int = -1
    aborted: list[tuple[int, int]] | None = None
    preferred_read_replica: int = -1
    diverging: tuple[int, int] | None = None
    records: list[Part] = field(default_factory=list)
    records_bytes: int = 0
    current_leader: tuple[int, int] | None = None


FetchedTopic = tuple[str, UUID | None, Sequence[FetchPartitionResult]]


def encode_fetch_response(  # noqa: PLR0917 - in the order of the wire
    version: int,
    correlation_id: int,
    throttle_ms: int,
    error_code: int,
    session_id: int,
    topics: Sequence[FetchedTopic],
    endpoints: Sequence[NodeEndpoint] = (),
) -> list[Part]:
    """Header and body of a Fetch response of any version."""
    out = _PartWriter(response_header(ApiKey.FETCH, version, correlation_id))
    if version >= 1:
        out.buffer += _INT32.pack(throttle_ms)
    if version >= 7:
        out.buffer += _ERROR_AND_SESSION.pack(error_code, session_id)
    flexible = version >= 12
    out.buffer += unsigned(len(topics) + 1) if flexible else _INT32.pack(len(topics))
    write_partition = _write_flexible_partition if flexible else _write_partition
    for name, topic_id, partitions in topics:
        _write_topic_start(out.buffer, version, name, topic_id, len(partitions))
        for partition in partitions:
            write_partition(out, version, partition)
        if flexible:
            out.buffer.append(0)
    if flexible:
        out.buffer += endpoints_section(endpoints) if version >= 16 else b"\0"
    return out.finish()


class _PartWriter:
    """Collects bytes; parts that are not worth copying, or not in memory, stand between them."""

    def __init__(self, start: bytes) -> None:
        self.buffer = bytearray(start)
        self._parts: list[Part] = []

    def records(self, parts: list[Part]) -> None:
        for part in parts:
            if isinstance(part, FileRange) or len(part) >= COPY_BELOW_BYTES:
                self._parts.append(bytes(self.buffer))
                self._parts.append(part)
                self.buffer.clear()
            else:
                self.buffer += part

    def finish(self) -> list[Part]:
        if self.buffer:
            self._parts.append(bytes(self.buffer))
        return self._parts


def _write_topic_start(buffer: bytearray, version: int, name: str, topic_id: UUID | None, count: int) -> None:
    if version >= 13:
        buffer += topic_id.bytes if topic_id is not None else _NO_UUID
    else:
        raw = name.encode()
        buffer += unsigned(len(raw) + 1) if version >= 12 else _INT16.pack(len(raw))
        buffer += raw
    buffer += unsigned(count + 1) if version >= 12 else _INT32.pack(count)


def _write_flexible_partition(out: _PartWriter, version: int, got: FetchPartitionResult) -> None:
    buffer = out.buffer
    if got.aborted is None:
        buffer += _FLEXIBLE_HEAD(
            got.partition,
            got.error_code,
            got.high_watermark,
            got.last_stable_offset,
            got.log_start_offset,
            0,
            got.preferred_read_replica,
        )
    else:
        buffer += _FLEXIBLE_START(got.partition, got.error_code, got.high_watermark, got.last_stable_offset, got.log_start_offset)
        write_unsigned(buffer, len(got.aborted) + 1)
        for producer_id, first_offset in got.aborted:
            buffer += _ABORTED.pack(producer_id, first_offset)
            buffer.append(0)
        buffer += _INT32.pack(got.preferred_read_replica)
    write_unsigned(buffer, got.records_bytes + 1)
    if got.records_bytes:
        out.records(got.records)
    if got.diverging is None and got.current_leader is None:
        out.buffer.append(0)
    else:
        out.buffer += _partition_tags(got)


def _partition_tags(got: FetchPartitionResult) -> bytes:
    tags = []
    if got.diverging is not None and got.diverging != (-1, -1):
        tags.append(bytes((_TAG_DIVERGING, _EPOCH_END.size)) + _EPOCH_END.pack(*got.diverging, 0))
    if got.current_leader is not None and got.current_leader != NO_LEADER_KNOWN:
        tags.append(leader_tag(_TAG_LEADER, got.current_leader))
    return bytes((len(tags),)) + b"".join(tags)


def _write_partition(out: _PartWriter, version: int, got: FetchPartitionResult) -> None:
    buffer = out.buffer
    buffer += _START.pack(got.partition, got.error_code, got.high_watermark)
    if version >= 4:
        buffer += _INT64.pack(got.last_stable_offset)
        if version >= 5:
            buffer += _INT64.pack(got.log_start_offset)
        buffer += _INT32.pack(-1 if got.aborted is None else len(got.aborted))
        for producer_id, first_offset in got.aborted or ():
            buffer += _ABORTED.pack(producer_id, first_offset)
    if version >= 11:
        buffer += _INT32.pack(got.preferred_read_replica)
    buffer += _INT32.pack(got.records_bytes)
    if got.records_bytes:
        out.records(got.records)


class FetchPosition(NamedTuple):
    """Where a follower stands in one partition, as its fetch request says it."""

    partition: int
    current_leader_epoch: int
    fetch_offset: int
    last_fetched_epoch: int
    log_start_offset: int
    max_bytes: int


class FollowerFetch(Struct, frozen=True):
    """A follower's Fetch request apart from its partitions."""

    replica_id: int
    replica_epoch: int
    max_wait_ms: int
    min_bytes: int
    max_bytes: int
    session_id: int
    session_epoch: int


def encode_fetch_request(
    version: int,
    correlation_id: int,
    client_id: str,
    fetch: FollowerFetch,
    topics: Sequence[tuple[str, UUID | None, Sequence[FetchPosition]]],
    *,
    forgotten: Sequence[tuple[str, UUID | None, Sequence[int]]] = (),
) -> bytes:
    """Header and body of a follower's Fetch request, v12 to v17."""
    buffer = bytearray(request_header(ApiKey.FETCH, version, correlation_id, client_id))
    if version < 15:
        buffer += _INT32.pack(fetch.replica_id)
    buffer += _FETCH.pack(fetch.max_wait_ms, fetch.min_bytes, fetch.max_bytes, 0, fetch.session_id, fetch.session_epoch)
    write_unsigned(buffer, len(topics) + 1)
    for name, topic_id, positions in topics:
        _write_topic_start(buffer, version, name, topic_id, len(positions))
        for position in positions:
            buffer += _POSITION(*position, 0)
        buffer.append(0)
    write_unsigned(buffer, len(forgotten) + 1)
    for name, topic_id, partitions in forgotten:
        _write_topic_start(buffer, version, name, topic_id, len(partitions))
        buffer += struct.pack(f">{len(partitions)}iB", *partitions, 0)
    buffer.append(1)
    if version < 15:
        buffer.append(0)
    else:
        buffer += bytes((1, 1, _REPLICA_STATE.size)) + _REPLICA_STATE.pack(fetch.replica_id, fetch.replica_epoch, 0)
    return bytes(buffer)
