"""The checks of a run over the pipeline find what they are there for."""

from __future__ import annotations

from itertools import islice
from typing import Any

from tests.chaos.pipeline import VICTIMS, differences, kills, windows


def summary(*rows: dict[str, Any]) -> dict[str, Any]:
    return {"tables": {"topics": {"rows": list(rows)}}}


ONE = {"topic": "orders", "window_start_ms": 60_000, "bytes_mean": 0.1 + 0.2}


def test_a_seed_names_a_run_that_meets_everybody() -> None:
    first = list(islice(kills(3), len(VICTIMS)))
    assert first == list(islice(kills(3), len(VICTIMS))) != list(islice(kills(4), len(VICTIMS)))
    assert {kill.victim for kill in first} == set(VICTIMS)


def test_windows_that_are_the_same_have_no_difference() -> None:
    assert differences(windows(summary(ONE)), windows(summary({**ONE, "bytes_mean": 0.3}))) == []


def test_a_lost_a_doubled_and_a_different_window_are_found() -> None:
    assert differences(windows(summary(ONE)), windows(summary())) == ["('topics', 'orders', 60000) is only in the first"]
    assert differences(windows(summary(ONE, ONE)), windows(summary(ONE))) == ["('topics', 'orders', 60000, 'twice') is only in the first"]
    assert len(differences(windows(summary(ONE)), windows(summary({**ONE, "bytes_mean": None})))) == 1
