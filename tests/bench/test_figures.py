"""The bench's verdicts; what it measures is no test."""

from __future__ import annotations

import pytest

from tests.bench.figures import Figure, print_table


@pytest.mark.parametrize(
    ("values", "at_least", "at_most", "verdict"),
    [
        ([0.4, 0.5, 0.9], 0.5, None, "pass"),
        ([0.4, 0.49, 0.9], 0.5, None, "MISS"),
        ([1.0, 1.1, 3.0], None, 1.1, "pass"),
        ([1.2], None, 1.1, "MISS"),
        ([1.0], None, None, ""),
    ],
)
def test_the_median_is_held_to_the_target(values: list[float], at_least: float | None, at_most: float | None, verdict: str) -> None:
    assert Figure("x", "ratio", values, at_least=at_least, at_most=at_most).verdict == verdict


def test_one_miss_of_three_brokers_is_a_miss_where_every_broker_counts() -> None:
    assert Figure("lost", "records", [0, 0, 1], at_most=0).verdict == "pass"
    assert Figure("lost", "records", [0, 0, 1], at_most=0, every=True).verdict == "MISS"


def test_the_table_has_smallest_median_largest_and_the_note(capsys: pytest.CaptureFixture[str]) -> None:
    print_table("part", [Figure("speed", "MB/s", [3.0, 1.0, 2000.0], at_least=2.0, note="two cores")])
    printed = capsys.readouterr().out
    assert printed.splitlines()[3].split() == ["speed", "MB/s", "1", "3", "2,000", "≥", "2", "pass"]
    assert "two cores" in printed
