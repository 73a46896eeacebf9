"""Conversion between record batches and the message sets before them.

Stored are batches only: what Produce v0–2 brings is converted up, what Fetch v0–3 asks for is converted down (magic 0 for
v0 and v1, magic 1 for v2 and v3). Both walk every record, and are meant for old clients and segments only; so they work in
steps, between which others may run.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from broker_core.errors import CorruptData, ErrorCode, KafkaError
from broker_core.records.batch import LOG_APPEND_TIME, NO_PRODUCER_ID, NO_SEQUENCE, NO_TIMESTAMP, BatchHeader, seal_batch
from broker_core.records.compression import MAX_OUTPUT_BYTES, Codec, compressing, decompressing
from broker_core.records.header import HEADER_BYTES, MAGIC_POSITION, Buffer, check_batch, iter_headers
from broker_core.records.message_set import (
    build_message_set,
    building_message_set,
    inner_messages,
    parse_message,
    parsing_messages,
    records_of,
)
from broker_core.records.record import Record, encode_record, record_chunks
from broker_core.records.steps import RECORDS_PER_STEP, Steps, finish

__all__ = ["build_message_set", "down_convert", "down_converting", "is_legacy", "up_convert", "up_converting"]


def is_legacy(data: Buffer) -> bool:
    """Whether the bytes of a Produce request start with a message of magic 0 or 1."""
    return len(data) > MAGIC_POSITION and data[MAGIC_POSITION] < 2


def up_convert(data: Buffer, limit_bytes: int = MAX_OUTPUT_BYTES) -> bytes:
    """A message set as one batch with offsets from 0, compressed as its first message is; `CorruptData` if unreadable."""
    return finish(up_converting(data, limit_bytes))


def up_converting(data: Buffer, limit_bytes: int = MAX_OUTPUT_BYTES) -> Steps[bytes]:
    """`up_convert` in steps."""
    messages = yield from parsing_messages(bytes(data))
    if not messages:
        raise CorruptData("a message set without messages")
    plain = bytearray()
    count, base_ms, newest_ms = 0, NO_TIMESTAMP, NO_TIMESTAMP
    for message in messages:
        for record in records_of(message, (yield from inner_messages(message, limit_bytes))):
            if not count:
                base_ms = record.timestamp_ms
            plain += encode_record(record._replace(offset=count), 0, base_ms)
            count, newest_ms = count + 1, max(newest_ms, record.timestamp_ms)
            if count % RECORDS_PER_STEP == 0:
                yield
    codec = messages[0].codec
    body = yield from compressing(codec, plain)
    return seal_batch(
        BatchHeader(0, 0, -1, 2, 0, codec, count - 1, base_ms, newest_ms, NO_PRODUCER_ID, -1, NO_SEQUENCE, count),
        body,
    )


def down_convert(data: Buffer, magic: int, first_offset: int, limit_bytes: int = MAX_OUTPUT_BYTES) -> bytes:
    """The whole batches of `data` as messages of `magic` 0 or 1.

    Control batches are left out, and of uncompressed batches the records below `first_offset` (some versions of librdkafka
    rely on it). `KafkaError` UNSUPPORTED_COMPRESSION_TYPE for zstd, which the old formats do not know.
    """
    return finish(down_converting(data, magic, first_offset, limit_bytes))


def down_converting(data: Buffer, magic: int, first_offset: int, limit_bytes: int = MAX_OUTPUT_BYTES) -> Steps[bytes]:
    """`down_convert` in steps."""
    out = bytearray()
    for position, header in iter_headers(data):
        if header.is_control:
            continue
        if header.compression == Codec.ZSTD:
            raise KafkaError(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, f"the zstd batch at offset {header.base_offset} needs Fetch v10")
        batch = memoryview(data)[position : position + header.size_bytes]
        if header.magic <= magic:
            out += batch
            continue
        check_batch(batch, 0, header)
        out += yield from _down_one(batch, header, magic, first_offset, limit_bytes)
    return bytes(out)


def _down_one(batch: memoryview, header: BatchHeader, magic: int, first_offset: int, limit_bytes: int) -> Steps[bytes]:
    chunks = yield from _record_chunks(batch, header, limit_bytes)
    if header.magic == 2 and header.timestamp_type == LOG_APPEND_TIME:
        chunks = ([record._replace(timestamp_ms=header.max_timestamp) for record in chunk] for chunk in chunks)
    if header.compression == Codec.NONE:
        chunks = ([record for record in chunk if record.offset >= first_offset] for chunk in chunks)
    return (yield from building_message_set(chunks, magic, header.compression, header.timestamp_type))


def _record_chunks(batch: memoryview, header: BatchHeader, limit_bytes: int) -> Steps[Iterator[list[Record]]]:
    if header.magic < 2:
        message = parse_message(bytes(batch))
        records = records_of(message, (yield from inner_messages(message, limit_bytes)))
        return iter(lambda: list(islice(records, RECORDS_PER_STEP)), [])
    data = (yield from decompressing(header.compression, batch[HEADER_BYTES:], limit_bytes)) if header.record_count else b""
    return record_chunks(data, header.record_count, header.base_offset, header.base_timestamp)
