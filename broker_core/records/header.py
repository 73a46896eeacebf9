"""Headers of record batches (magic 2), as producers send them and segments keep them.

    bytes   field                              bytes   field
    0–8     base offset                        27–35   base timestamp, ms
    8–12    length of what follows             35–43   max timestamp, ms
    12–16   partition leader epoch             43–51   producer id
    16      magic                              51–53   producer epoch
    17–21   CRC-32C of bytes 21 to the end     53–57   base sequence
    21–23   attributes                         57–61   record count
    23–27   last offset delta                  61–     records, compressed as one block

Base offset and leader epoch lie outside the CRC, so a broker stamps them without touching the rest. Attributes: bits 0–2
compression, 3 timestamp type (1: log append time), 4 transactional, 5 control.

Message sets of magic 0 and 1 (`legacy.py`) share bytes 0–12 and 16, so their headers can be read here as well: one entry
is a batch of one record, or, when compressed, a wrapper that carries the offset of its last record.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator

import crc32c
from msgspec import Struct

from broker_core.errors import CorruptData

Buffer = bytes | bytearray | memoryview

LOG_OVERHEAD_BYTES = 12
HEADER_BYTES = 61
MAGIC_POSITION = 16
CRC_START = 21
LEGACY_CRC_START = 16
NO_TIMESTAMP = -1
NO_PRODUCER_ID = -1
NO_SEQUENCE = -1
CREATE_TIME = 0
LOG_APPEND_TIME = 1
COMPRESSION_MASK = 0x07
TIMESTAMP_TYPE_BIT = 0x08
TRANSACTIONAL_BIT = 0x10
CONTROL_BIT = 0x20
DELETE_HORIZON_BIT = 0x40
MAX_SEQUENCE = (1 << 31) - 1

HEADER = struct.Struct(">qiibIhiqqqhii")
_PREFIX = struct.Struct(">qiib")
_LEGACY = struct.Struct(">qiIbb")
_OFFSET = struct.Struct(">q")
_INT32 = struct.Struct(">i")
_UINT32 = struct.Struct(">I")
_INT16 = struct.Struct(">h")
_KEPT_ATTRIBUTES = COMPRESSION_MASK | TRANSACTIONAL_BIT | CONTROL_BIT | DELETE_HORIZON_BIT
_MIN_LEGACY_BYTES = (LOG_OVERHEAD_BYTES + 14, LOG_OVERHEAD_BYTES + 22)


class BatchHeader(Struct):
    """A batch's header; `size_bytes` is the whole batch with its 12 bytes of offset and length."""

    base_offset: int
    size_bytes: int
    leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self) -> int:
        return self.base_offset + self.last_offset_delta + 1

    @property
    def compression(self) -> int:
        return self.attributes & COMPRESSION_MASK

    @property
    def timestamp_type(self) -> int:
        return LOG_APPEND_TIME if self.attributes & TIMESTAMP_TYPE_BIT else CREATE_TIME

    @property
    def is_transactional(self) -> bool:
        return bool(self.attributes & TRANSACTIONAL_BIT)

    @property
    def is_control(self) -> bool:
        return bool(self.attributes & CONTROL_BIT)

    @property
    def has_producer_id(self) -> bool:
        return self.producer_id > NO_PRODUCER_ID

    @property
    def last_sequence(self) -> int:
        """The sequence number of the last record; sequences run from 0 to 2^31-1 and start over."""
        if self.base_sequence == NO_SEQUENCE:
            return NO_SEQUENCE
        return (self.base_sequence + self.last_offset_delta) & MAX_SEQUENCE


def parse_header(buffer: Buffer, position: int = 0) -> BatchHeader:
    """The header at `position`; the batch itself need not be there. `CorruptData` for lengths, magics and offsets that cannot be."""
    batch = header_as_it_is(buffer, position)
    if batch.base_offset < 0 or batch.last_offset_delta < 0:
        raise CorruptData(f"the batch at {position} has base offset {batch.base_offset}, last offset delta {batch.last_offset_delta}")
    return batch


