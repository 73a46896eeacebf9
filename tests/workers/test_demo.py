"""The demo's clients are judged by what they get done, and replaced when they stand still."""

from __future__ import annotations

import itertools
import random
import threading
from types import SimpleNamespace
from typing import Any

import pytest

from console.rules.watch import Watch
from workers.demo import consuming, producing
from workers.demo.consuming import READERS
from workers.demo.shapes import SHAPES


class Stop(threading.Event):
    """One whose waiting takes no time; it is set after so many looks."""

    def __init__(self, looks: int, clock: SimpleNamespace) -> None:
        super().__init__()
        self._left, self._clock = looks, clock

    def wait(self, timeout: float | None = None) -> bool:
        self._clock.now += timeout or 0.0
        return self.is_set()

    def is_set(self) -> bool:
        self._left -= 1
        return self._left < 0


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    found = SimpleNamespace(now=1_000.0)
    for module in (producing, consuming):
        monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: found.now))
    return found


class Producer:
    """It takes records and says nothing of them, as one that has lost its id; or acknowledges each."""

    def __init__(self, acknowledges: bool) -> None:
        self.acknowledges, self.held, self.purged = acknowledges, [], False  # type: ignore[var-annotated]

    def produce(self, topic: str, value: bytes, key: bytes | None, on_delivery: Any) -> None:
        self.held.append(on_delivery)

    def poll(self, timeout: float) -> None:
        told, self.held = (self.held, []) if self.acknowledges else ([], self.held)
        for one in told:
            one(None, None)

    def __len__(self) -> int:
        return len(self.held)

    def purge(self) -> None:
        self.purged = True

    def flush(self, timeout: float) -> None: ...


def test_a_producer_that_stands_still_is_replaced(clock: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody needs an error for it."""
    shape = SHAPES[2]
    watch = producing.watch_of(shape)
    opened: list[Producer] = []

    def open_one(_servers: str, _shape: Any) -> Producer:
        opened.append(Producer(acknowledges=len(opened) == 2))
        return opened[-1]

    monkeypatch.setattr(producing, "open_producer", open_one)
    producing.produce("nowhere", shape, Stop(1_000, clock), watch)
    assert len(opened) == 3
    assert [one.purged for one in opened[:2]] == [True, True]
    assert watch.silent_s(clock.now) is None and watch.value(clock.now)["done"] > 100


def test_a_producer_that_writes_is_not_replaced(clock: SimpleNamespace) -> None:
    shape = SHAPES[0]
    watch = producing.watch_of(shape)
    number = producing.session(Producer(acknowledges=True), shape, Stop(2_000, clock), random.Random(1), 0, watch)
    assert number > 1_000 and watch.value(clock.now)["done"] == number


class Consumer:
    def __init__(self, batches: Any, clock: SimpleNamespace) -> None:
        self.batches, self.clock, self.paused = iter(batches), clock, []  # type: ignore[var-annotated]

    def consume(self, count: int, timeout: float) -> list[Any]:
        self.clock.now += timeout
        return [SimpleNamespace(error=lambda: None)] * next(self.batches, 0)

    def poll(self, timeout: float) -> None:
        self.clock.now += timeout

    def assignment(self) -> list[Any]:
        return []

    def pause(self, partitions: list[Any]) -> None:
        self.paused.append(self.clock.now)

    def resume(self, partitions: list[Any]) -> None: ...


def test_a_reader_that_gets_nothing_stands_still(clock: SimpleNamespace) -> None:
    watch = consuming.watch_of(READERS[0])
    began = clock.now
    consuming.session(Consumer([5, 5, 5], clock), READERS[0], Stop(10_000, clock), watch)
    assert consuming.DEADLINE_SECONDS <= clock.now - began <= consuming.DEADLINE_SECONDS + 3
    assert "reads the demo's orders has got nothing done for" in watch.sentence(clock.now)


def test_a_reader_that_rests_does_not_stand_still(clock: SimpleNamespace) -> None:
    watch = Watch("w", "reading", 60.0)
    reader = READERS[2]
    consumer = Consumer(itertools.repeat(3), clock)
    consuming.session(consumer, reader, Stop(2_000, clock), watch)
    assert consumer.paused and clock.now > 1_000 + reader.work_s + reader.rest_s
    assert watch.silent_s(clock.now) is None
