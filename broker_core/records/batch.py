"""Whole record batches: their headers (see `header.py` for the byte table), making one, and reading the records in one."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence

import crc32c

from broker_core.errors import CorruptData
from broker_core.records.budget import DECODED_BYTES_MAX, RECORDS_UNLIMITED, Budget
from broker_core.records.compression import Codec, compress, decompressing
from broker_core.records.header import (
    CONTROL_BIT,
    CRC_START,
    CREATE_TIME,
    HEADER,
    HEADER_BYTES,
    LOG_APPEND_TIME,
    LOG_OVERHEAD_BYTES,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    TRANSACTIONAL_BIT,
    BatchHeader,
    Buffer,
    check_batch,
    iter_headers,
    parse_header,
    stamp,
)
from broker_core.records.message_set import parse_message, records_in
from broker_core.records.record import Record, encode_record, record_chunks
from broker_core.records.steps import Steps, finish

__all__ = [
    "CREATE_TIME",
    "HEADER_BYTES",
    "LOG_APPEND_TIME",
    "LOG_OVERHEAD_BYTES",
    "NO_PRODUCER_ID",
    "NO_SEQUENCE",
    "NO_TIMESTAMP",
    "BatchHeader",
    "Codec",
    "Record",
    "build_batch",
    "check_batch",
    "iter_headers",
    "parse_header",
    "read_records",
    "reading_records",
    "seal_batch",
    "stamp",
]

_UINT32 = struct.Struct(">I")


def build_batch(
    records: Sequence[Record],
    *,
    base_offset: int = 0,
    leader_epoch: int = -1,
    compression: int = Codec.NONE,
    producer_id: int = NO_PRODUCER_ID,
    producer_epoch: int = -1,
    base_sequence: int = NO_SEQUENCE,
    transactional: bool = False,
    control: bool = False,
    timestamp_ms: int | None = None,
    last_offset: int | None = None,
) -> bytes:
    """A batch of the records, whose offsets rise from `base_offset` or above.

    `timestamp_ms` stands for records whose own is negative. `last_offset` keeps a compacted batch's end where it was.
    """
    resolved = [_with_time(record, timestamp_ms) for record in records]
    base_timestamp = resolved[0].timestamp_ms if resolved else NO_TIMESTAMP
    max_timestamp = max((record.timestamp_ms for record in resolved), default=NO_TIMESTAMP)
    end = last_offset if last_offset is not None else (resolved[-1].offset if resolved else base_offset)
    attributes = int(compression) | (TRANSACTIONAL_BIT if transactional else 0) | (CONTROL_BIT if control else 0)
    body = compress(compression, b"".join(encode_record(record, base_offset, base_timestamp) for record in resolved))
    header = BatchHeader(
        base_offset,
        HEADER_BYTES + len(body),
        leader_epoch,
        2,
        0,
        attributes,
        end - base_offset,
        base_timestamp,
        max_timestamp,
        producer_id,
        producer_epoch,
        base_sequence,
        len(resolved),
    )
    return seal_batch(header, body)


def seal_batch(header: BatchHeader, body: bytes) -> bytes:
    """The batch of a header and its records as they are stored; size and CRC are worked out here."""
    batch = bytearray(
        HEADER.pack(
            header.base_offset,
            HEADER_BYTES - LOG_OVERHEAD_BYTES + len(body),
            header.leader_epoch,
            header.magic,
            0,
            header.attributes,
            header.last_offset_delta,
            header.base_timestamp,
            header.max_timestamp,
            header.producer_id,
            header.producer_epoch,
            header.base_sequence,
            header.record_count,
        )
    )
    batch += body
    _UINT32.pack_into(batch, 17, crc32c.crc32c(memoryview(batch)[CRC_START:]))
    return bytes(batch)


def _with_time(record: Record, timestamp_ms: int | None) -> Record:
    if record.timestamp_ms >= 0 or timestamp_ms is None:
        return record
    return record._replace(timestamp_ms=timestamp_ms)


def read_records(buffer: Buffer, position: int, header: BatchHeader, limit_bytes: int = DECODED_BYTES_MAX) -> list[Record]:
    """The records of the batch at `position`, of any magic, at once; `CorruptData` when they cannot be read."""
    steps = reading_records(buffer, position, header, Budget(limit_bytes, RECORDS_UNLIMITED))
    return [record for chunk in finish(steps) for record in chunk]


def reading_records(buffer: Buffer, position: int, header: BatchHeader, budget: Budget) -> Steps[Iterator[list[Record]]]:
    """The same in steps, first to decompress, then for each few records; `CorruptData` from either."""
    end = position + header.size_bytes
    if end > len(buffer):
        raise CorruptData(f"the batch of {header.size_bytes} bytes at {position} is cut at {len(buffer) - position}")
    view = memoryview(buffer)[position:end]
    if header.magic < 2:
        message = parse_message(view)
        if message.size_bytes != len(view):
            raise CorruptData(f"{len(view) - message.size_bytes} bytes after the message of offset {message.offset}")
        return (yield from records_in(message, budget))
    budget.earn(len(view))
    budget.take_records(header.record_count)
    data = (yield from decompressing(header.compression, view[HEADER_BYTES:], budget)) if header.record_count else b""
    chunks = record_chunks(data, header.record_count, header.base_offset, header.base_timestamp)
    return _at_append_time(chunks, header.max_timestamp) if header.timestamp_type == LOG_APPEND_TIME else chunks


def _at_append_time(chunks: Iterator[list[Record]], timestamp_ms: int) -> Iterator[list[Record]]:
    return ([record._replace(timestamp_ms=timestamp_ms) for record in chunk] for chunk in chunks)
