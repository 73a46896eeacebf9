"""What an append may bring, decided before a byte is written. Pure.

A batch stays as it came but for its offset, its leader epoch and, where that is wrong or the broker's to say, its newest
timestamp. What clients bring is looked at before (`log_validator.py`).
"""

from __future__ import annotations

from typing import NamedTuple

from msgspec import Struct

from broker_core.config import TopicConfig
from broker_core.errors import CorruptData, ErrorCode, KafkaError
from broker_core.records.batch import BatchHeader, check_batch, iter_headers, read_records, stamp
from broker_core.records.budget import Budget
from broker_core.records.compression import Buffer
from broker_core.records.header import CREATE_TIME, LOG_APPEND_TIME, stamp_time
from broker_core.records.steps import finish
from broker_core.storage.producer_state import AppendOrigin, EndTxnMarker
from broker_core.storage.segments.batch_scan import Span
from broker_core.storage.validation.log_validator import ValidationResult, validate_headers, validating

NO_TIMESTAMP = -1
_CONTROL_KEY_BYTES = 4
_COORDINATOR_EPOCH = slice(2, 6)
_ABORT, _COMMIT = 0, 1


class Rules(NamedTuple):
    """What an append is held to; `now_ms` also stamps it where the topic has LogAppendTime."""

    origin: AppendOrigin
    config: TopicConfig
    now_ms: int

    @property
    def sets_time(self) -> bool:
        return self.config.message_timestamp_type == "LogAppendTime" and self.origin is AppendOrigin.CLIENT


class Prepared(Struct):
    """Batches ready to be written: `spans` are at positions relative to `data`."""

    data: bytearray | memoryview | bytes
    headers: list[BatchHeader]
    spans: list[Span]
    markers: list[EndTxnMarker | None]
    log_append_time_ms: int = NO_TIMESTAMP

    @property
    def first_offset(self) -> int:
        return self.headers[0].base_offset

    @property
    def last_offset(self) -> int:
        return self.headers[-1].last_offset

    @property
    def max_timestamp(self) -> int:
        return self.headers[0].max_timestamp if len(self.headers) == 1 else max(header.max_timestamp for header in self.headers)


def span_of(header: BatchHeader, position: int) -> Span:
    return Span(position, header.size_bytes, header.base_offset, header.last_offset, header.max_timestamp, header.magic)


def control_marker(data: bytes | bytearray | memoryview, position: int, header: BatchHeader) -> EndTxnMarker | None:
    """The transaction marker in a control batch; None for other control records, or where compaction emptied it."""
    records = read_records(data, position, header)
    if not records or records[0].key is None or len(records[0].key) < _CONTROL_KEY_BYTES:
        return None
    kind = int.from_bytes(records[0].key[2:4], "big", signed=True)
    if kind not in (_ABORT, _COMMIT) or records[0].value is None:
        return None
    return EndTxnMarker(kind == _COMMIT, int.from_bytes(records[0].value[_COORDINATOR_EPOCH], "big", signed=True))


def prepare_leader(data: Buffer, next_offset: int, leader_epoch: int, rules: Rules, validated: ValidationResult | None = None) -> Prepared:
    """Checks and stamps what a leader is asked to append at `next_offset`: in place in a writable view, else in a copy.

    `validated`: what a client's bytes were found to be; without it they are looked at here, at once. `KafkaError`: CORRUPT_MESSAGE,
    INVALID_RECORD, INVALID_TIMESTAMP, MESSAGE_TOO_LARGE, RECORD_LIST_TOO_LARGE, UNKNOWN_SERVER_ERROR.
    """
    if rules.origin is not AppendOrigin.CLIENT:
        validated = validate_headers(data, rules.config)
    elif validated is None:
        validated = finish(validating(data, rules.config, rules.now_ms, Budget()))
    data = validated.data
    if len(data) > rules.config.segment_bytes:
        raise KafkaError(ErrorCode.RECORD_LIST_TOO_LARGE, f"{len(data)} bytes are more than segment.bytes={rules.config.segment_bytes}")
    buffer = data if isinstance(data, memoryview) and not data.readonly else bytearray(data)
    prepared = Prepared(buffer, [], [], [], rules.now_ms if rules.sets_time else NO_TIMESTAMP)
    for position, header, newest_ms in validated.batches:
        header.base_offset, header.leader_epoch = next_offset, leader_epoch
        stamp(buffer, position, next_offset, leader_epoch)
        if rules.sets_time:
            stamp_time(buffer, position, header, LOG_APPEND_TIME, rules.now_ms)
        elif newest_ms is not None:
            stamp_time(buffer, position, header, CREATE_TIME, newest_ms)
        prepared.headers.append(header)
        prepared.spans.append(span_of(header, position))
        prepared.markers.append(control_marker(buffer, position, header) if header.is_control else None)
        next_offset = header.next_offset
    return prepared


def prepare_follower(data: bytes | bytearray | memoryview, next_offset: int, *, log_is_empty: bool) -> Prepared:
    """Checks what a leader sent; an incomplete last batch is left out. Offsets and epochs stay as they are.

    The first batch of an empty log may begin before the log's start: DeleteRecords may have put that inside a batch.

    `KafkaError`: CORRUPT_MESSAGE (worth a retry), or UNKNOWN_SERVER_ERROR for offsets below the log's end or falling ones.
    """
    prepared = Prepared(data, [], [], [])
    end = 0
    try:
        for position, header in iter_headers(data):
            check_batch(data, position, header)
            last_offset = header.last_offset
            inside = log_is_empty and not prepared.headers and last_offset >= next_offset
            if header.base_offset < next_offset and not inside:
                raise KafkaError(
                    ErrorCode.UNKNOWN_SERVER_ERROR, f"the leader sent offset {header.base_offset} where {next_offset} or later was due"
                )
            prepared.headers.append(header)
            prepared.spans.append(span_of(header, position))
            prepared.markers.append(control_marker(data, position, header) if header.is_control else None)
            next_offset, end = last_offset + 1, position + header.size_bytes
    except CorruptData as error:
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, str(error)) from error
    if end != len(data):
        prepared.data = memoryview(data)[:end]
    return prepared
