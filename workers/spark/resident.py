"""The driver that stays: one query takes new samples as they come, and all questions are answered again and again from what it has taken.

An answer reads the whole week, so the next one waits at least `REST` times as long as the last one took: a driver that stays has a fifth
of its time for answers, however many samples there are. A file `ask` in its folder brings the next one forward.
"""

from __future__ import annotations

import time
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Protocol

from workers.spark.store import ingest, layout

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BATCH_S = 20
ANSWER_S = 60.0
REST = 4.0
SMALL_FILES = 60
"""Of the day that still grows, before they become one: 20 minutes of batches."""
BEAT_S = 5.0
"""It says that it lives at least so often, but while Spark answers."""
ASK = "ask"


class Answering(Protocol):
    """What `job.Run` has of the driver."""

    folder: Path
    store: Path

    def answer(self, spark: SparkSession, turn: Lock, small_files: int) -> None: ...
    def note(self, done: int, message: str, **more: int) -> None: ...


class Resident:
    """Ends when its process is ended, or with what ended the query."""

    def __init__(self, run: Answering, spark: SparkSession, taking: ingest.Ingest) -> None:
        self.run, self.spark, self.taking = run, spark, taking
        self.answered = -1
        """The last batch that was committed before the last answer."""
        self.due = time.monotonic()
        self.quiet_until = 0.0

    def go(self, bootstrap_servers: str, topic: str) -> None:
        """Raises what Spark raises."""
        query = self.taking.begin(self.spark, bootstrap_servers, topic, BATCH_S)
        while not query.awaitTermination(1):
            self.look()

    def look(self) -> None:
        """Answers when that is due and something is new, or somebody asks; else says that it waits."""
        asked = (self.run.folder / ASK).exists()
        now = time.monotonic()
        committed = layout.last_committed(self.run.store / ingest.CHECKPOINT)
        if committed >= 0 and (asked or (now >= self.due and committed > self.answered)):
            (self.run.folder / ASK).unlink(missing_ok=True)
            self.run.answer(self.spark, self.taking.turn, SMALL_FILES)
            self.answered = committed
            self.due = time.monotonic() + rest_s(time.monotonic() - now)
            self._say(committed)
        elif now >= self.quiet_until:
            self._say(committed)

    def _say(self, committed: int) -> None:
        self.quiet_until = time.monotonic() + BEAT_S
        wait_ms = max(int((self.due - time.monotonic()) * 1000), 0)
        words = f"waiting for new samples; batch {committed} was the last" if committed >= 0 else "waiting for the first batch"
        self.run.note(0, words, next_ms=int(time.time() * 1000) + wait_ms)


def rest_s(took_s: float) -> float:
    """From the end of an answer to the next, by how long it took."""
    return max(ANSWER_S, REST * took_s)
