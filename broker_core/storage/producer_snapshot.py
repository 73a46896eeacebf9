"""`<offset>.snapshot`: the producer state up to (not including) an offset.

    version 1 (int16), CRC-32C of all bytes from the 7th (uint32), count (int32), then 46 bytes for each producer:
    id (int64), epoch (int16), last sequence (int32), last offset (int64), offset delta of the last batch (int32),
    timestamp (int64), coordinator epoch (int32), first offset of the open transaction or -1 (int64)

Only the last batch of the five survives. A corrupt file is deleted: an older snapshot and the log make it again.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable

import crc32c

from broker_core.errors import CorruptData
from broker_core.storage.producer_state import NO_OFFSET, BatchMetadata, ProducerStateEntry

VERSION = 1
SNAPSHOT_LIMIT_BYTES = 256 * 1024 * 1024
_HEAD = struct.Struct(">hI")
_COUNT = struct.Struct(">i")
_ENTRY = struct.Struct(">qhiqiqiq")


def encode_snapshot(entries: Iterable[ProducerStateEntry]) -> bytes:
    rows = [_encode_entry(entry) for entry in entries]
    body = _COUNT.pack(len(rows)) + b"".join(rows)
    return _HEAD.pack(VERSION, crc32c.crc32c(body)) + body


def _encode_entry(entry: ProducerStateEntry) -> bytes:
    delta = entry.batches[-1].offset_delta if entry.batches else 0
    return _ENTRY.pack(
        entry.producer_id,
        entry.epoch,
        entry.last_sequence,
        entry.last_offset,
        delta,
        entry.last_timestamp,
        entry.coordinator_epoch,
        entry.txn_first_offset,
    )


def decode_snapshot(data: bytes, path: str) -> list[ProducerStateEntry]:
    """`CorruptData` names the file and what is wrong."""
    head = _HEAD.size + _COUNT.size
    if len(data) < head:
        raise CorruptData(f"{path}: {len(data)} bytes are too few for a snapshot")
    version, crc = _HEAD.unpack_from(data)
    if version != VERSION:
        raise CorruptData(f"{path}: version {version}, known is {VERSION}")
    if crc32c.crc32c(data[_HEAD.size :]) != crc:
        raise CorruptData(f"{path}: CRC does not match")
    (count,) = _COUNT.unpack_from(data, _HEAD.size)
    if count < 0 or len(data) != head + count * _ENTRY.size:
        raise CorruptData(f"{path}: {count} entries announced in {len(data)} bytes")
    return [_decode_entry(data, head + index * _ENTRY.size) for index in range(count)]


def _decode_entry(data: bytes, position: int) -> ProducerStateEntry:
    producer_id, epoch, sequence, offset, delta, timestamp, coordinator_epoch, txn_first = _ENTRY.unpack_from(data, position)
    batches = (BatchMetadata(sequence, offset, delta, timestamp),) if offset >= 0 else ()
    return ProducerStateEntry(producer_id, epoch, coordinator_epoch, timestamp, txn_first if txn_first >= 0 else NO_OFFSET, batches)
