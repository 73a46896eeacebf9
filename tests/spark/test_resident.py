"""The driver that stays: when it answers, what it says meanwhile, and that no batch comes between while the store is tidied."""

from __future__ import annotations

import json
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.support.samples import DAY_MS, START_MS, partition
from workers.spark import resident
from workers.spark.resident import ANSWER_S, ASK, BEAT_S, REST, Resident, rest_s
from workers.spark.store import ingest


class Clock:
    """Stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now

    def time(self) -> float:
        return self.now


class Run:
    """Answers in `takes` seconds, and keeps what is said."""

    def __init__(self, folder: Path, clock: Clock) -> None:
        self.folder, self.store, self.clock = folder, folder / "store", clock
        self.answers, self.takes = 0, 3.0
        self.said: list[tuple[str, dict[str, int]]] = []
        self.commits = self.store / ingest.CHECKPOINT / "commits"
        self.commits.mkdir(parents=True)

    def commit(self, number: int) -> None:
        (self.commits / str(number)).write_text("v1")

    def answer(self, spark: Any, turn: Lock, small_files: int) -> None:
        assert not turn.locked() and small_files > 8
        self.answers += 1
        self.clock.now += self.takes

    def note(self, done: int, message: str, **more: int) -> None:
        assert done == 0
        self.said.append((message, more))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(resident, "time", made)
    return made


@pytest.fixture
def run(tmp_path: Path, clock: Clock) -> Run:
    return Run(tmp_path, clock)


@pytest.fixture
def driver(run: Run) -> Resident:
    spark: Any = None
    return Resident(run, spark, ingest.Ingest(run.store, 1, lambda: 1))


def test_it_answers_once_something_was_taken_and_again_once_more_was(run: Run, driver: Resident, clock: Clock) -> None:
    driver.look()
    assert (run.answers, run.said[-1][0]) == (0, "waiting for the first batch")
    run.commit(0)
    driver.look()
    assert (run.answers, run.said[-1]) == (1, ("waiting for new samples; batch 0 was the last", {"next_ms": 1_063_000}))
    clock.now += ANSWER_S
    driver.look()
    assert run.answers == 1, "nothing is new"
    run.commit(1)
    driver.look()
    assert run.answers == 2


def test_an_answer_that_takes_long_makes_the_next_wait(run: Run, driver: Resident, clock: Clock) -> None:
    run.takes = 50.0
    run.commit(0)
    driver.look()
    run.commit(1)
    clock.now += REST * 50.0 - 1
    driver.look()
    assert run.answers == 1
    clock.now += 1
    driver.look()
    assert run.answers == 2
    assert (rest_s(1.0), rest_s(100.0)) == (ANSWER_S, 400.0)


def test_who_asks_is_answered_next_though_nothing_is_new(run: Run, driver: Resident, clock: Clock) -> None:
    (run.folder / ASK).touch()
    driver.look()
    assert run.answers == 0, "there is nothing to answer from"
    run.commit(0)
    driver.look()
    (run.folder / ASK).touch()
    driver.look()
    assert run.answers == 2 and not (run.folder / ASK).exists()
    driver.look()
    assert run.answers == 2


def test_it_says_now_and_then_that_it_lives(run: Run, driver: Resident, clock: Clock) -> None:
    for _ in range(10):
        driver.look()
    assert len(run.said) == 1
    clock.now += BEAT_S
    driver.look()
    assert len(run.said) == 2


def test_a_batch_waits_while_the_store_is_tidied(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / ingest.SAMPLES).mkdir()
    taking = ingest.Ingest(tmp_path, 8 * DAY_MS, lambda: START_MS + DAY_MS)
    batch = spark.createDataFrame([(0, 0, bytearray(json.dumps(partition(0, 1)).encode()))], "partition int, offset long, value binary")
    begun, done = Event(), Event()

    def take() -> None:
        begun.set()
        taking.take(batch, 0)
        done.set()

    with taking.turn:
        thread = Thread(target=take)
        thread.start()
        assert begun.wait(10)
        assert not done.wait(1) and not list((tmp_path / ingest.SAMPLES).iterdir())
    assert done.wait(60)
    thread.join()
    assert len(list((tmp_path / ingest.SAMPLES).glob("day=*/batch=0"))) == 1
