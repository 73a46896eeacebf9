"""How much can come out of an lz4 or zstd frame at most, told by the headers of its blocks without decompressing any.

Lz4: magic, FLG, BD (bits 4–6: largest block, 64 KiB · 4^(n-4)), perhaps content size and dictionary id, checksum, then blocks of
uint32 size (bit 31: stored) up to one of size 0, perhaps a checksum after each block and one at the end.
Zstd (RFC 8878): magic, a descriptor that says how long the header is and whether it has the content size, then blocks of a
24-bit header: bit 0 last, bits 1–2 raw, repeated byte, compressed, bits 3–23 size. A block gives 128 KiB at most.
Either may be followed by further frames, and by frames to be skipped (magic 0x184D2A50–5F, uint32 size).
"""

from __future__ import annotations

import struct

from broker_core.errors import CorruptData
from broker_core.records.steps import Steps

_UINT32 = struct.Struct("<I")
_LZ4_MAGIC, _ZSTD_MAGIC, _SKIPPED_MAGIC = 0x184D2204, 0xFD2FB528, 0x184D2A50
_LZ4_STORED_BIT = 1 << 31
_LZ4_LEAST_BLOCK_ID = 4
_ZSTD_BLOCK_BYTES_MAX = 128 << 10
_ZSTD_DICTIONARY_BYTES = (0, 1, 2, 4)
_ZSTD_CONTENT_SIZE_BYTES = (0, 2, 4, 8)
_ZSTD_SIZE_BYTES = (0, 2, 4, 8)
_REPEATED, _COMPRESSED = 1, 2
_BLOCKS_PER_STEP = 256


def lz4_output(data: bytes) -> Steps[int]:
    """Most bytes that can come out of all frames; `CorruptData` where they are no frames. `struct.error`, `IndexError`: cut short."""
    total = position = count = 0
    while position < len(data):
        (magic,) = _UINT32.unpack_from(data, position)
        if magic != _LZ4_MAGIC:
            position = _skipped(data, position, magic)
            continue
        flags, largest = data[position + 4], 64 << 10 << 2 * ((data[position + 5] >> 4 & 7) - _LZ4_LEAST_BLOCK_ID & 3)
        position += 7 + (8 if flags & 0x08 else 0) + (4 if flags & 0x01 else 0)
        while True:
            (size,) = _UINT32.unpack_from(data, position)
            position += _UINT32.size
            if not size:
                break
            kept = size & ~_LZ4_STORED_BIT
            total += kept if size & _LZ4_STORED_BIT else min(largest, 255 * kept)
            position += kept + (4 if flags & 0x10 else 0)
            count += 1
            if count % _BLOCKS_PER_STEP == 0:
                yield
        position += 4 if flags & 0x04 else 0
    return total


def zstd_output(data: bytes) -> Steps[int]:
    """The same for zstd."""
    total = position = 0
    while position < len(data):
        (magic,) = _UINT32.unpack_from(data, position)
        if magic != _ZSTD_MAGIC:
            position = _skipped(data, position, magic)
            continue
        descriptor = data[position + 4]
        content_size, position = _zstd_header(data, position + 5, descriptor)
        possible, position = yield from _zstd_blocks(data, position)
        total += possible if content_size is None else min(possible, content_size)
        position += 4 if descriptor & 0x04 else 0
    return total


def _zstd_header(data: bytes, position: int, descriptor: int) -> tuple[int | None, int]:
    """(size of the content if it is told, where the blocks begin)."""
    single_segment = bool(descriptor & 0x20)
    position += (0 if single_segment else 1) + _ZSTD_DICTIONARY_BYTES[descriptor & 3]
    size_bytes = _ZSTD_CONTENT_SIZE_BYTES[descriptor >> 6] or (1 if single_segment else 0)
    if position + size_bytes > len(data):
        raise CorruptData(f"a zstd frame of {len(data)} bytes has no whole header")
    if not size_bytes:
        return None, position
    told = int.from_bytes(data[position : position + size_bytes], "little")
    return told + (256 if size_bytes == 2 else 0), position + size_bytes


def _zstd_blocks(data: bytes, position: int) -> Steps[tuple[int, int]]:
    """(most bytes that come out of a frame's blocks, where they end)."""
    total = count = 0
    while True:
        if position + 3 > len(data):
            raise CorruptData(f"a zstd frame of {len(data)} bytes ends early")
        head = data[position] | data[position + 1] << 8 | data[position + 2] << 16
        kind, size = head >> 1 & 3, head >> 3
        total += _ZSTD_BLOCK_BYTES_MAX if kind == _COMPRESSED else size
        position += 3 + (1 if kind == _REPEATED else size)
        if head & 1:
            return total, position
        count += 1
        if count % _BLOCKS_PER_STEP == 0:
            yield


def _skipped(data: bytes, position: int, magic: int) -> int:
    if magic & ~0xF != _SKIPPED_MAGIC:
        raise CorruptData(f"no frame begins at {position} of {len(data)}: {magic:#010x}")
    return position + 8 + int(_UINT32.unpack_from(data, position + 4)[0])
