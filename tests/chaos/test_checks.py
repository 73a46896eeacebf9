"""The checks of a chaos run find what they are there for."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from broker_core.records.batch import Record, build_batch
from tests.chaos.checks import Place, Stored, page_violations, record_violations, stored
from tests.chaos.load import NUMBER, PARTITIONS, TAIL


def batch(offset: int, *numbers: int) -> bytes:
    records = [Record(offset + index, 1, None, NUMBER.pack(number) + TAIL, ()) for index, number in enumerate(numbers)]
    return bytes(build_batch(records, base_offset=offset))


def folder_of(base: Path, *segments: bytes) -> Path:
    folder = base / "topic-0"
    folder.mkdir(parents=True)
    for number, data in enumerate(segments):
        (folder / f"{number:020}.log").write_bytes(data)
    return base


ALL_ZERO = dict.fromkeys(range(1, PARTITIONS), 0)


def test_what_lies_below_the_high_watermark_counts_whatever_the_segments_are(tmp_path: Path) -> None:
    first, second, third = batch(0, 10, 11), batch(2, 12), batch(3, 13)
    one = stored(folder_of(tmp_path / "a", first + second + third), "topic", {0: 3, **ALL_ZERO})
    two = stored(folder_of(tmp_path / "b", first, second), "topic", {0: 3, **ALL_ZERO})
    assert one == two
    assert one.numbers == Counter([10, 11, 12])


def test_a_hole_in_a_log_is_told_with_its_place(tmp_path: Path) -> None:
    """As a disk leaves it that lost a page."""
    holed = bytearray(batch(0, 10, 11, 12))
    holed[len(holed) // 2 :] = bytes(len(holed) - len(holed) // 2)
    found = stored(folder_of(tmp_path, bytes(holed)), "topic", {0: 3, **ALL_ZERO})
    told = list(record_violations("topic", set(), {2: found}, idempotent=True))
    assert len(told) == 1
    assert told[0].startswith("broker 2: topic-0/00000000000000000000.log, below offset 3: ")


def copies(first: list[int], second: list[int], data: bytes = b"same") -> dict[int, Stored]:
    return {1: Stored(Counter(first), {0: b"same"}), 2: Stored(Counter(second), {0: data})}


def test_missing_doubled_and_different_records_are_found() -> None:
    assert not list(record_violations("t", {1, 2}, copies([1, 2], [1, 2, 3]), idempotent=True))
    (missing,) = record_violations("t", {1, 2}, copies([1, 2], [1]), idempotent=True)
    assert "1 acknowledged records are not on broker 2: [2]" in missing
    (twice,) = record_violations("t", {1}, copies([1, 1], [1]), idempotent=True)
    assert "twice on broker 1" in twice
    assert not list(record_violations("t", {1}, copies([1, 1], [1]), idempotent=False))
    (different,) = record_violations("t", {1}, copies([1], [1], b"other"), idempotent=True)
    assert "t-0: the 5 bytes on broker 2 differ" in different


def test_a_page_that_is_not_right_is_found() -> None:
    right = {("t", 0): Place(1, frozenset({1, 2}), 5)}
    assert page_violations(right, right) == []
    assert len(page_violations({}, right)) == len(page_violations(right, {})) == 1
    assert "the page says" in page_violations({("t", 0): Place(2, frozenset({1, 2}), 5)}, right)[0]
