"""One batch without the records that compaction removes.

Offsets, sequence numbers and the batch's last offset stay, so producer state and replicas agree with the original.
Attribute bit 6 (KIP-534) says that the base timestamp is the time from which the batch's tombstones may go.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

import crc32c

from broker_core.records.batch import BatchHeader, Record
from broker_core.records.compression import compress
from broker_core.records.header import CRC_START, HEADER, HEADER_BYTES, LOG_APPEND_TIME, LOG_OVERHEAD_BYTES
from broker_core.records.record import encode_record

DELETE_HORIZON_BIT = 0x40
_UINT32 = struct.Struct(">I")


def delete_horizon(header: BatchHeader) -> int | None:
    """From when on the batch's tombstones may go, None while that is not set."""
    return header.base_timestamp if header.attributes & DELETE_HORIZON_BIT else None


def rewrite_batch(header: BatchHeader, records: Sequence[Record], horizon_ms: int | None) -> bytes:
    """A batch like `header`'s with just these records (perhaps none) and this delete horizon."""
    base_timestamp = horizon_ms if horizon_ms is not None else header.base_timestamp
    max_timestamp = header.max_timestamp
    if records and header.timestamp_type != LOG_APPEND_TIME:
        max_timestamp = max(record.timestamp_ms for record in records)
    attributes = header.attributes & ~DELETE_HORIZON_BIT | (DELETE_HORIZON_BIT if horizon_ms is not None else 0)
    plain = b"".join(encode_record(record, header.base_offset, base_timestamp) for record in records)
    body = compress(header.compression, plain) if records else b""
    batch = bytearray(
        HEADER.pack(
            header.base_offset,
            HEADER_BYTES - LOG_OVERHEAD_BYTES + len(body),
            header.leader_epoch,
            2,
            0,
            attributes,
            header.last_offset_delta,
            base_timestamp,
            max_timestamp,
            header.producer_id,
            header.producer_epoch,
            header.base_sequence,
            len(records),
        )
    )
    batch += body
    _UINT32.pack_into(batch, 17, crc32c.crc32c(memoryview(batch)[CRC_START:]))
    return bytes(batch)
