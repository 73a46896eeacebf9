"""Figures over time: what is read is what was known, gaps are gaps, and the file stays within its limit."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

import pytest

from console.live.history.tracks import BUCKET_KEYS, EVERY_MS_MAX, EVERY_MS_MIN, Tracks

HOUR_MS = 3_600_000
STEP_MS = EVERY_MS_MIN


@pytest.fixture
def db() -> Iterator[sqlite3.Connection]:
    made = sqlite3.connect(":memory:")
    yield made
    made.close()


def group(lag: int | None, lag_s: float | None = None) -> bytes:
    return b'{"group":"g","state":"Stable","lag":%s,"lag_s":%s}' % tuple(b"null" if x is None else str(x).encode() for x in (lag, lag_s))


def test_each_sample_is_what_was_known_then(db: sqlite3.Connection) -> None:
    tracks = Tracks(db, 10**9, 24 * HOUR_MS)
    for number, lag in enumerate((5, None, 7)):
        assert tracks.is_due(number * STEP_MS + STEP_MS)
        tracks.add(
            number * STEP_MS + STEP_MS, {"group/g": group(lag, 1.5), "group/h": group(1), "partition/t/0": b"{}", "group/x": b"rubbish"}
        )
    found = tracks.read(["group/g"], 0, HOUR_MS, 500)[0]
    assert (found.at_ms, found.figures) == ((10_000, 20_000, 30_000), {"lag": (5, None, 7), "lag_s": (1.5, 1.5, 1.5)})
    assert tracks.read(["group/none"], 0, HOUR_MS, 500)[0].figures["lag"] == (None,) * 3
    assert tracks.read(["group/g"], 15_000, 25_000, 500)[0].at_ms == (20_000,)
    assert tracks.read(["topic/t"], HOUR_MS, 2 * HOUR_MS, 10)[0].figures == {"messages_per_s": (), "size_bytes": (), "lag": ()}


def test_where_nothing_was_recorded_is_a_gap(db: sqlite3.Connection) -> None:
    tracks = Tracks(db, 10**9, 24 * HOUR_MS)
    for at_ms in (10_000, 20_000, 80_000, 90_000):
        tracks.add(at_ms, {"group/g": group(at_ms)})
    found = tracks.read(["group/g"], 0, 100_000, 500)[0]
    assert found.at_ms == (10_000, 20_000, 20_001, 80_000, 90_000)
    assert found.figures["lag"] == (10_000, 20_000, None, 80_000, 90_000)


def test_a_long_time_is_read_in_as_many_steps_as_are_wanted(db: sqlite3.Connection) -> None:
    tracks = Tracks(db, 10**9, 24 * HOUR_MS)
    for number in range(1000):
        tracks.add(number * STEP_MS, {"group/g": group(number)})
    found = tracks.read(["group/g"], 0, 1000 * STEP_MS, 100)[0]
    assert len(found.at_ms) == 100 and found.every_ms == 10 * STEP_MS
    assert found.figures["lag"] == tuple(range(9, 1000, 10)), "the last of each part, and no gap between them"


def test_many_things_are_found_again_in_their_buckets(db: sqlite3.Connection) -> None:
    tracks = Tracks(db, 10**9, 24 * HOUR_MS)
    few = {f"group/{n}": group(n) for n in range(10)}
    many = {f"group/{n}": group(n) for n in range(5 * BUCKET_KEYS)}
    tracks.add(10_000, few)
    tracks.add(20_000, many)
    assert all(tracks.read([f"group/{n}"], 0, HOUR_MS, 500)[0].figures["lag"][-1] == n for n in range(0, 5 * BUCKET_KEYS, 97))
    assert tracks.read(["group/3"], 0, HOUR_MS, 500)[0].figures["lag"] == (3, 3)
    names = [f"group/{n}" for n in (1200, 7, 7, 99_999)]
    several = [found.figures["lag"] for found in tracks.read(names, 0, HOUR_MS, 500)]
    assert several == [(None, 1200), (7, 7), (7, 7), (None, None)], "each in its place"


def test_samples_are_rarer_the_more_they_weigh_and_the_oldest_go(db: sqlite3.Connection) -> None:
    tracks = Tracks(db, 200_000, HOUR_MS)
    many = {f"topic/{n}": b'{"messages_per_s":%d.5,"size_bytes":%d,"lag":%d}' % (n * 7919 % 1013, n * 104_729, n) for n in range(2_000)}
    tracks.add(10_000, many)
    assert EVERY_MS_MIN < tracks.every_ms <= EVERY_MS_MAX
    at_ms = 10_000
    for _ in range(40):
        at_ms += tracks.every_ms
        tracks.add(at_ms, many)
    assert tracks.size_bytes() <= 200_000
    assert db.execute("SELECT count(*) FROM tracks WHERE at_ms NOT IN (SELECT at_ms FROM samples)").fetchone() == (0,)
    assert tracks.read(["topic/7"], at_ms, at_ms, 5)[0].figures["size_bytes"] == (7 * 104_729,)
    assert Tracks(db, 200_000, HOUR_MS).is_due(at_ms + 1) is False, "it goes on after a restart"


def test_a_clock_that_is_set_back_stops_nothing(db: sqlite3.Connection) -> None:
    tracks = Tracks(db, 10**9, 24 * HOUR_MS)
    tracks.add(2 * HOUR_MS, {"group/g": group(1)})
    assert not tracks.is_due(2 * HOUR_MS + 1)
    assert tracks.is_due(HOUR_MS)


def test_what_cannot_be_read_is_not_known(db: sqlite3.Connection) -> None:
    tracks = Tracks(db, 10**9, 24 * HOUR_MS)
    for at_ms in (10_000, 20_000, 30_000):
        tracks.add(at_ms, {"group/g": group(1)})
    db.execute("UPDATE tracks SET packed = x'00ff' WHERE at_ms = 10000")
    db.execute("DELETE FROM tracks WHERE at_ms = 20000")
    assert tracks.read(["group/g"], 0, HOUR_MS, 500)[0].figures["lag"] == (None, None, 1)
