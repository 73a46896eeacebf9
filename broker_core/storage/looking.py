"""What an append has to see of the records inside batches, in steps.

Batches stay opaque but where a topic wants its own codec, is compacted (each record needs a key) or limits how far off a
record's time may be.
"""

from __future__ import annotations

from collections.abc import Callable

from broker_core.config import TopicConfig
from broker_core.config.key import LONG_MAX
from broker_core.errors import CorruptData, ErrorCode, RecordsRefused
from broker_core.records.batch import NO_TIMESTAMP, BatchHeader, Record, check_batch, parse_header, seal_batch
from broker_core.records.budget import Budget, refusal
from broker_core.records.compression import Buffer, compressing, decompressing
from broker_core.records.header import COMPRESSION_MASK, HEADER_BYTES, LOG_APPEND_TIME
from broker_core.records.record import record_chunks
from broker_core.records.steps import Steps
from broker_core.storage.recompress import AS_PRODUCED, level_for, wanted_codec
from broker_core.storage.rewrite import DELETE_HORIZON_BIT

RECORD_ERRORS_MAX = 1_000
APPEND_TIME = "LogAppendTime"

Check = Callable[[Record], str | None]


def must_look(config: TopicConfig) -> bool:
    """Whether a client's batches for the topic may have to be looked into."""
    return config.compression_type != AS_PRODUCED or "compact" in config.cleanup_policy or _limits_time(config)


def _limits_time(config: TopicConfig) -> bool:
    return config.message_timestamp_type != APPEND_TIME and (config.oldest_ms != LONG_MAX or config.newest_ms != LONG_MAX)


def looking(data: Buffer, config: TopicConfig, now_ms: int, budget: Budget) -> Steps[Buffer]:
    """The batches as they are to be appended, each in the topic's codec; batches that no log stores are left to who appends.

    `KafkaError`: CORRUPT_MESSAGE, MESSAGE_TOO_LARGE or REQUEST_TIMED_OUT (they would cost more than the budget), INVALID_RECORD
    and INVALID_TIMESTAMP (`RecordsRefused`, for the first `RECORD_ERRORS_MAX`).
    """
    if not must_look(config) or len(data) > config.segment_bytes:
        return data
    found: bytearray | None = None if config.compression_type == AS_PRODUCED else bytearray()
    position = 0
    try:
        while position < len(data):
            header = parse_header(data, position)
            check_batch(data, position, header)
            end = position + header.size_bytes
            batch = yield from _looked_into(memoryview(data)[position:end], header, config, now_ms, budget)
            if found is not None:
                found += batch
            position = end
    except CorruptData as error:
        raise refusal(error) from error
    return data if found is None else found


def _looked_into(batch: memoryview, header: BatchHeader, config: TopicConfig, now_ms: int, budget: Budget) -> Steps[Buffer]:
    """One batch, as it is or compressed anew."""
    codec = wanted_codec(config, header)
    checks = _checks(config, header, now_ms)
    too_large = codec == header.compression and len(batch) > config.max_message_bytes
    if header.magic != 2 or header.is_control or too_large or (codec == header.compression and not checks):
        return batch
    budget.take_records(header.record_count)
    plain = yield from decompressing(header.compression, batch[HEADER_BYTES:], budget)
    newest_ms = yield from _checked(plain, header, checks)
    if codec == header.compression:
        return batch
    body = yield from compressing(codec, plain, level_for(codec, config))
    header.attributes = header.attributes & ~(COMPRESSION_MASK | DELETE_HORIZON_BIT) | codec
    header.max_timestamp = header.max_timestamp if header.timestamp_type == LOG_APPEND_TIME else newest_ms
    return seal_batch(header, body)


def _checked(plain: Buffer, header: BatchHeader, checks: list[tuple[ErrorCode, Check]]) -> Steps[int]:
    """The newest timestamp of the records, which pass all checks."""
    newest_ms, index = NO_TIMESTAMP, 0
    refused: dict[ErrorCode, list[tuple[int, str]]] = {}
    for records in record_chunks(plain, header.record_count, header.base_offset, header.base_timestamp):
        newest_ms = max(newest_ms, *[record.timestamp_ms for record in records])
        for code, check in checks:
            refused.setdefault(code, []).extend(
                (index + at, why) for at, record in enumerate(records) if (why := check(record)) is not None
            )
        index += len(records)
        if any(len(errors) >= RECORD_ERRORS_MAX for errors in refused.values()):
            break
        yield
    for code, errors in refused.items():
        if errors:
            raise RecordsRefused(code, errors[:RECORD_ERRORS_MAX])
    return newest_ms


def _checks(config: TopicConfig, header: BatchHeader, now_ms: int) -> list[tuple[ErrorCode, Check]]:
    """What each record of a batch is held to. Times are only looked at where the oldest is limited, or the newest is too new."""
    checks: list[tuple[ErrorCode, Check]] = []
    before_ms, after_ms = config.oldest_ms, config.newest_ms
    if _limits_time(config) and (before_ms != LONG_MAX or header.max_timestamp - now_ms > after_ms):
        why_time = f"the timestamp is not within {before_ms} ms before and {after_ms} ms after now ({now_ms})"
        append_time_ms = header.max_timestamp if header.timestamp_type == LOG_APPEND_TIME else None

        def in_time(record: Record) -> str | None:
            time_ms = record.timestamp_ms if append_time_ms is None else append_time_ms
            return why_time if time_ms != NO_TIMESTAMP and not -before_ms <= time_ms - now_ms <= after_ms else None

        checks.append((ErrorCode.INVALID_TIMESTAMP, in_time))
    if "compact" in config.cleanup_policy:
        checks.append((ErrorCode.INVALID_RECORD, _has_key))
    return checks


def _has_key(record: Record) -> str | None:
    return "a compacted topic accepts no record without a key" if record.key is None else None
