"""Produce responses by hand."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import NamedTuple

from broker_core.protocol.api import ApiKey
from broker_core.protocol.headers import response_header
from broker_core.protocol.hot_common import NO_LEADER_KNOWN, NodeEndpoint, endpoints_section, leader_tag
from broker_core.protocol.varint import unsigned

_TAG_LEADER = 0
_INT16 = struct.Struct(">h")
_INT32 = struct.Struct(">i")
_INT64 = struct.Struct(">q")
_START = struct.Struct(">ihq")
_TAKEN = {5: struct.Struct(">ihqqq"), 8: struct.Struct(">ihqqqih"), 9: struct.Struct(">ihqqqBBB")}
"""Whole rows without more words, as of records that were taken, by the version from which on they look so."""
_TAKEN_END: dict[int, tuple[int, ...]] = {5: (), 8: (0, -1), 9: (1, 0, 0)}
"""No record errors, no message, from v9 on no tags."""


class ProducedPartition(NamedTuple):
    """What became of one partition of a Produce request; `log_append_time_ms` is -1 unless the broker set the time."""

    partition: int
    error_code: int
    base_offset: int = -1
    log_append_time_ms: int = -1
    log_start_offset: int = -1
    error_message: str | None = None
    current_leader: tuple[int, int] | None = None
    record_errors: Sequence[tuple[int, str]] = ()


def encode_produce_response(
    version: int,
    correlation_id: int,
    throttle_ms: int,
    topics: Sequence[tuple[str, Sequence[ProducedPartition]]],
    endpoints: Sequence[NodeEndpoint] = (),
) -> bytes:
    """Header and body of a Produce response of any version."""
    flexible = version >= 9
    buffer = bytearray(response_header(ApiKey.PRODUCE, version, correlation_id))
    buffer += unsigned(len(topics) + 1) if flexible else _INT32.pack(len(topics))
    for name, partitions in topics:
        raw = name.encode()
        buffer += (unsigned(len(raw) + 1) if flexible else _INT16.pack(len(raw))) + raw
        buffer += unsigned(len(partitions) + 1) if flexible else _INT32.pack(len(partitions))
        for partition in partitions:
            _write_produced(buffer, version, partition)
        if flexible:
            buffer.append(0)
    if version >= 1:
        buffer += _INT32.pack(throttle_ms)
    if flexible:
        buffer += endpoints_section(endpoints) if version >= 10 else b"\0"
    return bytes(buffer)


def _write_produced(buffer: bytearray, version: int, produced: ProducedPartition) -> None:
    partition, code, base_offset, time_ms, start_offset, message, leader, record_errors = produced
    if version >= 5 and message is None and leader is None and not record_errors:
        layout = 9 if version >= 9 else 8 if version == 8 else 5
        buffer += _TAKEN[layout].pack(partition, code, base_offset, time_ms, start_offset, *_TAKEN_END[layout])
        return
    buffer += _START.pack(produced.partition, produced.error_code, produced.base_offset)
    if version >= 2:
        buffer += _INT64.pack(produced.log_append_time_ms)
    if version >= 5:
        buffer += _INT64.pack(produced.log_start_offset)
    if version >= 9:
        _write_flexible_produced_end(buffer, version, produced)
    elif version == 8:
        buffer += _INT32.pack(len(produced.record_errors))
        for index, why in produced.record_errors:
            buffer += _INT32.pack(index)
            _write_string(buffer, why)
        _write_string(buffer, produced.error_message)


def _write_string(buffer: bytearray, text: str | None) -> None:
    raw = None if text is None else text.encode()
    buffer += _INT16.pack(-1 if raw is None else len(raw)) + (raw or b"")


def _write_compact_string(buffer: bytearray, text: str | None) -> None:
    raw = None if text is None else text.encode()
    buffer += unsigned(0 if raw is None else len(raw) + 1) + (raw or b"")


def _write_flexible_produced_end(buffer: bytearray, version: int, produced: ProducedPartition) -> None:
    buffer += unsigned(len(produced.record_errors) + 1)
    for index, why in produced.record_errors:
        buffer += _INT32.pack(index)
        _write_compact_string(buffer, why)
        buffer.append(0)
    _write_compact_string(buffer, produced.error_message)
    if version >= 10 and produced.current_leader is not None and produced.current_leader != NO_LEADER_KNOWN:
        buffer += b"\1" + leader_tag(_TAG_LEADER, produced.current_leader)
    else:
        buffer.append(0)
