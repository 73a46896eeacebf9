"""What is said of a job that nobody goes on with."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from broker_core.contract.jobs import Job
from console.rules.job_silence import SILENT_S, silence
from tests.support.live_rows import some

NOW = datetime(2026, 1, 31, 12, 0, tzinfo=UTC)


def said(**ago_s: float) -> str:
    moments: dict[str, Any] = dict.fromkeys(("created_at", "started_at", "stepped_at", "ended_at"))
    moments |= {name: (NOW - timedelta(seconds=seconds)).isoformat() for name, seconds in ago_s.items()}
    return silence(some(Job, **moments), NOW)


@pytest.mark.parametrize(
    "ago_s",
    [
        {"created_at": SILENT_S - 1},
        {"created_at": 900, "started_at": 800, "stepped_at": SILENT_S - 1},
        {"created_at": 900, "started_at": 800, "stepped_at": 700, "ended_at": 700},
    ],
    ids=["new", "stepping", "over"],
)
def test_nothing_is_said_while_steps_come_nor_when_it_is_over(ago_s: dict[str, float]) -> None:
    assert said(**ago_s) == ""


def test_a_job_that_stands_still_says_as_of_when_it_is() -> None:
    words = said(created_at=900, started_at=800, stepped_at=90)
    assert words.startswith("No step of it has been written for 90\u202fs: no worker runs, or the database takes nothing.")
    assert words.endswith("as of 11:58:30 UTC.")


def test_of_one_that_was_begun_before_steps_were_dated_its_start_is_known() -> None:
    assert "as of 11:50:00 UTC" in said(created_at=900, started_at=600)


def test_one_that_nobody_took_waits_for_a_worker() -> None:
    assert said(created_at=300) == "It has waited for a worker for 5\u202fmin."
