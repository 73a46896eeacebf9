"""Whole record batches: their headers (see `header.py` for the byte table), making one, and reading the records in one."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import crc32c

from broker_core.errors import CorruptData
from broker_core.records.compression import MAX_OUTPUT_BYTES, Codec, compress, decompress
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
from broker_core.records.message_set import read_message
from broker_core.records.record import Record, decode_records, encode_record

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


def read_records(buffer: Buffer, position: int, header: BatchHeader, limit_bytes: int = MAX_OUTPUT_BYTES) -> list[Record]:
    """The records of the batch at `position`, of any magic; `CorruptData` when they cannot be read."""
    end = position + header.size_bytes
    if end > len(buffer):
        raise CorruptData(f"the batch of {header.size_bytes} bytes at {position} is cut at {len(buffer) - position}")
    with memoryview(buffer) as view:
        if header.magic < 2:
            return read_message(bytes(view[position:end]), limit_bytes)
        data = decompress(header.compression, view[position + HEADER_BYTES : end], limit_bytes) if header.record_count else b""
    records = decode_records(data, header.record_count, header.base_offset, header.base_timestamp)
    if header.timestamp_type == LOG_APPEND_TIME:
        return [record._replace(timestamp_ms=header.max_timestamp) for record in records]
    return records
