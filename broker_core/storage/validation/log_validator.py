"""What a leader asks of the batches that a client brings, before anything of them is written; in steps.

The checks, their order and their errors are those of Apache Kafka 3.9 (`UnifiedLog.analyzeAndValidateRecords`, then
`LogValidator`): the header, its CRC, its counts, then every record by its structure, decompressed where it is compressed.
A record whose own length is wrong is refused in a compressed batch as well, where Kafka looks past it and no client can
read it. What an append has to know comes back with the batches.
"""

from __future__ import annotations

from typing import NamedTuple

from msgspec import Struct

from broker_core.config import TopicConfig
from broker_core.config.key import LONG_MAX
from broker_core.errors import CorruptData, ErrorCode, KafkaError
from broker_core.records.batch import BatchHeader, check_batch, parse_header, seal_batch
from broker_core.records.budget import Budget, BudgetSpent, refusal
from broker_core.records.compression import Buffer, Codec, compressing, decompressing
from broker_core.records.header import (
    COMPRESSION_MASK,
    DELETE_HORIZON_BIT,
    HEADER_BYTES,
    TIMESTAMP_TYPE_BIT,
    check_crc,
    header_as_it_is,
)
from broker_core.records.record import encode_record, record_chunks
from broker_core.records.steps import Steps
from broker_core.records.walk import Walked, check_count, walking
from broker_core.storage.validation.recompress import AS_PRODUCED, level_for, wanted_codec
from broker_core.storage.validation.record_rules import APPEND_TIME, checking_records, newest_ms

Plain = bytes | bytearray
_CODECS = frozenset(Codec)


class ValidatedBatch(NamedTuple):
    """A batch at `position`; `newest_ms` is what its header has to say of its newest record, None where it may stay."""

    position: int
    header: BatchHeader
    newest_ms: int | None


class ValidationResult(Struct):
    """The bytes to append, each batch in the topic's codec, and the batches in them."""

    data: Buffer
    batches: list[ValidatedBatch]


def validating(data: Buffer, config: TopicConfig, now_ms: int, budget: Budget) -> Steps[ValidationResult]:
    """`KafkaError`: CORRUPT_MESSAGE, INVALID_RECORD, INVALID_TIMESTAMP, UNKNOWN_SERVER_ERROR (cannot be decompressed),
    MESSAGE_TOO_LARGE and REQUEST_TIMED_OUT (also where that would cost more than the budget).
    """
    batches: list[ValidatedBatch] = []
    rewritten: bytearray | None = None
    position = 0
    while position < len(data):
        header = _header(data, position)
        check_header(data, position, header, config)
        batch = memoryview(data)[position : position + header.size_bytes]
        budget.earn(len(batch))
        plain, walked = yield from _walked(batch, header, budget)
        yield from checking_records(plain, header, walked, config, now_ms)
        found = ValidatedBatch(position if rewritten is None else len(rewritten), header, newest_ms(header, walked, config))
        position += header.size_bytes
        if wanted_codec(config, header) != header.compression:
            rewritten = bytearray(data[: found.position]) if rewritten is None else rewritten
            rewritten += yield from _packed_anew(plain, found, walked, config)
            found = ValidatedBatch(found.position, parse_header(rewritten, found.position), None)
            check_size(found.header, config)
        elif not walked.in_order and header.compression:
            raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, "the records of a compressed batch are not numbered from 0 on")
        elif rewritten is not None:
            rewritten += batch
        batches.append(found)
    if not batches:
        raise KafkaError(ErrorCode.INVALID_RECORD, "the request has no record batch for the partition")
    return ValidationResult(data if rewritten is None else rewritten, batches)


def must_validate(config: TopicConfig) -> bool:
    """Whether a topic may ask more of batches than that they are whole: its own codec, keys, or times within limits."""
    return (
        config.compression_type != AS_PRODUCED
        or "compact" in config.cleanup_policy
        or (config.message_timestamp_type != APPEND_TIME and (config.oldest_ms != LONG_MAX or config.newest_ms != LONG_MAX))
    )


