"""Record batches against kafka-python's, and every way in which one can be damaged."""

from __future__ import annotations

import random
import struct

import pytest
from msgspec.structs import replace

from broker_core.errors import CorruptData
from broker_core.records.batch import (
    HEADER_BYTES,
    LOG_APPEND_TIME,
    Codec,
    Record,
    build_batch,
    check_batch,
    iter_headers,
    parse_header,
    read_records,
    seal_batch,
    stamp,
)
from broker_core.records.header import header_as_it_is, stamp_time
from broker_core.records.legacy import down_convert
from broker_core.records.record import encode_record
from tests.support.kafka_records import MemoryRecords, MemoryRecordsBuilder

pytestmark = pytest.mark.spec("S3", "S6", "S7")

RECORDS = [
    Record(10, 1_700_000_000_000, b"key", b"value"),
    Record(11, 1_700_000_000_500, None, b"", (("trace", b"1"), ("empty", None))),
    Record(15, 1_699_999_999_000, b"", None),
    Record(16, 1_700_000_009_000, b"k" * 200, b"v" * 70_000),
]


def read(data: bytes) -> list[Record]:
    header = parse_header(data)
    check_batch(data, 0, header)
    return read_records(data, 0, header)


@pytest.mark.parametrize("codec", Codec, ids=lambda codec: codec.name)
def test_round_trip(codec: Codec) -> None:
    data = build_batch(
        RECORDS, base_offset=10, leader_epoch=3, compression=codec, producer_id=7, producer_epoch=2, base_sequence=5, transactional=True
    )
    header = parse_header(data)
    assert (header.base_offset, header.last_offset, header.next_offset) == (10, 16, 17)
    assert (header.size_bytes, header.leader_epoch, header.magic) == (len(data), 3, 2)
    assert (header.compression, header.is_transactional, header.is_control, header.timestamp_type) == (codec, True, False, 0)
    assert (header.base_timestamp, header.max_timestamp) == (1_700_000_000_000, 1_700_000_009_000)
    assert (header.producer_id, header.producer_epoch, header.base_sequence, header.last_sequence, header.has_producer_id) == (
        7,
        2,
        5,
        11,
        True,
    )
    assert header.record_count == 4
    assert read(data) == RECORDS


def test_reads_what_kafka_python_builds() -> None:
    for compression in (0, 1):
        builder = MemoryRecordsBuilder(
            magic=2, compression_type=compression, batch_size=1 << 20, producer_id=9, producer_epoch=1, base_sequence=0
        )
        for record in RECORDS:
            builder.append(timestamp=record.timestamp_ms, key=record.key, value=record.value, headers=list(record.headers))
        builder.close()
        data = bytes(builder.buffer())
        assert [record[1:] for record in read(data)] == [record[1:] for record in RECORDS]
        assert [record.offset for record in read(data)] == [0, 1, 2, 3]


def test_kafka_python_reads_what_is_built_here() -> None:
    batch = MemoryRecords(build_batch(RECORDS, base_offset=10, compression=Codec.GZIP)).next_batch()
    assert batch.validate_crc()
    assert [(row.offset, row.timestamp, row.key, row.value, tuple(row.headers)) for row in batch] == RECORDS


def test_sequence_numbers_start_over_after_the_largest() -> None:
    header = parse_header(
        build_batch([Record(0, 1, None, b"a"), Record(1, 1, None, b"b")], base_sequence=2**31 - 1, producer_id=1, producer_epoch=0)
    )
    assert header.last_sequence == 0


def test_records_without_time_take_the_given_one() -> None:
    assert [r.timestamp_ms for r in read(build_batch([Record(0, -1, None, b"a"), Record(1, 8, None, b"b")], timestamp_ms=5))] == [5, 8]


def test_a_compacted_batch_keeps_its_last_offset() -> None:
    data = build_batch(RECORDS[:1], base_offset=10, last_offset=16)
    assert parse_header(data).last_offset == 16
    assert read(data) == RECORDS[:1]
    assert read(build_batch([], base_offset=10, last_offset=16)) == []


def test_stamping_leaves_the_crc_right() -> None:
    data = bytearray(b"gap" + build_batch(RECORDS, base_offset=10))
    stamp(data, 3, 5000, 8)
    header = parse_header(data, 3)
    assert (header.base_offset, header.leader_epoch) == (5000, 8)
    check_batch(data, 3, header)
    assert [record.offset for record in read_records(data, 3, header)] == [5000, 5001, 5005, 5006]


def test_append_time_is_every_records_time() -> None:
    data = bytearray(build_batch(RECORDS, base_offset=10))
    stamp_time(data, 0, parse_header(data), LOG_APPEND_TIME, 42)
    header = parse_header(data)
    check_batch(data, 0, header)
    assert (header.timestamp_type, header.max_timestamp) == (LOG_APPEND_TIME, 42)
    assert {record.timestamp_ms for record in read_records(data, 0, header)} == {42}


