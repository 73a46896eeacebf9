"""Codecs, their framings and their limits."""

from __future__ import annotations

import gzip
import random
import struct
import tracemalloc

import cramjam
import pytest

from broker_core.errors import CorruptData
from broker_core.records.compression import Codec, compress, decompress
from broker_core.records.lz4_header import age_checksum, mend_checksum, short_xxh32

pytestmark = pytest.mark.spec("S7")

BOMB_BYTES = 64 << 20
LIMIT_BYTES = 1 << 20


@pytest.mark.parametrize("codec", Codec, ids=lambda codec: codec.name)
@pytest.mark.parametrize("size", [0, 1, 1000, 32 << 10, (64 << 10) + 1, 1 << 20])
def test_round_trip_within_the_limit(codec: Codec, size: int) -> None:
    for data in (b"a" * size, random.Random(size).randbytes(size)):
        packed = compress(codec, memoryview(data))
        assert decompress(codec, memoryview(packed), limit_bytes=size) == data
        if size and codec is not Codec.NONE:
            with pytest.raises(CorruptData, match="exceed"):
                decompress(codec, packed, limit_bytes=size - 1)


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD], ids=lambda codec: codec.name)
def test_a_bomb_costs_no_more_than_the_limit(codec: Codec) -> None:
    bomb = compress(codec, bytes(BOMB_BYTES))
    tracemalloc.start()
    with pytest.raises(CorruptData, match="exceed"):
        decompress(codec, bomb, LIMIT_BYTES)
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak_bytes < 4 * LIMIT_BYTES + len(bomb)


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD], ids=lambda codec: codec.name)
def test_cut_and_damaged_streams(codec: Codec) -> None:
    rng = random.Random(int(codec))
    packed = compress(codec, b"some text that compresses, some text that compresses " * 20)
    for cut in range(len(packed)):
        try:
            decompress(codec, packed[:cut])
        except CorruptData:
            continue
        assert codec == Codec.SNAPPY, "xerial's framing has no end mark, so it may be cut between blocks"
    for _ in range(300):
        damaged = bytearray(packed)
        damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
        try:
            decompress(codec, damaged, LIMIT_BYTES)
        except CorruptData:
            continue


@pytest.mark.parametrize(("codec", "levels"), [(Codec.GZIP, (-1, 1, 9)), (Codec.LZ4, (1, 9, 17)), (Codec.ZSTD, (-131072, 0, 22))], ids=str)
def test_levels(codec: Codec, levels: tuple[int, ...]) -> None:
    """Kafka's ranges; a high level packs no worse than a low one."""
    rng = random.Random(3)
    data = b"".join(rng.choice((b"alpha", b"beta", b"gamma", b"delta")) for _ in range(5000))
    packed = [compress(codec, data, level) for level in levels]
    assert all(decompress(codec, each) == data for each in packed)
    assert len(packed[-1]) <= len(packed[0])


def test_an_unknown_codec() -> None:
    with pytest.raises(CorruptData, match="codec 7"):
        decompress(7, b"")


def test_snappy_is_read_raw_and_in_xerials_framing() -> None:
    block = bytes(cramjam.snappy.compress_raw(b"plain"))
    assert decompress(Codec.SNAPPY, block) == b"plain"
    framed = b"\x82SNAPPY\x00" + struct.pack(">iii", 1, 1, len(block)) + block + struct.pack(">i", len(block)) + block
    assert decompress(Codec.SNAPPY, framed) == b"plainplain"
    assert compress(Codec.SNAPPY, b"x").startswith(b"\x82SNAPPY\x00\0\0\0\1\0\0\0\1")
    with pytest.raises(CorruptData):
        decompress(Codec.SNAPPY, framed[:-1])


def test_gzip_of_several_members() -> None:
    assert decompress(Codec.GZIP, gzip.compress(b"one") + gzip.compress(b"two")) == b"onetwo"


def test_lz4_blocks_are_independent_as_java_wants_them() -> None:
    frame = compress(Codec.LZ4, b"a" * 200_000)
    assert frame[4] & 0x20
    assert decompress(Codec.LZ4, bytes(cramjam.lz4.compress(b"a" * 200_000))) == b"a" * 200_000


def test_xxhash() -> None:
    """The published values of xxHash32 with seed 0."""
    assert short_xxh32(b"") == 0x02CC5D05
    assert short_xxh32(b"a") == 0x550D7456
    assert short_xxh32(b"abc") == 0x32D153FF


def test_the_wrong_checksum_of_magic_0_is_made_and_mended() -> None:
    """KAFKA-3160."""
    frame = compress(Codec.LZ4, b"text")
    old = age_checksum(frame)
    assert old != frame
    with pytest.raises(CorruptData):
        decompress(Codec.LZ4, old)
    assert mend_checksum(old) == frame
    assert mend_checksum(bytes(cramjam.lz4.compress(b"text"))) == bytes(cramjam.lz4.compress(b"text"))
    with pytest.raises(CorruptData):
        mend_checksum(b"\x04\x22\x4d\x18\x60")
