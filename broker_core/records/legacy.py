"""Conversion between record batches and the message sets before them.

Stored are batches only: what Produce v0–2 brings is converted up, what Fetch v0–3 asks for is converted down (magic 0 for
v0 and v1, magic 1 for v2 and v3). Both walk every record, and are meant for old clients and segments only; so they work in
steps, between which others may run.
"""

from __future__ import annotations

from broker_core.errors import CorruptData, ErrorCode, KafkaError
from broker_core.records.batch import NO_PRODUCER_ID, NO_SEQUENCE, NO_TIMESTAMP, BatchHeader, reading_records, seal_batch
from broker_core.records.budget import Budget, BudgetSpent, check_converted
from broker_core.records.compression import Codec, compressing
from broker_core.records.header import MAGIC_POSITION, Buffer, check_batch, iter_headers
from broker_core.records.message_set import build_message_set, building_message_set, message_chunks, records_in
from broker_core.records.record import Record, encode_record
from broker_core.records.steps import Steps, finish

__all__ = ["build_message_set", "down_convert", "down_converting", "is_legacy", "up_convert", "up_converting"]


def is_legacy(data: Buffer) -> bool:
    """Whether the bytes of a Produce request start with a message of magic 0 or 1."""
    return len(data) > MAGIC_POSITION and data[MAGIC_POSITION] < 2


def up_convert(data: Buffer) -> bytes:
    """A message set as one batch with offsets from 0, compressed as its last wrapper is; `CorruptData` if unreadable."""
    return finish(up_converting(data, Budget()))


def up_converting(data: Buffer, budget: Budget) -> Steps[bytes]:
    """`up_convert` in steps."""
    plain = bytearray()
    codec, count, base_ms, newest_ms = int(Codec.NONE), 0, NO_TIMESTAMP, NO_TIMESTAMP
    for messages in message_chunks(data):
        for message in messages:
            codec = message.codec or codec
            for records in (yield from records_in(message, budget)):
                for record in records:
                    if not count:
                        base_ms = record.timestamp_ms
                    plain += encode_record(record._replace(offset=count), 0, base_ms)
                    count, newest_ms = count + 1, max(newest_ms, record.timestamp_ms)
                if message.codec:
                    yield
        yield
    if not count:
        raise CorruptData("a message set without messages")
    body = yield from compressing(codec, plain)
    return seal_batch(
        BatchHeader(0, 0, -1, 2, 0, codec, count - 1, base_ms, newest_ms, NO_PRODUCER_ID, -1, NO_SEQUENCE, count),
        body,
    )


def down_convert(data: Buffer, magic: int, first_offset: int) -> bytes:
    """The whole batches of `data` as messages of `magic` 0 or 1.

    Control batches are left out, and of uncompressed batches the records below `first_offset` (some versions of librdkafka
    rely on it). `KafkaError` UNSUPPORTED_COMPRESSION_TYPE for zstd, which the old formats do not know.
    """
    return finish(down_converting(data, magic, first_offset, Budget()))


def down_converting(data: Buffer, magic: int, first_offset: int, budget: Budget) -> Steps[bytes]:
    """`down_convert` in steps, as far as the budget goes; `BudgetSpent` if that is not one batch."""
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
        try:
            out += yield from _down_one(batch, header, magic, first_offset, budget)
        except BudgetSpent:
            if not out:
                raise
            break
    return bytes(out)


def _down_one(batch: memoryview, header: BatchHeader, magic: int, first_offset: int, budget: Budget) -> Steps[bytes]:
    chunks = yield from reading_records(batch, 0, header, budget)
    if header.compression != Codec.NONE:
        chunks = map(_checked, chunks)
    else:
        chunks = ([record for record in chunk if record.offset >= first_offset] for chunk in chunks)
    return (yield from building_message_set(chunks, magic, header.compression, header.timestamp_type))


def _checked(records: list[Record]) -> list[Record]:
    for record in records:
        check_converted(len(record.key or b"") + len(record.value or b""))
    return records
