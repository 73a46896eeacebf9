"""The bench's verdicts; what it measures is no test."""

from __future__ import annotations

from pathlib import Path

import pytest

from broker_core.telemetry.metrics import BrokerMetrics
from broker_core.telemetry.prometheus import render
from tests.bench import recorded, stages
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


def figures(ratio: list[float], local: list[float]) -> list[Figure]:
    return [
        Figure("produce: request's local", "µs/request", local),
        Figure("produce: request's total", "µs/request", [200.0, 201.0]),
        Figure("produce: broker", "MB/s", [1.0]),
        Figure("produce: broker / the bare server", "ratio", ratio, at_least=0.5),
    ]


@pytest.fixture
def known(tmp_path: Path) -> recorded.Recorded:
    path = tmp_path / "recorded.json"
    recorded.record(
        recorded.load(path), "start", [Figure("brokers / ZooKeeper", "ratio", [0.8, 0.9], at_most=1.0)], "older", "2025-12-31", path
    )
    recorded.record(recorded.load(path), "produce", figures([0.5, 0.6], [100.0, 110.0]), "abc", "2026-01-01", path)
    return recorded.load(path)


def test_a_fall_beyond_the_spread_is_told_with_the_stage_that_grew(known: recorded.Recorded) -> None:
    assert recorded.falls(known, "produce", figures([0.3, 0.4], [150.0, 157.5])) == [
        "FELL since abc of 2026-01-01: produce: broker / the bare server 0.55 → 0.35; produce: request's local +46%"
    ]
    assert recorded.falls(known, "start", [Figure("brokers / ZooKeeper", "ratio", [0.95], at_most=1.0)]) == [
        "FELL since older of 2025-12-31: brokers / ZooKeeper 0.85 → 0.95; nothing that is measured beside it got dearer"
    ]


@pytest.mark.parametrize("ratio", [[0.4, 0.5], [0.5, 0.6], [0.9, 1.0]])
def test_what_is_within_the_spread_is_no_fall(known: recorded.Recorded, ratio: list[float]) -> None:
    assert recorded.falls(known, "produce", figures(ratio, [150.0, 157.5])) == []


def test_nothing_recorded_is_no_fall(tmp_path: Path) -> None:
    assert recorded.falls(recorded.load(tmp_path / "none.json"), "produce", figures([0.1], [1.0])) == []


def test_stages_are_of_the_requests_answered_meanwhile() -> None:
    metrics = BrokerMetrics()
    stages_of = metrics.api("Produce").stages
    stages_of.observe(0.0, 100.0, 0.0, 0.0)
    before = stages.totals(render(metrics, 1))
    stages_of.observe(1.0, 2.0, 0.0, 0.5)
    stages_of.observe(1.0, 4.0, 0.0, 0.5)
    spent = stages.per_request(before, stages.totals(render(metrics, 1)), "Produce")
    assert spent["local"] == pytest.approx(3000)
    assert spent["response_send"] == pytest.approx(500)
    assert stages.per_request(before, before, "Produce") == {}
