"""Looking into records costs no more than a budget, whatever a few kilobytes claim; wrappers together have one."""

from __future__ import annotations

import gzip
import random
import struct
import tracemalloc
from collections.abc import Callable
from typing import Any

import cramjam
import pytest

from broker_core.errors import CorruptData, ErrorCode
from broker_core.records import message_set, record
from broker_core.records.batch import Codec, Record, build_batch, parse_header, reading_records
from broker_core.records.budget import CONVERTED_RECORD_BYTES_MAX, HEADERS_MAX, Budget, BudgetSpent, TimeSpent, refusal
from broker_core.records.compression import compress, decompressing
from broker_core.records.frames import lz4_output, zstd_output
from broker_core.records.legacy import down_converting, up_converting
from broker_core.records.message_set import build_message
from broker_core.records.record import encode_record
from broker_core.records.steps import BYTES_PER_STEP, RECORDS_PER_STEP, Steps, carry_on, finish
from broker_core.records.swift import PIECE_BYTES
from broker_core.records.walk import Walked, walking
from tests.support.bombs import OLD_PACKERS, PACKERS, many_records, sealed, wrapper_of

MIB = 1 << 20


def all_records(batch: bytes, budget: Budget) -> Steps[int]:
    """How many records a batch has, in steps."""
    count = 0
    for records in (yield from reading_records(batch, 0, parse_header(batch), budget)):
        count += len(records)
        yield
    return count


def counted(steps: Steps[Any], seen: Callable[[], None] = lambda: None) -> tuple[Any, int]:
    """The result, or the error, and how many steps it took; `seen` is called after each."""
    count, job = 0, None
    try:
        while True:
            job = next(steps) if job is None else carry_on(steps, job)
            count += 1
            seen()
    except StopIteration as done:
        return done.value, count
    except CorruptData as error:
        return error, count


@pytest.mark.parametrize("codec", PACKERS, ids=lambda codec: codec.name)
def test_millions_of_records_in_a_few_kilobytes_are_refused_before_a_byte_comes_out(codec: Codec) -> None:
    batch = many_records(4_790_000, codec)
    budget = Budget()
    error, steps = counted(all_records(batch, budget))
    assert isinstance(error, BudgetSpent)
    assert (steps, budget.held_bytes, budget.is_fresh) == (0, 0, True)
    assert refusal(error).code is ErrorCode.MESSAGE_TOO_LARGE


@pytest.mark.parametrize("codec", PACKERS, ids=lambda codec: codec.name)
def test_those_within_the_budget_are_walked_a_few_in_a_step(codec: Codec) -> None:
    found, steps = counted(all_records(many_records(50_000, codec), Budget()))
    assert found == 50_000
    assert steps >= 50_000 / RECORDS_PER_STEP


