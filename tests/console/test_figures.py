"""The analytics page's figures: what the server decides of them; the browser only adds colours."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from console.figures import figure, with_gaps
from console.models import AnalysisTable, BrokerThroughput, Job, LagSummary, ThroughputSummary

SINCE, UNTIL = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC)


def test_a_figure_has_a_line_for_each_name() -> None:
    series = {"orders": {"t": [0, 60_000, 120_000], "bytes": [1.5, None, 3.0]}, "a": {"t": [0], "bytes": [2]}}
    made = json.loads(json.dumps(figure(series, "bytes", "B/s", SINCE, UNTIL)))
    assert made.keys() == {"data", "layout"}
    assert [(line["type"], line["name"], line["mode"]) for line in made["data"]] == [
        ("scatter", "a", "markers"),
        ("scatter", "orders", "lines"),
    ]
    assert made["data"][1]["y"] == [1.5, None, 3.0]
    assert made["data"][1]["x"][1] == "1970-01-01T00:01:00.000+00:00"
    assert made["data"][1]["connectgaps"] is False
    assert made["layout"]["xaxis"]["range"] == ["2026-01-01T00:00:00+00:00", "2026-01-02T00:00:00+00:00"]
    assert "template" not in made["layout"]


def test_a_figure_begins_with_what_there_is() -> None:
    begun = int((UNTIL - timedelta(hours=1)).timestamp() * 1000)
    made = figure({"orders": {"t": [begun], "lag": [1]}}, "lag", "records", SINCE, UNTIL)
    assert made["layout"]["xaxis"]["range"] == ["2026-01-01T22:59:00+00:00", "2026-01-02T00:00:00+00:00"]
    assert figure({}, "lag", "records", SINCE, UNTIL)["data"] == []


def test_a_gap_is_not_bridged() -> None:
    assert with_gaps([0, 60_000, 600_000], [1, 2, 3], 180_000) == [(0, 1), (60_000, 2), (60_001, None), (600_000, 3)]


@pytest.mark.django_db
def test_the_page_has_figures_and_sums(people: dict[str, Client], local: Any, shown: Any) -> None:
    moment = timezone.now() - timedelta(minutes=30)
    ThroughputSummary.objects.create(
        cluster=local, topic="orders", window_start=moment, window_seconds=60, bytes_per_s=2048.0, messages_per_s=2.0
    )
    LagSummary.objects.create(
        cluster=local, group="billing", topic="orders", window_start=moment, window_seconds=60, lag_max=7, lag_avg=3.5
    )
    BrokerThroughput.objects.create(cluster=local, broker=2, window_start=moment, window_seconds=600, bytes_per_s=2048.0)
    lag = {
        "cluster": "local",
        "group": "<billing>",
        "topic": "orders",
        "partition": 1,
        "lag": 700,
        "reads_per_s": 1.0,
        "grows_per_s": 2.0,
        "eta_s": None,
    }
    AnalysisTable.objects.create(cluster=local, name="catching_up", at=moment, rows=[lag], left_off=1_500)
    Job.objects.create(
        cluster=local, kind="analytics", state=Job.SUCCEEDED, result={"new": 7}, started_at=moment, ended_at=moment + timedelta(seconds=95)
    )
    answer = people["viewer"].get("/analytics")
    charts = {chart["id"]: chart["figure"]["data"] for _, charts in answer.context["answers"] for chart in charts}
    assert [line["name"] for line in charts["figure-bytes"]] == ["orders"]
    assert [line["name"] for line in charts["figure-brokers"]] == ["broker 2"]
    assert [line["y"] for line in charts["figure-lag"]] == [[7]]
    page = answer.content.decode()
    assert 'href="/analytics?hours=6" aria-current="true"' in page and 'href="/analytics?hours=168"' in page
    for name in ("figure-bytes", "figure-records", "figure-lag", "figure-brokers"):
        assert f'data-chart="{name}"' in page
        assert f'<script id="{name}" type="application/json">' in page
    assert 'href="/groups/%3Cbilling%3E">' in page
    assert "&lt;billing&gt;</a> is 700 records behind on " in page
    assert "1 group of 1 did not gain in the half hour before the analysis." in page
    assert 'href="/analytics/tables/catching_up.parquet"' in page
    assert "1\u202f500 more in the table." in page
    assert ", in 95\u202fs." in page, "what the analysis has cost"


@pytest.mark.django_db
def test_the_largest_lines_are_drawn_and_the_others_counted(people: dict[str, Client], local: Any, shown: Any) -> None:
    moment = timezone.now() - timedelta(minutes=30)
    for number in range(20):
        ThroughputSummary.objects.create(cluster=local, topic=f"t{number:02}", window_start=moment, window_seconds=60, bytes_per_s=number)
    row = {"cluster": "local", "what": "bytes", "name": "t19", "before": 1.0, "after": 1.0, "hours": 1}
    AnalysisTable.objects.create(cluster=local, name="two_days", at=moment, rows=[row])
    answer = people["viewer"].get("/analytics")
    charts = {chart["id"]: chart["figure"]["data"] for _, charts in answer.context["answers"] for chart in charts}
    assert [line["name"] for line in charts["figure-bytes"]] == [f"t{number:02}" for number in range(8, 20)]
    assert "The 12 largest are drawn, 8 more are not." in answer.content.decode()
