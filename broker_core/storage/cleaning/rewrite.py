"""One batch without the records that compaction removes.

Offsets, sequence numbers and the batch's last offset stay, so producer state and replicas agree with the original.
Attribute bit 6 (KIP-534) says that the base timestamp is the time from which the batch's tombstones may go.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from broker_core.records.batch import BatchHeader, Record, seal_batch
from broker_core.records.compression import compressing
from broker_core.records.header import COMPRESSION_MASK, DELETE_HORIZON_BIT, LOG_APPEND_TIME
from broker_core.records.record import encode_record
from broker_core.records.steps import RECORDS_PER_STEP, Steps


def delete_horizon(header: BatchHeader) -> int | None:
    """From when on the batch's tombstones may go, None while that is not set."""
    return header.base_timestamp if header.attributes & DELETE_HORIZON_BIT else None


def rewriting(header: BatchHeader, records: Sequence[Record], horizon_ms: int | None) -> Steps[bytes]:
    """A batch like `header`'s with just these records (perhaps none) and this delete horizon."""
    base_timestamp = horizon_ms if horizon_ms is not None else header.base_timestamp
    max_timestamp = header.max_timestamp
    if records and header.timestamp_type != LOG_APPEND_TIME:
        max_timestamp = max(record.timestamp_ms for record in records)
    attributes = header.attributes & ~DELETE_HORIZON_BIT | (DELETE_HORIZON_BIT if horizon_ms is not None else 0)
    if not records:
        attributes &= ~COMPRESSION_MASK
    plain = bytearray()
    for number, record in enumerate(records, 1):
        plain += encode_record(record, header.base_offset, base_timestamp)
        if number % RECORDS_PER_STEP == 0:
            yield
    body = (yield from compressing(header.compression, plain)) if records else b""
    changed = replace(
        header, magic=2, attributes=attributes, base_timestamp=base_timestamp, max_timestamp=max_timestamp, record_count=len(records)
    )
    return seal_batch(changed, body)