def validate_headers(data: Buffer, config: TopicConfig) -> ValidationResult:
    """What this broker has made itself: whole batches of magic 2 with right CRCs, not too large."""
    found: list[ValidatedBatch] = []
    position = 0
    while position < len(data):
        header = _header(data, position)
        check_size(header, config)
        try:
            check_batch(data, position, header)
        except CorruptData as error:
            raise KafkaError(ErrorCode.CORRUPT_MESSAGE, str(error)) from error
        found.append(ValidatedBatch(position, header, None))
        position += header.size_bytes
    if not found:
        raise KafkaError(ErrorCode.INVALID_RECORD, "nothing to append")
    return ValidationResult(data, found)


def _header(data: Buffer, position: int) -> BatchHeader:
    try:
        header = header_as_it_is(data, position)
    except CorruptData as error:
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, str(error)) from error
    if header.magic != 2:
        raise KafkaError(ErrorCode.INVALID_RECORD, f"magic {header.magic} is not what logs store (2)")
    if position + header.size_bytes > len(data):
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, f"a batch of {header.size_bytes} bytes is cut at {len(data) - position}")
    return header


def check_header(data: Buffer, position: int, header: BatchHeader, config: TopicConfig) -> None:
    """What can be told without the records, in Kafka's order."""
    if header.base_offset != 0:
        raise KafkaError(ErrorCode.INVALID_RECORD, f"a producer's batch begins at offset 0, not {header.base_offset}")
    check_size(header, config)
    try:
        check_crc(data, position, header)
    except CorruptData as error:
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, str(error)) from error
    if header.compression not in _CODECS:
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, f"compression codec {header.compression} does not exist")
    if header.record_count <= 0 or header.record_count != header.last_offset_delta + 1:
        raise KafkaError(
            ErrorCode.INVALID_RECORD, f"a batch of {header.record_count} records claims the last offset delta {header.last_offset_delta}"
        )
    if header.is_control:
        raise KafkaError(ErrorCode.INVALID_RECORD, "clients may not write control batches")
    if header.has_producer_id and (header.base_sequence < 0 or header.producer_epoch < 0):
        raise KafkaError(ErrorCode.INVALID_RECORD, f"producer {header.producer_id} sent no sequence number or epoch")


def check_size(header: BatchHeader, config: TopicConfig) -> None:
    if header.size_bytes > config.max_message_bytes:
        raise KafkaError(
            ErrorCode.MESSAGE_TOO_LARGE, f"a batch of {header.size_bytes} bytes is more than max.message.bytes={config.max_message_bytes}"
        )


def _walked(batch: memoryview, header: BatchHeader, budget: Budget) -> Steps[tuple[Plain, Walked]]:
    """The plain records, and what a walk over them found."""
    try:
        plain = yield from _plain(batch[HEADER_BYTES:], header, budget)
    except BudgetSpent as error:
        raise refusal(error) from error
    except CorruptData as error:
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, f"the records cannot be decompressed: {error}") from error
    try:
        check_count(plain, header.record_count)
        if header.compression:
            budget.take_records(header.record_count)
        return plain, (yield from walking(plain, header.record_count))
    except BudgetSpent as error:
        raise refusal(error) from error
    except CorruptData as error:
        raise KafkaError(ErrorCode.INVALID_RECORD, f"the batch cannot be read: {error}") from error


def _plain(body: memoryview, header: BatchHeader, budget: Budget) -> Steps[Plain]:
    """Zstd makes nothing of nothing; the other codecs have a header at least."""
    if header.compression == Codec.ZSTD and not body:
        return b""
    plain = yield from decompressing(header.compression, body, budget)
    return bytes(plain) if isinstance(plain, memoryview) else plain


def _packed_anew(plain: Plain, found: ValidatedBatch, walked: Walked, config: TopicConfig) -> Steps[bytes]:
    """The batch in the topic's codec, its records numbered from 0 on."""
    header = found.header
    if not walked.in_order:
        numbered = bytearray()
        offset = 0
        for records in record_chunks(plain, header.record_count, 0, header.base_timestamp):
            for record in records:
                numbered += encode_record(record._replace(offset=offset), 0, header.base_timestamp)
                offset += 1
            yield
        plain = numbered
    codec = wanted_codec(config, header)
    body = yield from compressing(codec, plain, level_for(codec, config))
    header.attributes = header.attributes & ~(COMPRESSION_MASK | DELETE_HORIZON_BIT | TIMESTAMP_TYPE_BIT) | codec
    header.max_timestamp = header.max_timestamp if found.newest_ms is None else found.newest_ms
    return seal_batch(header, body)