def header_as_it_is(buffer: Buffer, position: int = 0) -> BatchHeader:
    """The same, whatever a batch's offsets are; `CorruptData` for lengths and magics that cannot be."""
    try:
        header = HEADER.unpack_from(buffer, position)
    except struct.error:
        return _parse_legacy(buffer, position)
    if header[3] != 2:
        return _parse_legacy(buffer, position)
    batch = BatchHeader(*header)
    batch.size_bytes += LOG_OVERHEAD_BYTES
    if batch.size_bytes < HEADER_BYTES:
        raise CorruptData(f"the batch at {position} claims {batch.size_bytes} bytes, a header alone has {HEADER_BYTES}")
    return batch


def _parse_legacy(buffer: Buffer, position: int) -> BatchHeader:
    try:
        offset, length, crc, magic, attributes = _LEGACY.unpack_from(buffer, position)
        timestamp = _OFFSET.unpack_from(buffer, position + _LEGACY.size)[0] if magic == 1 else NO_TIMESTAMP
    except struct.error:
        raise CorruptData(f"{len(buffer) - position} bytes at {position} are no batch header") from None
    size_bytes = length + LOG_OVERHEAD_BYTES
    if magic not in (0, 1):
        raise CorruptData(f"the batch at {position} has magic {magic}" if magic != 2 else f"the header at {position} is cut short")
    if size_bytes < _MIN_LEGACY_BYTES[magic] or offset < 0:
        raise CorruptData(f"the message at {position} has offset {offset}, {size_bytes} bytes")
    kept = COMPRESSION_MASK | TIMESTAMP_TYPE_BIT if magic else COMPRESSION_MASK
    return BatchHeader(offset, size_bytes, -1, magic, crc, attributes & kept, 0, timestamp, timestamp, NO_PRODUCER_ID, -1, NO_SEQUENCE, 1)


def iter_headers(buffer: Buffer) -> Iterator[tuple[int, BatchHeader]]:
    """(position, header) of each whole batch; ends silently at an incomplete tail, with `CorruptData` at a broken header."""
    position, end = 0, len(buffer)
    while end - position > MAGIC_POSITION:
        size_bytes = _INT32.unpack_from(buffer, position + 8)[0] + LOG_OVERHEAD_BYTES
        if size_bytes > end - position:
            return
        header = parse_header(buffer, position)
        yield position, header
        position += header.size_bytes


def check_batch(buffer: Buffer, position: int, header: BatchHeader) -> None:
    """Verifies that the whole batch is there, its CRC and its counts; `CorruptData` otherwise."""
    check_crc(buffer, position, header)
    if not 0 <= header.record_count <= header.last_offset_delta + 1:
        raise CorruptData(f"the batch at {position} claims {header.record_count} records in {header.last_offset_delta + 1} offsets")


def check_crc(buffer: Buffer, position: int, header: BatchHeader) -> None:
    """Verifies that the whole batch is there, and its CRC; `CorruptData` otherwise."""
    end = position + header.size_bytes
    if end > len(buffer):
        raise CorruptData(f"the batch of {header.size_bytes} bytes at {position} is cut at {len(buffer) - position}")
    crc = _crc(buffer, position, end, header.magic)
    if crc != header.crc:
        raise CorruptData(f"the batch at {position}, offset {header.base_offset}, has CRC {crc:#010x}, its header says {header.crc:#010x}")


def _crc(buffer: Buffer, position: int, end: int, magic: int) -> int:
    with memoryview(buffer) as view:
        if magic == 2:
            return crc32c.crc32c(view[position + CRC_START : end])
        return zlib.crc32(view[position + LEGACY_CRC_START : end])


def stamp(buffer: bytearray | memoryview, position: int, base_offset: int, leader_epoch: int) -> None:
    """Writes a batch's place in the log into it, outside of what its CRC covers."""
    _OFFSET.pack_into(buffer, position, base_offset)
    _INT32.pack_into(buffer, position + 12, leader_epoch)


def stamp_time(buffer: bytearray | memoryview, position: int, header: BatchHeader, timestamp_type: int, max_timestamp: int) -> None:
    """Writes a batch's timestamp type and newest timestamp into it and its header, and the CRC over them."""
    header.attributes = header.attributes & _KEPT_ATTRIBUTES | (TIMESTAMP_TYPE_BIT if timestamp_type == LOG_APPEND_TIME else 0)
    header.max_timestamp = max_timestamp
    _INT16.pack_into(buffer, position + CRC_START, header.attributes)
    _OFFSET.pack_into(buffer, position + 35, max_timestamp)
    header.crc = _crc(buffer, position, position + header.size_bytes, 2)
    _UINT32.pack_into(buffer, position + 17, header.crc)
