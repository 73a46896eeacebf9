"""What is said of the driver that stays."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from console.rules.analysis.resident import LAST_RETRY, level, resident, retry_after, sentence

SILENT = "Unknown whether the driver still runs: it has said nothing since."
NOW = datetime(2026, 11, 27, 3, 20, 0, tzinfo=UTC)


def ms(**ago: float) -> int:
    return int((NOW - timedelta(**ago)).timestamp() * 1000)


RUNNING = {"state": "running", "since_ms": ms(minutes=10), "tries": 0}


@pytest.mark.parametrize(
    ("kept", "progress", "said", "state"),
    [
        (None, None, "The driver has not been started yet.", "unknown"),
        (RUNNING | {"since_ms": ms(minutes=2)}, None, "A Spark driver runs since 03:18:00; it is starting.", "ok"),
        (
            RUNNING,
            None,
            "Unknown whether the driver still runs: it was started at 03:10:00 and has said nothing since.",
            "unknown",
        ),
        (
            RUNNING,
            {"message": "waiting; batch 7 was the last", "at_ms": ms(seconds=4), "next_ms": ms(seconds=-30)},
            "A Spark driver runs since 03:10:00, waiting; batch 7 was the last; the next answer at 03:20:30.",
            "ok",
        ),
        (
            RUNNING,
            {"message": "answering", "at_ms": ms(minutes=3)},
            "Unknown whether the driver still runs: it was started at 03:10:00 and was last heard of at 03:17:00, answering.",
            "unknown",
        ),
        (
            RUNNING,
            {"message": "answering", "at_ms": ms(seconds=50)},
            "A Spark driver runs since 03:10:00, answering.",
            "ok",
        ),
        (
            RUNNING,
            {"message": "waiting; batch 7 was the last", "at_ms": ms(seconds=16), "next_ms": ms(seconds=-30)},
            "Unknown whether the driver still runs: it was started at 03:10:00 and was last heard of at 03:19:44, "
            "waiting; batch 7 was the last.",
            "unknown",
        ),
        (
            {"state": "ended", "why": "java.lang.OutOfMemoryError", "again_ms": ms(minutes=-2), "tries": 2},
            {"message": "answering", "at_ms": ms(seconds=1)},
            "No driver runs: java.lang.OutOfMemoryError. It is tried again at 03:22:00.",
            "warn",
        ),
        ({"state": "ended", "why": "killed.", "again_ms": ms(days=1)}, None, "No driver runs: killed.", "warn"),
        ({"state": "ended"}, None, "The driver has not been started yet.", "unknown"),
        (
            {"state": "running", "since_ms": "soon", "tries": "x"},
            {"at_ms": True, "message": 5},
            SILENT,
            "unknown",
        ),
        ({"state": "running", "since_ms": 10**17, "tries": -1}, {"at_ms": -5}, SILENT, "unknown"),
    ],
)
def test_in_words(kept: Any, progress: Any, said: str, state: str) -> None:
    found = resident(kept, progress)
    assert (sentence(found, NOW), level(found, NOW)) == (said, state)


def test_one_that_ends_again_and_again_is_tried_less_often() -> None:
    waits = [retry_after(tries).total_seconds() for tries in range(7)]
    assert waits == [5, 60, 120, 240, 480, 900, 900]
    assert retry_after(10**6) == LAST_RETRY
