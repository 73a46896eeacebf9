"""Walking over the records of a batch: the same verdict as reading them, with LuaJIT and without.

No Python runs per record where they are plainly whole, without LuaJIT where they are alike.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from broker_core.errors import CorruptData
from broker_core.records import swift, walk
from broker_core.records.alike import Layout
from broker_core.records.budget import HEADERS_MAX
from broker_core.records.record import Record, decode_records, encode_record
from broker_core.records.steps import RECORDS_PER_STEP, finish
from broker_core.records.swift import PIECE_BYTES, RECORDS_PER_PIECE, take
from broker_core.records.walk import LARGE_RECORD_BYTES, RECORDS_AFTER_SHORT_RUN, Walked, _Walk, walking

BASE_MS = 1_700_000_000_000
INTEGERS = (
    *(b"\0", b"\1", b"\2", b"\x7f", b"\x80", b"\xff", b"\x80\0", b"\x80\1", b"\xff\x7f", b"\x80\x80\0", b"\x80\x80\x80\0"),
    *(b"\x80" * 4 + b"\0", b"\x80" * 5 + b"\0", b"\x80" * 7 + b"\1", b"\x80" * 10 + b"\0", b"\xff" * 6 + b"\1", b"\xff" * 9 + b"\1"),
    *(b"\xff" * 4 + b"\x0f", b"\xfe" + b"\xff" * 3 + b"\x0f", b"\xff" * 4 + b"\x7f"),
)
"""Whole, cut, negative, too large, longer than they need be or may be."""


@pytest.fixture
def in_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walk, "take", lambda *_: swift._NONE)


@pytest.fixture(params=["luajit", "python"])
def either(request: pytest.FixtureRequest) -> None:
    if request.param == "python":
        request.getfixturevalue("in_python")


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


@pytest.mark.usefixtures("either")
@pytest.mark.parametrize("seed", range(12))
def test_what_is_found_is_what_the_records_say(seed: int) -> None:
    records = mixed(700, seed)
    assert finish(walking(plain(records), 700)) == expected(records)


@pytest.mark.usefixtures("either")
@pytest.mark.parametrize("count", [1, 24, 25, 63, 64, 65, 200, 9_000])
@pytest.mark.parametrize("step_ms", [0, 1, -1, 200])
def test_records_alike(count: int, step_ms: int) -> None:
    records = alike(count, step_ms=step_ms)
    assert finish(walking(plain(records), count)) == expected(records)


@pytest.mark.usefixtures("either")
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


@pytest.mark.usefixtures("either")
@pytest.mark.parametrize("count", [-1, 0, 1, 99, 101, 2**31 - 1])
def test_another_count_than_there_are(count: int) -> None:
    for records in (alike(100), mixed(100, 3)):
        assert not walkable(plain(records), count)
        assert not walkable(plain(records)[:-1], 100)
        assert not walkable(plain(records) + b"\0", 100)


@pytest.mark.usefixtures("either")
def test_offsets_that_do_not_count_up_are_told() -> None:
    for at in (5, 70, 150, 299):
        records = alike(300)
        records[at] = records[at]._replace(offset=records[at].offset - 1)
        assert not finish(walking(plain(records), 300)).in_order, at


@pytest.mark.usefixtures("either")
def test_a_keyless_record_in_a_run_is_found() -> None:
    records = alike(200, key=b"")
    records[150] = records[150]._replace(key=None)
    assert finish(walking(plain(records), 200)).keyless


@pytest.mark.usefixtures("either")
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


@pytest.mark.usefixtures("in_python")
def test_records_alike_take_no_python_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only where the width of a delta changes are a few read one by one."""
    taken = counted(monkeypatch)
    finish(walking(plain(alike(10_000, size=20)), 10_000))
    assert sum(taken) < 100


