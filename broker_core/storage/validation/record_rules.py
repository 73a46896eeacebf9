"""What a topic asks of the records of a client's batch: keys where it is compacted, times within limits.

Kafka's rules and errors (`LogValidator.validateRecord`). What the walk over the records found tells whether one may break
them; only then are they read one by one, to name those to blame.
"""

from __future__ import annotations

from broker_core.config import TopicConfig
from broker_core.config.key import LONG_MAX
from broker_core.errors import CorruptData, ErrorCode, KafkaError, RecordsRefused
from broker_core.records.budget import BudgetSpent
from broker_core.records.compression import Buffer
from broker_core.records.header import LOG_APPEND_TIME, NO_TIMESTAMP, BatchHeader
from broker_core.records.record import Record, record_chunks
from broker_core.records.steps import Steps
from broker_core.records.walk import Walked

RECORD_ERRORS_MAX = 1_000
APPEND_TIME = "LogAppendTime"
WHY_KEY = "a compacted topic accepts no record without a key"
_INT64_SPAN = 1 << 64


def checking_records(plain: Buffer, header: BatchHeader, walked: Walked, config: TopicConfig, now_ms: int) -> Steps[None]:
    """`RecordsRefused` with INVALID_RECORD (keys) or INVALID_TIMESTAMP, for the first `RECORD_ERRORS_MAX` records."""
    compacted = "compact" in config.cleanup_policy
    if not (compacted and walked.keyless) and not _may_be_off(header, walked, config, now_ms):
        return
    why_time = f"the timestamp is not within {config.oldest_ms} ms before and {config.newest_ms} ms after now ({now_ms})"
    errors: list[tuple[int, str]] = []
    first, code = 0, ErrorCode.INVALID_RECORD
    try:
        for records in record_chunks(plain, header.record_count, 0, header.base_timestamp):
            for index, record in enumerate(records, first):
                if compacted and record.key is None:
                    errors.append((index, WHY_KEY))
                elif not _in_time(record, header, config, now_ms):
                    errors.append((index, why_time))
                    code = ErrorCode.INVALID_TIMESTAMP
            first += len(records)
            if len(errors) >= RECORD_ERRORS_MAX:
                break
            yield
    except BudgetSpent:
        raise
    except CorruptData as error:
        raise KafkaError(ErrorCode.INVALID_RECORD, str(error)) from error
    if errors:
        raise RecordsRefused(code, errors[:RECORD_ERRORS_MAX])


def newest_ms(header: BatchHeader, walked: Walked, config: TopicConfig) -> int | None:
    """What the header has to say of the newest record's time; None where it does, or the broker's own time takes its place."""
    if config.message_timestamp_type == APPEND_TIME:
        return None
    newest = max(NO_TIMESTAMP, _range_ms(header, walked)[1])
    return None if newest == header.max_timestamp and header.timestamp_type != LOG_APPEND_TIME else newest


def _may_be_off(header: BatchHeader, walked: Walked, config: TopicConfig, now_ms: int) -> bool:
    if config.message_timestamp_type == APPEND_TIME:
        return header.timestamp_type == LOG_APPEND_TIME
    oldest, newest = _range_ms(header, walked)
    if header.timestamp_type == LOG_APPEND_TIME and oldest == NO_TIMESTAMP:
        return True
    if config.oldest_ms == LONG_MAX and config.newest_ms == LONG_MAX:
        return False
    return now_ms - oldest > config.oldest_ms or newest - now_ms > config.newest_ms


def _in_time(record: Record, header: BatchHeader, config: TopicConfig, now_ms: int) -> bool:
    """A record without a time of its own, and any where the broker sets it, must not claim that the broker has set it."""
    broker_set_it = header.timestamp_type == LOG_APPEND_TIME
    time_ms = header.max_timestamp if broker_set_it else record.timestamp_ms
    if config.message_timestamp_type == APPEND_TIME or time_ms == NO_TIMESTAMP:
        return not broker_set_it
    behind_ms = _int64(now_ms - time_ms)
    return behind_ms <= config.oldest_ms and _int64(-behind_ms) <= config.newest_ms


def _range_ms(header: BatchHeader, walked: Walked) -> tuple[int, int]:
    """The oldest and the newest time of a batch's records."""
    if header.timestamp_type == LOG_APPEND_TIME:
        return header.max_timestamp, header.max_timestamp
    oldest, newest = header.base_timestamp + walked.least_delta_ms, header.base_timestamp + walked.most_delta_ms
    if oldest != _int64(oldest) or newest != _int64(newest):
        raise KafkaError(ErrorCode.INVALID_TIMESTAMP, f"times from {oldest} to {newest} ms are none that a record can have")
    return oldest, newest


def _int64(value: int) -> int:
    """As a Java long keeps it."""
    return (value + (_INT64_SPAN >> 1)) % _INT64_SPAN - (_INT64_SPAN >> 1)
