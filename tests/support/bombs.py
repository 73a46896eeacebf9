"""Batches and message sets that are small as they come and large once somebody looks into them."""

from __future__ import annotations

import functools

from broker_core.records.batch import NO_PRODUCER_ID, NO_SEQUENCE, BatchHeader, Codec, Record, seal_batch
from broker_core.records.compression import compress
from broker_core.records.message_set import build_message
from broker_core.records.record import encode_record

PACKERS = (Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD)
OLD_PACKERS = (Codec.GZIP, Codec.SNAPPY, Codec.LZ4)


def many_records(count: int, codec: Codec, *, timestamp_ms: int = 1_000, key: bytes | None = b"", size: int = 0) -> bytes:
    """A batch of `count` records alike, of seven bytes each where `size` (of the value, all zeros) is 0."""
    record = encode_record(Record(0, timestamp_ms, key, bytes(size)), 0, timestamp_ms)
    return sealed(compress(codec, record * count), count, codec, timestamp_ms)


@functools.cache
def uneven_records(count: int, codec: Codec, timestamp_ms: int = 1_000, *, key: bytes | None = b"k") -> bytes:
    """A batch of `count` records numbered from 0, no two neighbours of the same size."""
    records = (Record(number, timestamp_ms, key, b"value"[: number % 5]) for number in range(count))
    body = b"".join(encode_record(record, 0, timestamp_ms) for record in records)
    return sealed(compress(codec, body), count, codec, timestamp_ms)


def sealed(body: bytes, count: int, codec: Codec, timestamp_ms: int = 1_000) -> bytes:
    header = BatchHeader(0, 0, -1, 2, 0, codec, count - 1, timestamp_ms, timestamp_ms, NO_PRODUCER_ID, -1, NO_SEQUENCE, count)
    return seal_batch(header, body)


def wrapper_of(count: int, codec: Codec, *, size: int = 0) -> bytes:
    """A compressed message of magic 1 that holds `count` messages alike."""
    inner = build_message(Record(0, 1_000, b"k", bytes(size)), 1)
    return build_message(Record(0, 1_000, None, compress(codec, inner * count)), 1, codec)
