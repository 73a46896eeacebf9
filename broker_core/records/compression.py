"""The codecs of record batches: 0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd.

Whoever decompresses states how many bytes may come out: a block that would give more is refused before they exist.
Snappy comes raw or in xerial's framing (`\\x82SNAPPY\\0`, two version numbers, then blocks of int32 length and raw snappy);
written is the latter. Lz4 is its frame format with independent blocks, the only kind that Java clients read.
"""

from __future__ import annotations

import enum
import struct
import zlib
from collections.abc import Callable
from typing import Any

import cramjam

from broker_core.errors import CorruptData
from broker_core.records.steps import Steps, finish

Buffer = bytes | bytearray | memoryview

MAX_OUTPUT_BYTES = 256 << 20

_GZIP_WBITS = 31
_XERIAL_MAGIC = b"\x82SNAPPY\x00"
_XERIAL_HEADER = _XERIAL_MAGIC + struct.pack(">ii", 1, 1)
_XERIAL_BLOCK_BYTES = 32 << 10
_LZ4_HEADER = b"\x04\x22\x4d\x18\x60\x40\x82"
_LZ4_BLOCK_BYTES = 64 << 10
_LZ4_STORED = 1 << 31
_LZ4_DEFAULT_LEVEL = 9
_ZSTD_DEFAULT_LEVEL = 3
_GZIP_STEP_BYTES = 16 << 10
_GUNZIP_STEP_BYTES = 256 << 10
_FIRST_GUESS_BYTES = 64 << 10
_INT32 = struct.Struct(">i")
_LITTLE_UINT32 = struct.Struct("<I")


class Codec(enum.IntEnum):
    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


def compress(codec: int, data: Buffer, level: int | None = None) -> bytes:
    """`level` is the codec's own (gzip -1 to 9, lz4 1 to 17, zstd -131072 to 22); None: Kafka's default of it."""
    return finish(compressing(codec, data, level))


def compressing(codec: int, data: Buffer, level: int | None = None) -> Steps[bytes]:
    return (yield from _COMPRESSORS[codec](data, level))


def decompress(codec: int, data: Buffer, limit_bytes: int = MAX_OUTPUT_BYTES) -> bytes:
    """The plain bytes; `CorruptData` when they are damaged, the codec is unknown, or they exceed the limit."""
    return finish(decompressing(codec, data, limit_bytes))


def decompressing(codec: int, data: Buffer, limit_bytes: int = MAX_OUTPUT_BYTES) -> Steps[bytes]:
    """`decompress` in steps."""
    try:
        decompressor = _DECOMPRESSORS[codec]
    except KeyError:
        raise CorruptData(f"compression codec {codec} does not exist") from None
    try:
        return (yield from decompressor(data, limit_bytes))
    except (cramjam.DecompressionError, zlib.error, struct.error) as error:
        raise CorruptData(f"{len(data)} bytes of {Codec(codec).name} cannot be decompressed: {error}") from None


def _too_large(limit_bytes: int) -> CorruptData:
    return CorruptData(f"compressed records exceed {limit_bytes} bytes when decompressed")


def _plain(data: Buffer, level: int | None) -> Steps[bytes]:
    yield from ()
    return bytes(data)


def _plain_within(data: Buffer, limit_bytes: int) -> Steps[bytes]:
    yield from ()
    if len(data) > limit_bytes:
        raise _too_large(limit_bytes)
    return bytes(data)


def _gzip(data: Buffer, level: int | None) -> Steps[bytes]:
    stream = zlib.compressobj(-1 if level is None else level, wbits=_GZIP_WBITS)
    out = bytearray()
    with memoryview(data) as view:
        for start in range(0, len(data), _GZIP_STEP_BYTES):
            out += stream.compress(view[start : start + _GZIP_STEP_BYTES])
            yield
    return bytes(out + stream.flush())


def _gunzip(data: Buffer, limit_bytes: int) -> Steps[bytes]:
    """All members of a gzip stream: some producers write several."""
    out, position = bytearray(), 0
    member = zlib.decompressobj(wbits=_GZIP_WBITS)
    with memoryview(data) as view:
        while True:
            out += member.decompress(member.unconsumed_tail or view[position : position + _GZIP_STEP_BYTES], _GUNZIP_STEP_BYTES)
            if len(out) > limit_bytes:
                raise _too_large(limit_bytes)
            yield
            if member.unconsumed_tail:
                continue
            position = min(position + _GZIP_STEP_BYTES, len(data))
            if member.eof:
                position -= len(member.unused_data)
                if position == len(data):
                    return bytes(out)
                member = zlib.decompressobj(wbits=_GZIP_WBITS)
            elif position == len(data):
                raise CorruptData(f"a gzip stream of {len(data)} bytes ends early")


