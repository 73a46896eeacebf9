"""What the analyses have found, by REST."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from console.models import Cluster, LagSummary, ThroughputSummary
from tests.support.openapi import check_answer

PATH = "/api/v1/clusters/local/analytics"


def get(tokens: Any, query: str = "", status: int = 200) -> Any:
    answer = Client().get(PATH + query, headers=tokens["viewer"])
    assert answer.status_code == status, answer.content
    check_answer("GET", PATH, status, answer.headers["Content-Type"].partition(";")[0], answer.json())
    return answer.json()


def test_windows_of_topics_and_groups_are_answered_oldest_first(tokens: Any, local: Cluster, redis: Any) -> None:
    now = timezone.now()
    for minutes, rate in ((60, 2.0), (30, None), (60 * 8, 9.0)):
        at = now - timedelta(minutes=minutes)
        ThroughputSummary.objects.create(cluster=local, topic="orders", window_start=at, window_seconds=60, bytes_per_s=rate)
        for topic in ("orders", "bills"):
            LagSummary.objects.create(cluster=local, group="g/1", topic=topic, window_start=at, window_seconds=60, lag_max=5)
    found = get(tokens)
    assert [window["bytes_per_s"] for window in found["throughput"][0]["windows"]] == [2.0, None]
    assert [(one["group"], [window["lag"] for window in one["windows"]]) for one in found["lag"]] == [("g/1", [10, 10])]
    assert (found["sampled"], found["last_job"], found["until_ms"] - found["since_ms"]) == (True, None, 6 * 3_600_000)
    assert len(get(tokens, "?hours=9")["throughput"][0]["windows"]) == 3


def test_nothing_found_is_an_empty_answer(tokens: Any, redis: Any) -> None:
    found = get(tokens)
    assert (found["throughput"], found["lag"]) == ([], [])
    assert found["spark"] in ("absent", "installing", "failed", "ready")


@pytest.mark.parametrize("hours", ["0", "169", "x", "1e3"])
def test_a_span_that_cannot_be_is_refused(tokens: Any, hours: str) -> None:
    get(tokens, f"?hours={hours}", 400)
