"""Conversions go in steps that are small whatever the batch, and give the same as all at once."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from broker_core.records import legacy, message_set, record
from broker_core.records.batch import Codec, Record, build_batch, iter_headers, read_records
from broker_core.records.budget import Budget
from broker_core.records.compression import compress, compressing, decompressing
from broker_core.records.legacy import build_message_set, down_convert, down_converting, up_convert, up_converting
from broker_core.records.steps import RECORDS_PER_STEP, Steps, carry_on, finish

OLD_CODECS = [Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4]
COUNT = 2_000
RECORDS = [Record(index, 1_000 + index, f"k{index}".encode(), b"value" * 20) for index in range(COUNT)]


class Busy:
    """Counts the calls of functions that handle one record, and the most of them in one step."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = self.most = 0
        for module, name in (
            (record, "_decode"),
            (legacy, "encode_record"),
            (message_set, "build_message"),
            (message_set, "parse_message"),
        ):
            monkeypatch.setattr(module, name, self.counted(getattr(module, name)))

    def counted(self, function: Callable[..., object]) -> Callable[..., object]:
        def call(*arguments: object) -> object:
            self.count += 1
            return function(*arguments)

        return call

    def run(self, steps: Steps[bytes]) -> bytes:
        job = None
        while True:
            self.count = 0
            try:
                job = next(steps) if job is None else carry_on(steps, job)
            except StopIteration as done:
                result: bytes = done.value
                return result
            finally:
                self.most = max(self.most, self.count)


@pytest.mark.parametrize("codec", OLD_CODECS, ids=lambda codec: codec.name)
@pytest.mark.parametrize("magic", [0, 1])
def test_no_step_handles_many_records(codec: Codec, magic: int, monkeypatch: pytest.MonkeyPatch) -> None:
    batch, old = build_batch(RECORDS, compression=codec), build_message_set(RECORDS, magic, codec)
    assert down_convert(batch, magic, 0) == old
    busy = Busy(monkeypatch)
    assert busy.run(down_converting(batch, magic, 0, Budget())) == old
    assert busy.most <= 2 * RECORDS_PER_STEP, "decoded and built"
    busy.most = 0
    assert busy.run(up_converting(old, Budget())) == up_convert(old)
    assert 0 < busy.most <= 2 * RECORDS_PER_STEP, "parsed and encoded"


@pytest.mark.parametrize("codec", OLD_CODECS, ids=lambda codec: codec.name)
def test_up_converted_records_are_all_there_in_order(codec: Codec) -> None:
    data = up_convert(build_message_set(RECORDS, 1, codec))
    (found,) = [(position, header) for position, header in iter_headers(data)]
    assert read_records(data, *found) == RECORDS
    assert (found[1].compression, found[1].max_timestamp) == (codec, RECORDS[-1].timestamp_ms)


def test_old_messages_in_old_segments_go_down_in_steps_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Magic 1 as an older broker stored it, for a consumer of magic 0."""
    old = build_message_set(RECORDS, 1, Codec.GZIP)
    wanted = build_message_set(RECORDS, 0, Codec.GZIP)
    busy = Busy(monkeypatch)
    assert busy.run(down_converting(old, 0, 0, Budget())) == wanted
    assert busy.most <= 2 * RECORDS_PER_STEP


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY])
def test_decompression_gives_little_in_a_step(codec: Codec) -> None:
    """A megabyte of zeros is a kilobyte of gzip: what comes out counts, not what goes in."""
    plain = bytes(8 << 20)
    packed = compress(codec, plain)
    steps = decompressing(codec, packed, Budget(len(plain)))
    assert sum(1 for _ in steps) >= 32
    assert finish(decompressing(codec, packed, Budget(len(plain)))) == plain


@pytest.mark.parametrize("codec", OLD_CODECS[1:], ids=lambda codec: codec.name)
def test_compression_takes_little_in_a_step(codec: Codec) -> None:
    plain = bytes(range(256)) * 8192
    assert sum(1 for _ in compressing(codec, plain)) >= 32
    assert finish(decompressing(codec, finish(compressing(codec, plain)), Budget())) == plain


@pytest.mark.parametrize("level", [None, 9, 19, 22])
@pytest.mark.parametrize("size_bytes", [4 << 10, 64 << 10, 1 << 20])
def test_zstd_of_much_or_with_care_is_left_to_whoever_runs_the_steps(size_bytes: int, level: int | None) -> None:
    """At level 22 a megabyte takes most of a second, wherever it is cut: it is one job, to be done beside the loop."""
    plain = bytes(range(256)) * (size_bytes // 256)
    is_quick = size_bytes <= 4 << 10 or (size_bytes <= 64 << 10 and level in (None, 9))
    steps, jobs, job = compressing(Codec.ZSTD, plain, level), 0, None
    try:
        while True:
            job = next(steps) if job is None else carry_on(steps, job)
            jobs += job is not None
    except StopIteration as done:
        packed = done.value
    assert jobs == (0 if is_quick else 1)
    assert finish(decompressing(Codec.ZSTD, packed, Budget())) == plain
