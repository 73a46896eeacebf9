"""The file that the past is kept in: what it gives back, what it forgets, and what a broken one does."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from broker_core.contract.moments import Gap
from console.live.history.store import FRAME_MS, HistoryStore
from console.snapshot.moments import GAP_MS

HOUR_MS = 3_600_000


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "local.history"


@pytest.fixture
def store(path: Path) -> Iterator[HistoryStore]:
    made = HistoryStore(path, 10_000_000, 24 * HOUR_MS)
    yield made
    made.close()


def test_a_moment_is_what_was_last_written_before_it(store: HistoryStore) -> None:
    store.begin(1_000, {"a": b"1", "b": b"1"})
    store.add(3_000, {"a": b"2"})
    store.add(5_000, {"b": None, "c": b"5"})
    assert store.at(999) is None
    assert store.at(1_000) == (1_000, {"a": b"1", "b": b"1"})
    assert store.at(4_999) == (4_999, {"a": b"2", "b": b"1"})
    assert store.at(5_000) == (5_000, {"a": b"2", "c": b"5"})


def test_after_the_last_word_nothing_more_is_claimed(store: HistoryStore) -> None:
    store.begin(1_000, {"a": b"1"})
    store.add(3_000, {})
    assert store.at(60_000) == (3_000, {"a": b"1"})


def test_a_gap_shows_what_was_known_before_it_and_is_told(store: HistoryStore) -> None:
    store.begin(1_000, {"a": b"1"})
    store.add(2_000, {})
    store.end()
    assert store.is_due(2_500)
    store.begin(2_000 + 2 * GAP_MS, {"a": b"9"})
    assert store.gaps() == (Gap(2_000, 2_000 + 2 * GAP_MS),)
    found = store.at(2_000 + GAP_MS)
    assert found == (2_000, {"a": b"1"})


def test_it_goes_on_after_a_restart_with_a_frame_of_its_own(path: Path, store: HistoryStore) -> None:
    store.begin(1_000, {"a": b"1"})
    store.close()
    again = HistoryStore(path, 10_000_000, 24 * HOUR_MS)
    assert again.is_due(1_500)
    assert again.at(2_000) == (1_000, {"a": b"1"})
    again.close()


def test_a_frame_ends_by_time_and_by_weight(store: HistoryStore) -> None:
    store.begin(0, {"a": b"1"})
    assert not store.is_due(FRAME_MS - 1)
    assert store.is_due(FRAME_MS)
    store.add(1, {str(n): str(n * 7919 % 104_729).encode() * 20 for n in range(10_000)})
    assert store.is_due(2)


def test_the_oldest_go_when_the_limit_is_reached(path: Path) -> None:
    store = HistoryStore(path, 3_000, 24 * HOUR_MS)
    noise = [bytes((n * k * 7 + n) % 251 for k in range(1_000)) for n in range(1, 11)]
    for hour, some in enumerate(noise):
        store.begin(hour * 1_000, {"a": some.hex().encode()})
    assert store.size_bytes() <= 3_000
    span = store.span()
    assert span is not None and 0 < span[0] < span[1] == 9_000
    assert store.at(span[0] - 1) is None
    store.close()


def test_the_oldest_go_when_they_are_too_old(store: HistoryStore) -> None:
    store.begin(0, {"a": b"1"})
    store.begin(12 * HOUR_MS, {"a": b"2"})
    store.begin(25 * HOUR_MS, {"a": b"3"})
    assert store.span() == (12 * HOUR_MS, 25 * HOUR_MS)


def test_a_frame_that_cannot_be_read_is_as_a_gap(path: Path, store: HistoryStore) -> None:
    store.begin(1_000, {"a": b"1"})
    store.begin(2_000, {"a": b"2"})
    with sqlite3.connect(path) as other:
        other.execute("UPDATE frames SET start = x'00ff00' WHERE from_ms = 2000")
    other.close()
    assert store.at(3_000) == (1_000, {"a": b"1"})


def test_a_file_that_is_none_of_ours_is_set_aside(path: Path) -> None:
    path.write_bytes(b"not a database at all" * 100)
    store = HistoryStore(path, 10_000, HOUR_MS)
    store.begin(1_000, {"a": b"1"})
    assert store.at(1_000) == (1_000, {"a": b"1"})
    assert path.with_suffix(".broken").read_bytes().startswith(b"not a database")
    store.close()
