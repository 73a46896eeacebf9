"""The store of samples: each batch once whatever is killed where, many files made one, days that go."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.support.samples import DAY_MS, START_MS, day_of, group, partition
from workers.spark.job import aside
from workers.spark.store import compaction, ingest
from workers.spark.store.layout import counted, days, folders, last_committed, void

KEEP_MS = 8 * DAY_MS
DAY = date.fromisoformat(day_of(START_MS))


class Crash(Exception):
    """The driver is killed here."""


class Store:
    def __init__(self, spark: SparkSession, path: Path) -> None:
        self.spark, self.path, self.samples = spark, path, path / ingest.SAMPLES
        self.samples.mkdir()

    def take(self, number: int, rows: list[Any], commit: bool = True) -> None:
        values = [(0, n, bytearray(row if isinstance(row, bytes) else json.dumps(row).encode())) for n, row in enumerate(rows)]
        batch = self.spark.createDataFrame(values, "partition int, offset long, value binary")
        ingest.Ingest(self.path, KEEP_MS, lambda: START_MS + 3 * DAY_MS).take(batch, number)
        if commit:
            (self.path / ingest.CHECKPOINT / "commits").mkdir(parents=True, exist_ok=True)
            (self.path / ingest.CHECKPOINT / "commits" / str(number)).write_text("v1\n{}")

    @property
    def committed(self) -> int:
        return last_committed(self.path / ingest.CHECKPOINT)

    def compact(self, today: date = DAY + timedelta(days=9)) -> int:
        return compaction.compact(self.spark, self.samples, self.committed, today)

    def ends(self) -> list[int]:
        """The log ends of all samples that count, sorted."""
        held = days(self.samples, self.committed)
        if not held:
            return []
        return sorted(row.log_end_offset for row in self.spark.read.parquet(*folders(self.samples, held)).collect())

    def parts(self, day: date = DAY) -> list[str]:
        return sorted(part.name for part in (self.samples / f"day={day.isoformat()}").iterdir())


@pytest.fixture
def store(spark: SparkSession, tmp_path: Path) -> Store:
    return Store(spark, tmp_path)


def killed_at(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, call: int) -> Callable[[], None]:
    """The `call`th call of `owner.name` kills; what comes back undoes it."""
    real, calls = getattr(owner, name), []

    def maybe(*args: Any, **kwargs: Any) -> Any:
        calls.append(1)
        if len(calls) == call:
            raise Crash
        return real(*args, **kwargs)

    monkeypatch.setattr(owner, name, maybe)
    return lambda: monkeypatch.setattr(owner, name, real)


def test_a_batch_counts_once_it_is_committed(store: Store) -> None:
    store.take(0, [partition(0, 1), partition(10, 2)])
    store.take(1, [partition(20, 3)], commit=False)
    assert store.ends() == [1, 2]


@pytest.mark.parametrize(("owner", "name", "call"), [(Path, "rename", 1), (Path, "rename", 2), (shutil, "rmtree", 1)])
def test_a_batch_of_two_days_that_was_killed_anywhere_is_there_once(
    store: Store, monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, call: int
) -> None:
    rows = [partition(-10, 1), partition(10, 2), b"poison"]
    undo = killed_at(monkeypatch, owner, name, call)
    with pytest.raises(Crash):
        store.take(0, rows, commit=False)
    undo()
    assert store.ends() == []
    store.take(0, rows)
    assert store.ends() == [1, 2]
    assert aside(store.path / ingest.ASIDE)["counts"] == {"no sample": 1}


def test_a_batch_that_has_less_when_it_is_done_again_leaves_nothing_of_before(store: Store) -> None:
    """The topic's retention has taken records meanwhile."""
    store.take(0, [partition(-10, 1), partition(10, 2)], commit=False)
    store.take(0, [partition(10, 2)])
    assert store.ends() == [2]


def test_what_is_set_aside_is_counted_and_named_the_newest_first(store: Store) -> None:
    store.take(0, [b"x", partition(0, 1), {**partition(0, 1), "kind": "weather"}])
    store.take(1, [partition(0, 2), b"y"] + [b"z"] * 30)
    found = aside(store.path / ingest.ASIDE)
    assert found["counts"] == {"no sample": 32, "unknown kind": 1}
    assert len(found["examples"]) == ingest.MOST_EXAMPLES
    assert found["examples"][0] == {"partition": 0, "offset": 1, "why": "no sample"}
    assert store.ends() == [1, 2]


def test_many_batches_become_one_with_each_sample_once(store: Store) -> None:
    """The writer was not answered and wrote two of them again."""
    for number in range(4):
        store.take(number, [partition(10 * n, n) for n in (number, number + 1)] + [group(0, 5) | {"log_end_offset": 99}])
    assert store.compact() == 1
    assert store.parts() == ["upto=3"]
    assert store.ends() == [0, 1, 2, 3, 4, 99]
    store.take(4, [partition(500, 50)])
    assert store.ends() == [0, 1, 2, 3, 4, 50, 99]
    assert store.compact() == 1
    assert store.parts() == ["upto=4"]
    assert store.compact() == 0


def test_the_day_under_way_is_compacted_when_it_has_many(store: Store) -> None:
    for number in range(compaction.BATCHES_MAX):
        store.take(number, [partition(number, number)])
    assert store.compact(today=DAY) == 0
    store.take(compaction.BATCHES_MAX, [partition(100, 100)])
    assert store.compact(today=DAY) == 1
    assert store.ends() == [*range(compaction.BATCHES_MAX), 100]


@pytest.mark.parametrize(("owner", "name", "call"), [(Path, "rename", 1), (shutil, "rmtree", 1), (shutil, "rmtree", 2)])
def test_a_compaction_that_was_killed_anywhere_loses_and_doubles_nothing(
    store: Store, monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, call: int
) -> None:
    for number in range(3):
        store.take(number, [partition(10 * number, number)])
    undo = killed_at(monkeypatch, owner, name, call)
    with pytest.raises(Crash):
        store.compact()
    undo()
    assert store.ends() == [0, 1, 2]
    store.compact()
    assert store.ends() == [0, 1, 2]
    assert store.parts() == ["upto=2"]


def test_days_go_when_they_are_old_or_too_much(store: Store) -> None:
    store.take(0, [partition(day * 86_400, day) for day in range(3)])
    assert compaction.drop_old(store.samples, DAY + timedelta(days=8), 7, 2**40) == [DAY]
    assert store.ends() == [1, 2]
    assert compaction.drop_old(store.samples, DAY + timedelta(days=2), 7, 1) == [DAY + timedelta(days=1)]
    assert store.ends() == [2]


def test_a_strange_name_in_the_folder_is_passed_over() -> None:
    names = ["batch=2", "batch=x", "upto=-1", "upto=1", "upto=0", "batch=1", "upto=5.part", "batch=٣", "notes", "batch=9"]
    held = counted(DAY, names, committed=8)
    assert held.names == ("upto=1", "batch=2")
    assert sorted(void(names, held)) == ["batch=1", "upto=0", "upto=5.part"]