@pytest.mark.usefixtures("in_python")
def test_sizes_that_only_seem_alike_cost_few_tries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Equal sizes with ever other layouts inside: a run that was not found is not looked for again at once."""
    taken = counted(monkeypatch)
    records = [Record(index, BASE_MS, b"k" * (index % 2), b"v" * (9 - index % 2)) for index in range(4_000)]
    finish(walking(plain(records), 4_000))
    assert sum(taken) > 3_900
    assert len(taken) < 4_000 / 64 + 4_000 / RECORDS_AFTER_SHORT_RUN + 10


@pytest.mark.usefixtures("in_python")
def test_a_long_walk_goes_in_steps() -> None:
    steps = walking(plain(mixed(1_000, 2)), 1_000)
    assert sum(1 for _ in steps) >= 1_000 / 64 - 8


def test_what_is_plainly_whole_takes_no_python_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever its size, with headers or without; a step has a piece of so many bytes and records."""
    taken = counted(monkeypatch)
    for records in (mixed(3_000, 4), alike(5_000, size=3, step_ms=7)):
        data = plain(records)
        steps = walking(data, len(records))
        assert sum(1 for _ in steps) >= max(len(data) / PIECE_BYTES, len(records) / RECORDS_PER_PIECE) - 1
    assert taken == []


def test_around_a_record_that_is_not_plain_a_few_are_read_in_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """A time delta beyond what a double holds, in the midst of others."""
    taken = counted(monkeypatch)
    records = mixed(1_000, 6)
    records[500] = records[500]._replace(timestamp_ms=BASE_MS + (1 << 60))
    assert finish(walking(plain(records), 1_000)) == expected(records)
    assert 0 < sum(taken) <= 2 * RECORDS_PER_STEP


def test_large_records_are_not_handed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = counted(monkeypatch)
    records = alike(3, size=LARGE_RECORD_BYTES)
    assert finish(walking(plain(records), 3)) == expected(records)
    assert taken == [3]


def test_a_piece_is_taken_from_where_the_walk_is() -> None:
    records = mixed(40, 8)
    first, rest = plain(records[:10]), plain(records[10:])
    found = expected(records[10:])
    for data in (first + rest, bytearray(first + rest)):
        assert take(data, len(first), 10, 30) == (30, len(rest), found.least_delta_ms, found.most_delta_ms, found.keyless, True)
        assert take(data, len(first), 10, 7)[:2] == (7, len(plain(records[10:17])))
        assert take(data, len(first), 11, 30)[5] is False, "numbered otherwise"
    assert all(isinstance(number, int) for number in take(rest, 0, 10, 30))
    assert take(rest[:-1], 0, 10, 30)[0] == 29, "the last is cut off"
    assert take(b"", 0, 0, 1)[:2] == (0, 0)


def test_too_many_headers_are_left_to_the_walk() -> None:
    for headers, taken in ((HEADERS_MAX, 1), (HEADERS_MAX + 1, 0)):
        assert take(plain([Record(0, BASE_MS, b"", b"", (("", None),) * headers)]), 0, 0, 1)[0] == taken


@pytest.mark.parametrize("seed", range(8))
def test_damaged_batches_are_judged_alike_with_luajit_and_without(seed: int) -> None:
    """Hundreds each: bits, bytes and integers changed, put in and left out, mostly where a record begins."""
    drawn = random.Random(seed)
    refused = 0
    for _ in range(40):
        pieces = [encode_record(record, 0, BASE_MS) for record in mixed(100, drawn.random())[: drawn.randrange(1, 12)]]
        for _ in range(12):
            damaged, count = bytearray(b"".join(pieces)), len(pieces)
            for _ in range(drawn.randrange(1, 4)):
                begin = sum(map(len, pieces[: drawn.randrange(len(pieces))])) + drawn.randrange(12)
                at = min(begin if drawn.random() < 0.7 else drawn.randrange(len(damaged)), len(damaged) - 1)
                kind = drawn.randrange(5)
                if kind == 0:
                    damaged[at] ^= 1 << drawn.randrange(8)
                elif kind == 1:
                    damaged[at : at + 1] = drawn.choice(INTEGERS)
                elif kind == 2:
                    integer = drawn.choice(INTEGERS)
                    damaged[at : at + len(integer)] = integer
                elif kind == 3 and len(damaged) > 4:
                    del damaged[at : at + drawn.randrange(1, 4)]
                else:
                    count += drawn.choice((-1, 1))
            found = verdict(damaged, count)
            with pytest.MonkeyPatch.context() as patched:
                patched.setattr(walk, "take", lambda *_: swift._NONE)
                assert found == verdict(damaged, count), damaged.hex()
            refused += isinstance(found, type)
    assert 100 < refused < 460, "of 480: of either kind enough"


def verdict(data: bytearray, count: int) -> Walked | type[CorruptData]:
    try:
        return finish(walking(data, count))
    except CorruptData as error:
        return type(error)