def test_headers_are_found_one_after_another_up_to_an_incomplete_tail() -> None:
    batches = [build_batch([Record(offset, 1, None, b"x" * offset)], base_offset=offset) for offset in range(5)]
    data = b"".join(batches)
    starts = [sum(map(len, batches[:index])) for index in range(5)]
    assert [(position, header.base_offset) for position, header in iter_headers(data)] == list(zip(starts, range(5), strict=True))
    for cut in range(len(batches[-1])):
        assert len(list(iter_headers(memoryview(data)[: starts[-1] + cut]))) == 4


def test_a_header_needs_no_more_than_its_own_bytes() -> None:
    data = build_batch(RECORDS, base_offset=10)
    assert parse_header(data[:HEADER_BYTES]) == parse_header(data)
    for cut in range(HEADER_BYTES):
        with pytest.raises(CorruptData):
            parse_header(data[:cut])
    with pytest.raises(CorruptData, match="is cut at"):
        check_batch(data[:-1], 0, parse_header(data))
    with pytest.raises(CorruptData, match="is cut at"):
        read_records(data[:-1], 0, parse_header(data))


@pytest.mark.parametrize("codec", Codec, ids=lambda codec: codec.name)
def test_every_damaged_byte_under_the_crc_is_noticed(codec: Codec) -> None:
    data = build_batch(RECORDS[:3], base_offset=10, compression=codec)
    for position in range(16, len(data)):
        damaged = bytearray(data)
        damaged[position] ^= 0x10
        with pytest.raises(CorruptData):
            check_batch(damaged, 0, parse_header(damaged))


@pytest.mark.parametrize(
    ("position", "layout", "value", "message"),
    [
        (8, ">i", 48, "claims 60 bytes"),
        (8, ">i", -1, "claims 11 bytes"),
        (16, ">b", 3, "has magic 3"),
        (16, ">b", -1, "has magic -1"),
        (0, ">q", -1, "base offset -1"),
        (23, ">i", -1, "last offset delta -1"),
    ],
)
def test_headers_that_cannot_be(position: int, layout: str, value: int, message: str) -> None:
    data = bytearray(build_batch(RECORDS, base_offset=10))
    struct.pack_into(layout, data, position, value)
    with pytest.raises(CorruptData, match=message):
        parse_header(data)


def reseal(data: bytearray) -> bytes:
    """Makes the CRC right again, as a hostile producer would."""
    stamp_time(data, 0, header_as_it_is(data), LOG_APPEND_TIME, 1)
    return bytes(data)


@pytest.mark.parametrize("count", [-1, 8, 2**31 - 1])
def test_counts_beyond_the_offsets_are_refused(count: int) -> None:
    data = bytearray(build_batch(RECORDS, base_offset=10))
    struct.pack_into(">i", data, 57, count)
    sealed = reseal(data)
    with pytest.raises(CorruptData, match=f"claims {count} records"):
        check_batch(sealed, 0, parse_header(sealed))


@pytest.mark.parametrize("codec", Codec, ids=lambda codec: codec.name)
def test_hostile_records_under_a_right_crc(codec: Codec) -> None:
    """Only `CorruptData` comes out, whatever the bytes of the records are."""
    rng = random.Random(int(codec))
    good = build_batch(RECORDS[:3], base_offset=10, compression=codec)
    refused = 0
    for _ in range(400):
        data = bytearray(good)
        for _ in range(rng.choice((1, 3))):
            data[rng.randrange(HEADER_BYTES, len(data))] = rng.randrange(256)
        sealed = reseal(data)
        header = parse_header(sealed)
        check_batch(sealed, 0, header)
        try:
            read_records(sealed, 0, header, limit_bytes=1 << 20)
        except CorruptData:
            refused += 1
    assert refused > 50


def test_random_bytes_as_batches() -> None:
    rng = random.Random(2)
    for _ in range(3000):
        data = bytearray(rng.randbytes(rng.randrange(120)))
        if len(data) > 16:
            data[8:12] = struct.pack(">i", rng.randrange(-5, 130))
            data[16] = rng.choice((0, 1, 2, 2, 3))
        try:
            for position, header in iter_headers(data):
                check_batch(data, position, header)
        except CorruptData:
            continue


@pytest.mark.parametrize("timestamp_ms", [1 << 63, 1 << 67, -(1 << 63) - 1])
def test_a_time_that_no_field_can_hold_is_refused(timestamp_ms: int) -> None:
    """A producer writes base and delta as it likes; whoever makes a header or an answer of such records would fail."""
    records = [encode_record(Record(0, each, b"k", b"v"), 0, 1) for each in (1, timestamp_ms)]
    header = replace(parse_header(build_batch([Record(0, 1, b"k", b"v")])), last_offset_delta=1, record_count=2)
    data = seal_batch(header, b"".join(records))
    check_batch(data, 0, parse_header(data))
    with pytest.raises(CorruptData, match="timestamp"):
        read(data)


@pytest.mark.parametrize("codec", Codec, ids=lambda codec: codec.name)
def test_a_batch_without_records_has_nothing_to_decompress(codec: Codec) -> None:
    """Compaction once left such batches with the codec of what they had held."""
    empty = replace(parse_header(build_batch([], base_offset=10, last_offset=16)), attributes=int(codec))
    data = seal_batch(empty, b"")
    assert parse_header(data).compression == codec
    assert read(data) == []
    assert codec is Codec.ZSTD or down_convert(data, 1, 0) == b""