@pytest.mark.parametrize("codec", PACKERS, ids=lambda codec: codec.name)
def test_large_records_are_walked_by_their_bytes(codec: Codec, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sixty-four records may be megabytes: a step has what fits into its bytes, or one record."""
    chunks: list[int] = []
    decode = record._decode_some

    def seen(*arguments: Any) -> Any:
        records, end = decode(*arguments)
        chunks.append(sum(len(each.value or b"") for each in records))
        return records, end

    monkeypatch.setattr(record, "_decode_some", seen)
    assert finish(all_records(many_records(300, codec, size=10_000), Budget())) == 300
    assert max(chunks) <= BYTES_PER_STEP
    chunks.clear()
    assert finish(all_records(many_records(3, codec, size=5 * BYTES_PER_STEP), Budget())) == 3
    assert chunks == [5 * BYTES_PER_STEP] * 3


@pytest.mark.parametrize("codec", PACKERS, ids=lambda codec: codec.name)
def test_no_more_comes_out_than_the_budget_has(codec: Codec) -> None:
    batch = many_records(64, codec, size=MIB)
    assert len(batch) < 4 * MIB
    tracemalloc.start()
    error, _ = counted(all_records(batch, Budget(2 * MIB)))
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert isinstance(error, BudgetSpent)
    assert peak_bytes < 6 * MIB + len(batch)


@pytest.mark.parametrize("codec", PACKERS, ids=lambda codec: codec.name)
def test_what_comes_out_takes_steps_or_a_job_beside_the_loop(codec: Codec) -> None:
    """No step gives a megabyte: larger pieces come out of one native call, which whoever runs the steps may have done elsewhere."""
    plain = random.Random(1).randbytes(4096) * 4096
    steps, jobs, count, job = decompressing(codec, compress(codec, plain), Budget()), 0, 0, None
    try:
        while True:
            job = next(steps) if job is None else carry_on(steps, job)
            count += 1
            jobs += job is not None
    except StopIteration as done:
        assert done.value == plain
    assert count >= len(plain) / (256 << 10)
    assert jobs == (1 if codec in (Codec.LZ4, Codec.ZSTD) else 0)


@pytest.mark.parametrize("codec", OLD_PACKERS, ids=lambda codec: codec.name)
def test_six_wrappers_have_one_bound(codec: Codec) -> None:
    """Each would fit alone."""
    data = wrapper_of(10, codec, size=100_000)
    assert isinstance(counted(up_converting(data, Budget(2 * MIB)))[0], bytes)
    budget = Budget(2 * MIB)
    error, _ = counted(up_converting(data * 6, budget))
    assert isinstance(error, BudgetSpent)
    assert budget.held_bytes <= 2 * MIB
    assert isinstance(counted(up_converting(wrapper_of(1_000, codec) * 6, Budget(records_max=3_000)))[0], BudgetSpent)
    assert isinstance(counted(up_converting(wrapper_of(1_000, codec) * 6, Budget(records_max=6_000)))[0], bytes)


@pytest.mark.parametrize("codec", OLD_PACKERS, ids=lambda codec: codec.name)
def test_messages_inside_a_wrapper_are_counted_before_one_is_read(codec: Codec, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[int] = []
    parse = message_set.parse_message

    def seen(data: Any, position: int = 0) -> Any:
        parsed.append(position)
        return parse(data, position)

    monkeypatch.setattr(message_set, "parse_message", seen)
    error, steps = counted(up_converting(wrapper_of(100_000, codec), Budget(records_max=50_000)))
    assert isinstance(error, BudgetSpent)
    assert parsed == [0], "the wrapper alone"
    assert steps >= 50_000 / RECORDS_PER_STEP


def test_a_wrapper_inside_a_wrapper_is_never_unpacked() -> None:
    """Six layers of gzip, each small, none but the first of which is looked into."""
    layer = build_message(Record(0, 1, b"k", bytes(8 * MIB)), 1)
    for _ in range(6):
        layer = build_message(Record(0, 1, None, gzip.compress(layer)), 1, Codec.GZIP)
    budget = Budget()
    error, _ = counted(up_converting(layer, budget))
    assert isinstance(error, CorruptData) and "holds a compressed message" in str(error)
    assert budget.held_bytes < 64 << 10


def test_down_conversion_gives_what_the_budget_allows() -> None:
    """As Kafka's stops: what is converted is sent, the rest is fetched again."""
    data = b"".join(build_batch([Record(n, 1_000, b"k", bytes(100_000))], base_offset=n, compression=Codec.GZIP) for n in range(8))
    alone = [
        finish(
            down_converting(build_batch([Record(n, 1_000, b"k", bytes(100_000))], base_offset=n, compression=Codec.GZIP), 1, 0, Budget())
        )
        for n in range(8)
    ]
    assert finish(down_converting(data, 1, 0, Budget())) == b"".join(alone)
    assert finish(down_converting(data, 1, 0, Budget(350_000))) == b"".join(alone[:3])
    with pytest.raises(BudgetSpent):
        finish(down_converting(data, 1, 0, Budget(50_000)))


def test_a_snappy_block_cannot_claim_more_than_the_format_packs() -> None:
    block = bytearray(cramjam.snappy.compress_raw(b"plain"))
    claim = struct.pack("BBBB", 0x80, 0x80, 0x80, 0x20) + bytes(block[1:])
    budget = Budget()
    error, _ = counted(decompressing(Codec.SNAPPY, claim, budget))
    assert isinstance(error, CorruptData) and "claims 67108864" in str(error)
    assert budget.held_bytes == 0


@pytest.mark.parametrize("size", [0, 1, 1000, 65_536, 65_537, 131_072, 131_073, 700_000])
@pytest.mark.parametrize("repeats", [False, True])
def test_headers_of_frames_tell_how_much_can_come_out(size: int, repeats: bool) -> None:
    plain = b"ab" * (size // 2) + b"a" * (size % 2) if repeats else random.Random(size).randbytes(size)
    stream = cramjam.zstd.Compressor(level=3)
    stream.compress(plain)
    untold = bytes(stream.finish())
    told, packed = bytes(cramjam.zstd.compress(plain)), bytes(cramjam.lz4.compress(plain))
    skipped = struct.pack("<II", 0x184D2A53, 5) + b"12345"
    for frame, output, block_bytes in ((untold, zstd_output, 128 << 10), (told, zstd_output, 128 << 10), (packed, lz4_output, 4 * MIB)):
        most = finish(output(frame))
        assert size <= most <= size + block_bytes
        assert finish(output(skipped + frame + skipped + frame)) == 2 * most
    assert finish(zstd_output(told)) == size


def test_hostile_frames_cost_steps_and_never_more_than_an_error() -> None:
    empty_blocks = bytes.fromhex("28b52ffd0058") + bytes(3) * 100_000 + b"\1\0\0"
    found, steps = counted(zstd_output(empty_blocks))
    assert (found, steps) == (0, 100_000 // 256)
    rng = random.Random(7)
    for codec, output in ((Codec.LZ4, lz4_output), (Codec.ZSTD, zstd_output)):
        packed = compress(codec, b"some text that compresses " * 50)
        for _ in range(500):
            damaged = bytearray(packed)
            damaged[rng.randrange(len(damaged))] = rng.randrange(256)
            del damaged[rng.randrange(1, len(damaged)) :]
            try:
                finish(output(bytes(damaged)))
            except (CorruptData, struct.error, IndexError):
                continue


def test_what_a_client_is_told() -> None:
    told = [refusal(error).code for error in (CorruptData("a"), BudgetSpent("b"), TimeSpent("c"))]
    assert told == [ErrorCode.CORRUPT_MESSAGE, ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.REQUEST_TIMED_OUT]


def test_what_a_request_brings_itself_adds_to_its_budget() -> None:
    """A large request of records that pack as records do is no bomb; but memory is held to the limit whatever was earned."""
    budget = Budget(1_000, 10)
    budget.earn(700)
    budget.take_records(110)
    with pytest.raises(BudgetSpent, match="more than the 0"):
        budget.take_records(1)
    assert budget.room_bytes == 1_000
    budget.take_bytes(1_000)
    assert budget.room_bytes == 0
    budget.held_bytes = 0
    assert budget.room_bytes == 1_000
    for _ in range(700 * 16 // 1_000):
        budget.held_bytes = 0
        budget.take_bytes(1_000)
    budget.held_bytes = 0
    assert budget.room_bytes == 200


def headed(headers: int, count: int) -> bytes:
    """A packed batch of records alike with so many headers, all of them empty."""
    return sealed(
        compress(Codec.ZSTD, encode_record(Record(0, 1_000, b"k", b"v", (("", None),) * headers), 0, 1_000) * count), count, Codec.ZSTD
    )


def test_headers_are_counted_too() -> None:
    """Of two bytes each there may be millions in one record: that many are refused unread, fewer are walked few in a step."""
    assert isinstance(counted(all_records(headed(HEADERS_MAX + 1, 1), Budget()))[0], BudgetSpent)
    assert isinstance(counted(all_records(headed(20_000, 1), Budget()))[0], BudgetSpent)
    count, found = 20, headed(HEADERS_MAX, 20)
    records, steps = counted(all_records(found, Budget()))
    assert (records, steps >= count / (BYTES_PER_STEP / HEADERS_MAX)) == (count, True)
    plain = finish(decompressing(Codec.ZSTD, found[61:], Budget()))
    walked, steps = counted(walking(bytes(plain), count))
    assert isinstance(walked, Walked)
    assert steps >= len(plain) / PIECE_BYTES - 1
    with pytest.raises(BudgetSpent):
        finish(walking(bytes(finish(decompressing(Codec.ZSTD, headed(20_000, 1)[61:], Budget()))), 1))


def test_a_giant_record_is_not_converted() -> None:
    """It would be copied several times within one step."""
    plain = bytes(CONVERTED_RECORD_BYTES_MAX + 1)
    stored = build_batch([Record(0, 1_000, b"k", plain)], compression=Codec.GZIP)
    brought = build_message(Record(0, 1_000, None, gzip.compress(build_message(Record(0, 1_000, b"k", plain), 1))), 1, Codec.GZIP)
    for steps in (down_converting(stored, 1, 0, Budget()), up_converting(brought, Budget())):
        error, _ = counted(steps)
        assert isinstance(error, BudgetSpent) and "too large to be converted" in str(error)
