"""Rows in turns: each round asks both kinds, in the opposite order every other time; what was measured is written after each."""

from __future__ import annotations

import os
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from tests.kafka_bench import results
from tests.kafka_bench.children import ClientFailed
from tests.kafka_bench.java_tools import NotUnderstood
from tests.kafka_bench.kinds import KINDS, Kind
from tests.kafka_bench.limits import bounded
from tests.kafka_bench.lives import Lives
from tests.kafka_bench.pace import Pace
from tests.kafka_bench.results import Document, Figures, Sample
from tests.kafka_bench.row import Row, Stage, Turn

MOST_START_SECONDS = 300.0
CLIENTS_FAULTS = (ClientFailed, NotUnderstood)
"""What leaves the clusters as they were: they need not be started and warmed anew."""
Say = Callable[[str], None]


class Runner:
    def __init__(
        self, lives: Lives, pace: Pace, document: Document, path: Path, say: Say, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._lives = lives
        self._pace = pace
        self._document = document
        self._path = path
        self._say = say
        self._clock = clock

    def run(self, rows: Sequence[Row], rounds: int) -> int:
        """How many turns failed. Those in the document already are left out, and later rounds while the run is late."""
        left = [turn for turn in turns(rows, rounds) if not self._document.has(turn[0].name, turn[2].name, turn[1])]
        failed, began, is_late = 0, self._clock(), dict[tuple[str, int], bool]()
        for done, (row, number, kind) in enumerate(left):
            behind = self._clock() - began - self._pace.seconds * (done + 1) / len(left)
            if is_late.setdefault((row.name, number), number >= self._pace.fewest_rounds and behind > 0):
                self._say(f"{done + 1:>4} of {len(left)}  {row.name:<38} {kind.name:<9} round {number + 1}  left out: {behind:.0f} s late")
                continue
            sample = self._sample(row, number, kind)
            self._document.add(sample)
            results.save(self._document, self._path)
            failed += sample.error is not None
            self._say(f"{done + 1:>4} of {len(left)}  {line(row, sample)}")
        return failed

    def _sample(self, row: Row, number: int, kind: Kind) -> Sample:
        at, load, began = datetime.now(UTC), os.getloadavg()[0], time.monotonic()
        figures: Figures = {}
        error = None
        try:
            self._turn(row, number, kind, figures)
        except Exception as failure:
            error = f"{type(failure).__name__}: {failure}"[:2000]
            self._say(traceback.format_exc())
            if not isinstance(failure, CLIENTS_FAULTS):
                self._lives.close()
        seconds = round(time.monotonic() - began, 2)
        return Sample(row.name, kind.name, number, at.isoformat(timespec="seconds"), seconds, round(load, 2), figures, error)

    def _turn(self, row: Row, number: int, kind: Kind, figures: Figures) -> None:
        if row.stage is Stage.ALONE:
            with self._lives.alone(kind) as cluster, bounded(row.most_seconds):
                row.run(Turn(cluster, self._pace, self._document, number, figures))
            return
        with bounded(MOST_START_SECONDS):
            cluster = self._lives.beside(kind)
        with bounded(row.most_seconds):
            row.run(Turn(cluster, self._pace, self._document, number, figures))


def turns(rows: Sequence[Row], rounds: int) -> Iterator[tuple[Row, int, Kind]]:
    for row in rows:
        for number in range(min(rounds, row.most_rounds)):
            for kind in KINDS if number % 2 == 0 else reversed(KINDS):
                yield row, number, kind


def line(row: Row, sample: Sample) -> str:
    """What is told of one turn on the terminal."""
    found = ", ".join(f"{m.words} {sample.figures[m.name]:.4g} {m.unit}" for m in row.measures if m.name in sample.figures)
    failed = f"  FAILED: {sample.error}" if sample.error else ""
    return f"{row.name:<38} {sample.kind:<9} round {sample.round + 1}  {sample.seconds:5.1f} s  {found}{failed}"