def _snappy(data: Buffer, level: int | None) -> Steps[bytes]:
    out = bytearray(_XERIAL_HEADER)
    for start in range(0, len(data), _XERIAL_BLOCK_BYTES):
        block = bytes(cramjam.snappy.compress_raw(bytes(data[start : start + _XERIAL_BLOCK_BYTES])))
        out += _INT32.pack(len(block))
        out += block
        yield
    return bytes(out)


def _unsnappy(data: Buffer, limit_bytes: int) -> Steps[bytes]:
    data = bytes(data)
    if not data.startswith(_XERIAL_MAGIC):
        return _unsnappy_block(data, limit_bytes)
    out = bytearray()
    position = len(_XERIAL_HEADER)
    while position < len(data):
        (length,) = _INT32.unpack_from(data, position)
        position += _INT32.size
        if not 0 < length <= len(data) - position:
            raise CorruptData(f"a snappy block of {length} bytes at {position} of {len(data)}")
        out += _unsnappy_block(data[position : position + length], limit_bytes - len(out))
        position += length
        yield
    return bytes(out)


def _unsnappy_block(block: bytes, limit_bytes: int) -> bytes:
    if cramjam.snappy.decompress_raw_len(block) > limit_bytes:
        raise _too_large(limit_bytes)
    return bytes(cramjam.snappy.decompress_raw(block))


def _lz4(data: Buffer, level: int | None) -> Steps[bytes]:
    """The default level means the fast compressor, as in Kafka."""
    fast = level is None or level == _LZ4_DEFAULT_LEVEL
    options: dict[str, Any] = {} if fast else {"mode": "high_compression", "compression": level}
    out = bytearray(_LZ4_HEADER)
    for start in range(0, len(data), _LZ4_BLOCK_BYTES):
        plain = bytes(data[start : start + _LZ4_BLOCK_BYTES])
        block = bytes(cramjam.lz4.compress_block(plain, store_size=False, **options))
        if len(block) < len(plain):
            out += _LITTLE_UINT32.pack(len(block)) + block
        else:
            out += _LITTLE_UINT32.pack(len(plain) | _LZ4_STORED) + plain
        yield
    return bytes(out + _LITTLE_UINT32.pack(0))


def _unlz4(data: Buffer, limit_bytes: int) -> Steps[bytes]:
    yield from ()
    return _grow_until_it_fits(cramjam.lz4.decompress_into, bytes(data), limit_bytes)


def _zstd(data: Buffer, level: int | None) -> Steps[bytes]:
    yield from ()
    return bytes(cramjam.zstd.compress(bytes(data), level=_ZSTD_DEFAULT_LEVEL if level is None else level))


def _unzstd(data: Buffer, limit_bytes: int) -> Steps[bytes]:
    yield from ()
    return _grow_until_it_fits(cramjam.zstd.decompress_into, bytes(data), limit_bytes)


def _grow_until_it_fits(into: Callable[[bytes, bytearray], int], data: bytes, limit_bytes: int) -> bytes:
    """Decompresses into a buffer that grows fourfold, so that a bomb costs no more than the limit."""
    size = min(limit_bytes, max(_FIRST_GUESS_BYTES, 8 * len(data)))
    while True:
        out = bytearray(size)
        try:
            length = into(data, out)
        except cramjam.DecompressionError as error:
            if "write whole buffer" not in str(error):
                raise
            if size >= limit_bytes:
                raise _too_large(limit_bytes) from None
            size = min(limit_bytes, size * 4)
            continue
        del out[length:]
        return bytes(out)


_COMPRESSORS: dict[int, Callable[[Buffer, int | None], Steps[bytes]]] = {0: _plain, 1: _gzip, 2: _snappy, 3: _lz4, 4: _zstd}
_DECOMPRESSORS: dict[int, Callable[[Buffer, int], Steps[bytes]]] = {0: _plain_within, 1: _gunzip, 2: _unsnappy, 3: _unlz4, 4: _unzstd}
