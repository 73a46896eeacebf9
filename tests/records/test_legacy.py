"""Message sets of magic 0 and 1: read, written, converted up and down."""

from __future__ import annotations

import gzip
import random
import struct
import zlib

import pytest

from broker_core.errors import CorruptData, ErrorCode, KafkaError
from broker_core.records.batch import Codec, Record, build_batch, check_batch, iter_headers, parse_header, read_records, stamp
from broker_core.records.legacy import build_message_set, down_convert, is_legacy, up_convert
from broker_core.records.message_set import build_message, message_chunks
from tests.support.kafka_records import MemoryRecords, MemoryRecordsBuilder

pytestmark = pytest.mark.spec("S3")

OLD_CODECS = [Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4]
RECORDS = [
    Record(100, 1_000, b"a", b"1", (("h", b"x"),)),
    Record(101, 3_000, None, b"2"),
    Record(105, 2_000, b"c", None),
]


def records_in(data: bytes) -> list[Record]:
    return [record for position, header in iter_headers(data) for record in read_records(data, position, header)]


def as_magic(record: Record, magic: int) -> Record:
    return Record(record.offset, record.timestamp_ms if magic else -1, record.key, record.value)


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("compression", [0, 1])
def test_reads_what_kafka_python_builds_and_the_other_way_round(magic: int, compression: int) -> None:
    builder = MemoryRecordsBuilder(magic=magic, compression_type=compression, batch_size=1 << 20)
    for record in RECORDS:
        builder.append(timestamp=record.timestamp_ms, key=record.key, value=record.value)
    builder.close()
    data = bytes(builder.buffer())
    numbered = [as_magic(record, magic)._replace(offset=index) for index, record in enumerate(RECORDS)]
    assert is_legacy(data)
    assert records_in(data) == numbered
    theirs = MemoryRecords(build_message_set(RECORDS, magic, compression))
    seen = []
    while (batch := theirs.next_batch()) is not None:
        assert batch.validate_crc()
        seen += [(row.offset, row.key, row.value) for row in batch]
    assert seen == [(record.offset, record.key, record.value) for record in RECORDS]


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", OLD_CODECS, ids=lambda codec: codec.name)
def test_up_and_down_again(magic: int, codec: Codec) -> None:
    stored = bytearray(up_convert(build_message_set(RECORDS, magic, codec)))
    header = parse_header(stored)
    check_batch(stored, 0, header)
    assert (header.magic, header.compression, header.record_count, header.last_offset) == (2, codec, 3, 2)
    stamp(stored, 0, 700, 4)
    down = down_convert(stored, magic, 700)
    assert records_in(down) == [as_magic(record, magic)._replace(offset=700 + index) for index, record in enumerate(RECORDS)]
    for position, each in iter_headers(down):
        check_batch(down, position, each)
        assert each.magic == magic
    assert down_convert(down, magic, 0) == down


def test_the_wrapper_has_the_offset_of_its_last_message_and_relative_ones_inside() -> None:
    ((wrapper,),) = message_chunks(build_message_set(RECORDS, 1, Codec.GZIP))
    assert (wrapper.offset, wrapper.timestamp_ms) == (105, 3_000)
    assert [record.offset for record in records_in(build_message_set(RECORDS, 1, Codec.GZIP))] == [100, 101, 105]


def test_librdkafkas_wrapper_of_offset_0() -> None:
    data = bytearray(build_message_set([record._replace(offset=index) for index, record in enumerate(RECORDS)], 1, Codec.SNAPPY))
    data[:8] = bytes(8)
    assert [record.offset for record in records_in(bytes(data))] == [0, 1, 2]


def test_append_time_of_the_wrapper_holds_for_all_inside() -> None:
    data = build_message_set(RECORDS, 1, Codec.GZIP, timestamp_type=1)
    assert {record.timestamp_ms for record in records_in(data)} == {3_000}


def test_several_batches_become_one() -> None:
    data = build_message_set(RECORDS[:2], 1, Codec.GZIP) + build_message_set(RECORDS[2:], 1)
    assert [record.key for record in records_in(up_convert(data))] == [b"a", None, b"c"]


def test_control_batches_are_left_out_and_uncompressed_batches_start_at_the_offset_asked_for() -> None:
    control = build_batch([Record(100, 1, b"\0\0\0\1", b"")], base_offset=100, control=True)
    plain = build_batch([Record(101, 1, None, b"a"), Record(102, 1, None, b"b")], base_offset=101)
    packed = build_batch([Record(103, 1, None, b"c"), Record(104, 1, None, b"d")], base_offset=103, compression=Codec.GZIP)
    assert [record.offset for record in records_in(down_convert(control + plain + packed, 1, 102))] == [102, 103, 104]
    assert [record.offset for record in records_in(down_convert(packed, 1, 104))] == [103, 104]


def test_an_incomplete_last_batch_is_left_out() -> None:
    data = build_batch(RECORDS[:1], base_offset=100) + build_batch(RECORDS[2:], base_offset=105)
    assert [record.offset for record in records_in(down_convert(memoryview(data)[:-1], 0, 0))] == [100]


def test_zstd_cannot_go_down() -> None:
    with pytest.raises(KafkaError) as caught:
        down_convert(build_batch(RECORDS, base_offset=100, compression=Codec.ZSTD), 1, 0)
    assert caught.value.code is ErrorCode.UNSUPPORTED_COMPRESSION_TYPE


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", OLD_CODECS, ids=lambda codec: codec.name)
def test_damage(magic: int, codec: Codec) -> None:
    data = build_message_set(RECORDS, magic, codec)
    for cut in range(len(data)):
        try:
            assert len(records_in(up_convert(data[:cut]))) < 3
        except CorruptData:
            continue
    only_one = build_message_set(RECORDS[:1], magic, codec)
    for position in range(8, len(only_one)):
        damaged = bytearray(only_one)
        damaged[position] ^= 0x04
        with pytest.raises(CorruptData):
            up_convert(damaged)


def test_hostile_wrappers_under_a_right_crc() -> None:
    rng = random.Random(5)
    for _ in range(500):
        inner = bytearray(build_message_set(RECORDS, 1))
        inner[rng.randrange(len(inner))] = rng.randrange(256)
        wrapper = build_message_set([Record(rng.choice((0, 3, 105)), 1, None, bytes(inner))], 1)
        as_compressed = bytearray(wrapper)
        as_compressed[17] = rng.choice((1, 2, 3, 4, 7))
        sealed = bytes(as_compressed[:12]) + struct.pack(">I", zlib.crc32(as_compressed[16:])) + bytes(as_compressed[16:])
        with pytest.raises(CorruptData):
            up_convert(sealed)


def test_a_wrapper_inside_a_wrapper_is_refused() -> None:
    inner = build_message_set(RECORDS, 1, Codec.GZIP)
    wrapper = build_message(Record(105, 1, None, gzip.compress(inner)), 1, Codec.GZIP)
    with pytest.raises(CorruptData, match="holds a compressed message"):
        up_convert(wrapper)
    with pytest.raises(CorruptData, match="holds no messages"):
        up_convert(build_message(Record(105, 1, None, gzip.compress(b"")), 1, Codec.GZIP))
    with pytest.raises(CorruptData, match="without messages"):
        up_convert(b"")
