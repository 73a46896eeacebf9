"""Full garbage collections stay short: what outlived a long one is not looked at again until half of the partitions have gone."""

from __future__ import annotations

import gc
from collections.abc import Callable

import pytest

from broker_core.server.collector import FULL, LONG_MS, Collector


class Heap:
    """Stands for the interpreter's: a collection costs what is given, freezing and thawing are counted."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.cpu_ms = 0.0
        self.hosted = 0
        self.frozen: list[str] = []
        for name in ("freeze", "unfreeze"):
            monkeypatch.setattr(gc, name, self._note(name))
        self.collector = Collector(lambda: self.hosted, lambda: self.cpu_ms)

    def _note(self, name: str) -> Callable[[], None]:
        return lambda: self.frozen.append(name)

    def collect(self, cost_ms: float, generation: int = FULL) -> None:
        self.collector.on_collection("start", {"generation": generation})
        self.cpu_ms += cost_ms
        self.collector.on_collection("stop", {"generation": generation})


@pytest.fixture
def heap(monkeypatch: pytest.MonkeyPatch) -> Heap:
    return Heap(monkeypatch)


def test_what_outlived_a_long_collection_is_frozen(heap: Heap) -> None:
    heap.collect(LONG_MS / 2)
    heap.collect(LONG_MS * 2, generation=FULL - 1)
    assert heap.frozen == []
    heap.collect(LONG_MS * 2)
    assert heap.frozen == ["freeze"]


def test_all_is_looked_at_again_once_half_of_the_partitions_have_gone(heap: Heap) -> None:
    heap.hosted = 1_000
    heap.collect(LONG_MS * 2)
    heap.hosted = 500
    heap.collect(LONG_MS / 2)
    assert heap.frozen == ["freeze"]
    heap.hosted = 499
    heap.collect(LONG_MS / 2)
    heap.collect(LONG_MS / 2)
    assert heap.frozen == ["freeze", "unfreeze"]
    heap.collect(LONG_MS * 2)
    assert heap.frozen == ["freeze", "unfreeze", "freeze"]


def test_the_interpreter_tells_it_from_start_to_stop(heap: Heap) -> None:
    before = list(gc.callbacks)
    heap.collector.start()
    assert heap.frozen == ["freeze"]
    assert gc.callbacks == [*before, heap.collector.on_collection]
    heap.collector.stop()
    assert gc.callbacks == before
