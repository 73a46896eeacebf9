"""The codecs of record batches: 0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd.

Whoever decompresses gives a budget for what may come out: a block that would give more is refused before it exists, and room is
made for no more than the block's headers say can come out. What takes a native call of long is a job of its own.
Snappy comes raw or in xerial's framing (`\\x82SNAPPY\\0`, two version numbers, then blocks of int32 length and raw snappy);
written is the latter. Lz4 is its frame format with independent blocks, the only kind that Java clients read.
"""

from __future__ import annotations

import enum
import struct
import zlib
from collections.abc import Callable
from functools import partial
from typing import Any

import cramjam

from broker_core.errors import CorruptData
from broker_core.records.budget import DECODED_BYTES_MAX, Budget, BudgetSpent
from broker_core.records.frames import lz4_output, zstd_output
from broker_core.records.steps import Steps, finish

Buffer = bytes | bytearray | memoryview

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
_ROOM_STEP = bytes(256 << 10)
_SNAPPY_RATIO_MAX = 22
_NO_ROOM = "write whole buffer"
_ZSTD_QUICK_LEVEL_MAX = 9
_ZSTD_QUICK_BYTES, _ZSTD_SLOW_BYTES = 64 << 10, 4 << 10
"""What zstd packs in a millisecond or two at levels up to the quick one, and at those above it."""
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


def decompress(codec: int, data: Buffer, limit_bytes: int = DECODED_BYTES_MAX) -> bytes:
    """The plain bytes; `CorruptData` when they are damaged, the codec is unknown, or (`BudgetSpent`) they exceed the limit."""
    return bytes(finish(decompressing(codec, data, Budget(limit_bytes))))


def decompressing(codec: int, data: Buffer, budget: Budget) -> Steps[Buffer]:
    """The plain bytes in steps, taken from the budget unless they are not compressed at all."""
    try:
        decompressor = _DECOMPRESSORS[codec]
    except KeyError:
        raise CorruptData(f"compression codec {codec} does not exist") from None
    try:
        return (yield from decompressor(data, budget))
    except (cramjam.DecompressionError, zlib.error, struct.error, IndexError) as error:
        raise CorruptData(f"{len(data)} bytes of {Codec(codec).name} cannot be decompressed: {error}") from None


def _plain(data: Buffer, level: int | None) -> Steps[bytes]:
    yield from ()
    return bytes(data)


def _as_it_is(data: Buffer, budget: Budget) -> Steps[Buffer]:
    yield from ()
    return data


def _gzip(data: Buffer, level: int | None) -> Steps[bytes]:
    stream = zlib.compressobj(-1 if level is None else level, wbits=_GZIP_WBITS)
    out = bytearray()
    with memoryview(data) as view:
        for start in range(0, len(data), _GZIP_STEP_BYTES):
            out += stream.compress(view[start : start + _GZIP_STEP_BYTES])
            yield
    return bytes(out + stream.flush())


def _gunzip(data: Buffer, budget: Budget) -> Steps[Buffer]:
    """All members of a gzip stream: some producers write several."""
    out, position = bytearray(), 0
    member = zlib.decompressobj(wbits=_GZIP_WBITS)
    with memoryview(data) as view:
        while True:
            piece = member.decompress(member.unconsumed_tail or view[position : position + _GZIP_STEP_BYTES], _GUNZIP_STEP_BYTES)
            budget.take_bytes(len(piece))
            out += piece
            yield
            if member.unconsumed_tail:
                continue
            position = min(position + _GZIP_STEP_BYTES, len(data))
            if member.eof:
                position -= len(member.unused_data)
                if position == len(data):
                    return out
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


def _unsnappy(data: Buffer, budget: Budget) -> Steps[Buffer]:
    data = bytes(data)
    if not data.startswith(_XERIAL_MAGIC):
        return (yield from _unsnappy_block(data, budget))
    out = bytearray()
    position = len(_XERIAL_HEADER)
    while position < len(data):
        (length,) = _INT32.unpack_from(data, position)
        position += _INT32.size
        if not 0 < length <= len(data) - position:
            raise CorruptData(f"a snappy block of {length} bytes at {position} of {len(data)}")
        out += yield from _unsnappy_block(data[position : position + length], budget)
        position += length
        yield
    return out


def _unsnappy_block(block: bytes, budget: Budget) -> Steps[Buffer]:
    """A block tells its plain size; the format gives at most 64 bytes for three."""
    size = cramjam.snappy.decompress_raw_len(block)
    if size > _SNAPPY_RATIO_MAX * len(block):
        raise CorruptData(f"a snappy block of {len(block)} bytes claims {size}")
    budget.check_bytes(size)
    return (yield from _into_room(cramjam.snappy.decompress_raw_into, block, size, budget))


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


def _unlz4(data: Buffer, budget: Budget) -> Steps[Buffer]:
    data = bytes(data)
    return (yield from _into_room(cramjam.lz4.decompress_into, data, (yield from lz4_output(data)), budget))


def _zstd(data: Buffer, level: int | None) -> Steps[bytes]:
    """One native call, however large the data: given piece by piece it keeps all of them for one that takes as long."""
    level = _ZSTD_DEFAULT_LEVEL if level is None else level
    work = partial(cramjam.zstd.compress, bytes(data), level=level)
    at_once = len(data) <= (_ZSTD_QUICK_BYTES if level <= _ZSTD_QUICK_LEVEL_MAX else _ZSTD_SLOW_BYTES)
    return bytes(work() if at_once else (yield work))


def _unzstd(data: Buffer, budget: Budget) -> Steps[Buffer]:
    data = bytes(data)
    return (yield from _into_room(cramjam.zstd.decompress_into, data, (yield from zstd_output(data)), budget))


def _into_room(into: Callable[[bytes, bytearray], int], data: bytes, most_bytes: int, budget: Budget) -> Steps[Buffer]:
    """What `into` writes into a buffer of at most `most_bytes`, which is made in steps: new memory costs more than filling it."""
    size = min(most_bytes, budget.room_bytes)
    budget.take_bytes(size)
    out = bytearray()
    while size - len(out) > len(_ROOM_STEP):
        out += _ROOM_STEP
        yield
    out += bytes(size - len(out))
    work = partial(into, data, out)
    try:
        length = work() if size <= len(_ROOM_STEP) else (yield work)
    except cramjam.DecompressionError as error:
        if size < most_bytes and _NO_ROOM in str(error):
            raise BudgetSpent(f"compressed records exceed the {size} bytes that they may have when decompressed") from None
        raise
    budget.return_bytes(size - length)
    del out[length:]
    return out


_COMPRESSORS: dict[int, Callable[[Buffer, int | None], Steps[bytes]]] = {0: _plain, 1: _gzip, 2: _snappy, 3: _lz4, 4: _zstd}
_DECOMPRESSORS: dict[int, Callable[[Buffer, Budget], Steps[Buffer]]] = {
    0: _as_it_is,
    1: _gunzip,
    2: _unsnappy,
    3: _unlz4,
    4: _unzstd,
}
