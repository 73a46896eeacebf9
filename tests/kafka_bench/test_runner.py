"""Turns and samples, without a broker: which are taken, what is kept of them, and that a run goes on."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from tests.kafka_bench import results
from tests.kafka_bench.kinds import KINDS
from tests.kafka_bench.limits import TooLong, bounded
from tests.kafka_bench.pace import QUICK
from tests.kafka_bench.results import Document, Machine
from tests.kafka_bench.row import Better, Measure, Row, Turn
from tests.kafka_bench.rows import ROWS, NoSuchRow, chosen
from tests.kafka_bench.runner import Runner, turns

SPEED = Measure("speed", "speed", "MB/s", Better.MORE)


class NoClusters:
    """In place of clusters that live: rows of these tests touch none."""

    def beside(self, kind: object) -> Any:
        return None

    @contextlib.contextmanager
    def alone(self, kind: object) -> Iterator[Any]:
        yield None

    def close(self) -> None:
        pass


def row(name: str, run: Any, **more: Any) -> Row:
    return Row(name, name, "chapter", (SPEED,), run, **more)


@pytest.fixture
def document() -> Document:
    return Document("2026-01-01T00:00:00+00:00", "abc", True, Machine("a processor", 2, 8.0, "Linux", "memory"), {})


def runner(document: Document, path: Path, said: list[str] | None = None) -> Runner:
    return Runner(NoClusters(), QUICK, document, path, (said if said is not None else []).append)  # type: ignore[arg-type]


def test_the_kinds_take_turns_and_the_first_changes() -> None:
    taken = [(number, kind.name) for _, number, kind in turns([row("a", None)], 2)]
    assert taken == [(0, "kafka"), (0, "highwater"), (1, "highwater"), (1, "kafka")]


def test_a_long_row_has_fewer_rounds() -> None:
    assert len(list(turns([row("a", None, most_rounds=1)], 5))) == len(KINDS)


def test_a_run_goes_on_with_what_was_not_measured(document: Document, tmp_path: Path) -> None:
    asked: list[int] = []

    def run(turn: Turn) -> None:
        if turn.number == 1 and len(asked) == 2:
            asked.append(-1)
            raise KeyboardInterrupt
        asked.append(turn.number)
        turn.figures["speed"] = 1.0

    path = tmp_path / "found.json"
    with pytest.raises(KeyboardInterrupt):
        runner(document, path).run([row("a", run)], 2)
    kept = results.load(path)
    assert kept is not None
    assert runner(kept, path).run([row("a", run)], 2) == 0
    assert asked == [0, 0, -1, 1, 1]
    assert kept.of("a", "kafka", "speed") == {0: 1.0, 1: 1.0}


def test_a_turn_that_fails_keeps_its_figures_and_is_tried_again(document: Document, tmp_path: Path) -> None:
    def fails(turn: Turn) -> None:
        turn.figures["speed"] = 2.0
        raise ValueError("no more")

    said: list[str] = []
    path = tmp_path / "found.json"
    assert runner(document, path, said).run([row("a", fails)], 1) == 2
    kept = results.load(path)
    assert kept is not None
    assert [(s.figures, s.error) for s in kept.samples] == [({"speed": 2.0}, "ValueError: no more")] * 2
    assert any("FAILED: ValueError: no more" in line for line in said)
    assert runner(kept, path).run([row("a", lambda turn: None)], 1) == 0
    assert [s.error for s in kept.samples] == [None, None]


def test_a_slow_machine_goes_through_fewer_rounds_of_both_kinds(document: Document, tmp_path: Path) -> None:
    now, asked, said = [0.0], list[int](), list[str]()

    def run(turn: Turn) -> None:
        now[0] += 40.0 if len(asked) < 4 else 20.0
        asked.append(turn.number)

    pace = structs.replace(QUICK, fewest_rounds=2, seconds=320.0)
    one = Runner(NoClusters(), pace, document, tmp_path / "found.json", said.append, lambda: now[0])  # type: ignore[arg-type]
    assert one.run([row("a", run), row("b", run)], 4) == 0
    taken = [(name, sum((s.row, s.kind) == (name, kind.name) for s in document.samples)) for name in ("a", "b") for kind in KINDS]
    assert taken == [("a", 2), ("a", 2), ("b", 4), ("b", 4)]
    assert sum("left out" in line for line in said) == 4


def test_a_turn_without_end_is_ended() -> None:
    with pytest.raises(TooLong, match="longer than 0 s"), bounded(0.05):
        while True:
            pass


def test_rows_are_chosen_by_name_with_those_they_need() -> None:
    assert chosen([]) == list(ROWS)
    names = [row.name for row in chosen(["latency-30"])]
    assert names == ["latency-full", "latency-30"]
    with pytest.raises(NoSuchRow, match="fast"):
        chosen(["start", "fast"])


def test_rows_have_names_of_their_own() -> None:
    assert len({row.name for row in ROWS}) == len(ROWS)
