"""Walking over the records of a batch: the same verdict as reading them, and no Python per record where they are alike."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from broker_core.errors import CorruptData
from broker_core.records.alike import Layout
from broker_core.records.record import Record, decode_records, encode_record
from broker_core.records.steps import finish
from broker_core.records.walk import RECORDS_AFTER_SHORT_RUN, Walked, _Walk, walking

BASE_MS = 1_700_000_000_000


def plain(records: Sequence[Record]) -> bytes:
    return b"".join(encode_record(record, 0, BASE_MS) for record in records)


def alike(count: int, size: int = 100, step_ms: int = 0, key: bytes | None = b"key") -> list[Record]:
    return [Record(index, BASE_MS + index * step_ms, key, b"v" * size) for index in range(count)]


def mixed(count: int, seed: int) -> list[Record]:
    """Sizes, keys, times and headers of all kinds, now and then some records alike."""
    drawn = random.Random(seed)
    records: list[Record] = []
    while len(records) < count:
        key = drawn.choice((None, b"", b"k" * drawn.randrange(200)))
        value = drawn.choice((None, b"", b"v" * drawn.randrange(20_000 if drawn.random() < 0.05 else 200)))
        headers = (("name", b"value"), ("null", None)) if drawn.random() < 0.2 else ()
        time_ms = BASE_MS + drawn.choice((0, -1, 1, drawn.randrange(-(10**6), 10**6), drawn.randrange(10**12)))
        for _ in range(drawn.choice((1, 1, 1, 70))):
            records.append(Record(len(records), time_ms + drawn.randrange(5), key, value, headers))
    return records[:count]


def expected(records: Sequence[Record]) -> Walked:
    deltas = [record.timestamp_ms - BASE_MS for record in records]
    return Walked(min(deltas), max(deltas), any(record.key is None for record in records), in_order=True)


@pytest.mark.parametrize("seed", range(12))
def test_what_is_found_is_what_the_records_say(seed: int) -> None:
    records = mixed(700, seed)
    assert finish(walking(plain(records), 700)) == expected(records)


@pytest.mark.parametrize("count", [1, 24, 25, 63, 64, 65, 200, 9_000])
@pytest.mark.parametrize("step_ms", [0, 1, -1, 200])
def test_records_alike(count: int, step_ms: int) -> None:
    records = alike(count, step_ms=step_ms)
    assert finish(walking(plain(records), count)) == expected(records)


@pytest.mark.parametrize("records", [alike(150), mixed(150, 1)], ids=["alike", "mixed"])
def test_every_damaged_byte_is_judged_as_by_reading(records: list[Record]) -> None:
    data = plain(records)
    drawn = random.Random(5)
    for position in drawn.sample(range(len(data)), 400):
        broken = bytearray(data)
        broken[position] ^= 1 << drawn.randrange(8)
        assert walkable(bytes(broken), 150) == readable(bytes(broken), 150), position


def walkable(data: bytes, count: int) -> bool:
    try:
        finish(walking(data, count))
    except CorruptData:
        return False
    return True


def readable(data: bytes, count: int) -> bool:
    try:
        decode_records(data, count, 0, BASE_MS)
    except CorruptData as error:
        return "utf-8" in str(error)
    return True


@pytest.mark.parametrize("count", [-1, 0, 1, 99, 101, 2**31 - 1])
def test_another_count_than_there_are(count: int) -> None:
    for records in (alike(100), mixed(100, 3)):
        assert not walkable(plain(records), count)
        assert not walkable(plain(records)[:-1], 100)
        assert not walkable(plain(records) + b"\0", 100)


def test_offsets_that_do_not_count_up_are_told() -> None:
    for at in (5, 70, 150, 299):
        records = alike(300)
        records[at] = records[at]._replace(offset=records[at].offset - 1)
        assert not finish(walking(plain(records), 300)).in_order, at


def test_a_keyless_record_in_a_run_is_found() -> None:
    records = alike(200, key=b"")
    records[150] = records[150]._replace(key=None)
    assert finish(walking(plain(records), 200)).keyless


@pytest.mark.parametrize("field", [b"\x80" * 5 + b"\x01", b"\xff" * 10 + b"\x01"])
def test_integers_of_too_many_bytes(field: bytes) -> None:
    assert not walkable(field + bytes(20), 1)
    body = b"\0" + field + b"\0\1\1\0"
    assert not walkable(bytes((2 * len(body),)) + body, 1) or len(field) == 6


def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many records each call of the part that goes record by record has taken."""
    taken: list[int] = []
    one_by_one = _Walk._one_by_one

    def counting(self: _Walk, stop: int) -> Layout | None:
        before = self.index
        layout = one_by_one(self, stop)
        taken.append(self.index - before)
        return layout

    monkeypatch.setattr(_Walk, "_one_by_one", counting)
    return taken


def test_records_alike_take_no_python_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only where the width of a delta changes are a few read one by one."""
    taken = counted(monkeypatch)
    finish(walking(plain(alike(10_000, size=20)), 10_000))
    assert sum(taken) < 100


def test_sizes_that_only_seem_alike_cost_few_tries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Equal sizes with ever other layouts inside: a run that was not found is not looked for again at once."""
    taken = counted(monkeypatch)
    records = [Record(index, BASE_MS, b"k" * (index % 2), b"v" * (9 - index % 2)) for index in range(4_000)]
    finish(walking(plain(records), 4_000))
    assert sum(taken) > 3_900
    assert len(taken) < 4_000 / 64 + 4_000 / RECORDS_AFTER_SHORT_RUN + 10


def test_a_long_walk_goes_in_steps() -> None:
    steps = walking(plain(mixed(1_000, 2)), 1_000)
    assert sum(1 for _ in steps) >= 1_000 / 64 - 8
