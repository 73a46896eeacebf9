"""What the analyses have found, by REST."""

from __future__ import annotations

import asyncio
import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from console.gateway import driver
from console.models import AnalysisTable, Cluster, LagSummary, ThroughputSummary
from console.rules.words import THIN
from tests.support.openapi import check_answer

PATH = "/api/v1/clusters/local/analytics"


def get(tokens: Any, query: str = "", status: int = 200) -> Any:
    answer = Client().get(PATH + query, headers=tokens["viewer"])
    assert answer.status_code == status, answer.content
    check_answer("GET", PATH, status, answer.headers["Content-Type"].partition(";")[0], answer.json())
    return answer.json()


async def whole(answer: Any) -> bytes:
    return b"".join([piece async for piece in answer.streaming_content])


def test_windows_of_topics_and_groups_are_answered_oldest_first(tokens: Any, local: Cluster, redis: Any) -> None:
    now = timezone.now()
    for minutes, seconds, rate in ((60, 60, 2.0), (30, 60, None), (60 * 8, 60, 9.0), (60 * 8, 600, 7.0), (60, 600, 8.0)):
        at = {"window_start": now - timedelta(minutes=minutes), "window_seconds": seconds}
        ThroughputSummary.objects.create(cluster=local, topic="orders", bytes_per_s=rate, **at)
        for topic in ("orders", "bills"):
            LagSummary.objects.create(cluster=local, group="g/1", topic=topic, lag_max=5, **at)
    found = get(tokens)
    assert [window["bytes_per_s"] for window in found["throughput"][0]["windows"]] == [2.0, None]
    assert [(one["group"], [window["lag"] for window in one["windows"]]) for one in found["lag"]] == [("g/1", [10, 10])]
    assert (found["sampled"], found["last_job"], found["until_ms"] - found["since_ms"]) == (True, None, 6 * 3_600_000)
    assert [window["bytes_per_s"] for window in get(tokens, "?hours=9")["throughput"][0]["windows"]] == [7.0, 8.0]
    assert (found["answers"], found["answered_at"]) == ([], None)


def test_the_last_analysis_answers_in_sentences_that_lead_somewhere(tokens: Any, local: Cluster, redis: Any) -> None:
    row = {"cluster": "local", "what": "bytes", "name": "orders", "before": 1024.0, "after": 4096.0, "hours": 9}
    AnalysisTable.objects.create(cluster=local, name="two_days", at=timezone.now(), rows=[row], left_off=2)
    found = {one["id"]: one for one in get(tokens)["answers"]}
    changed = found["changed"]
    assert (
        changed["lines"][0]["text"] == f"orders: 4.00{THIN}KiB a second, 1.00{THIN}KiB the day before (+300%, over 9 hours of both days)."
    )
    assert changed["lines"][0]["pieces"][0]["href"] == "/topics/orders"
    assert (changed["left_off"], changed["verdict"]["level"], changed["tables"]) == (2, "notice", ["two_days"])
    assert found["unusual"]["verdict"]["level"] == "unknown"


def test_a_table_is_had_as_the_driver_wrote_it(tokens: Any, local: Cluster, redis: Any, monkeypatch: Any, tmp_path: Path) -> None:
    monkeypatch.setattr(driver, "folder", lambda: tmp_path)
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "skew.csv").write_bytes(b"topic\norders\n")
    (tmp_path / "tables" / "skew.parquet").write_bytes(b"PAR1")
    for kind, media, body in (
        ("csv", "text/csv; charset=utf-8", b"topic\norders\n"),
        ("parquet", "application/vnd.apache.parquet", b"PAR1"),
    ):
        answer = Client().get(f"{PATH}/tables/skew.{kind}", headers=tokens["viewer"])
        assert (answer.status_code, answer.headers["Content-Type"], answer.headers["Content-Length"]) == (200, media, str(len(body)))
        assert answer.headers["Content-Disposition"] == f'attachment; filename="skew.{kind}"'
        assert asyncio.run(whole(answer)) == body


@pytest.mark.parametrize(("name", "word"), [("skew", "has left no table|have left no table"), ("nonsense", "no such table"), ("..", "")])
def test_a_table_that_is_not_there_is_not_found(
    tokens: Any, local: Cluster, redis: Any, monkeypatch: Any, tmp_path: Path, name: str, word: str
) -> None:
    monkeypatch.setattr(driver, "folder", lambda: tmp_path)
    answer = Client().get(f"{PATH}/tables/{name}.csv", headers=tokens["viewer"])
    assert answer.status_code == 404
    assert re.search(word, answer.content.decode())


def test_nothing_found_is_an_empty_answer(tokens: Any, redis: Any) -> None:
    found = get(tokens)
    assert (found["throughput"], found["lag"]) == ([], [])
    assert found["spark"] in ("absent", "installing", "failed", "ready")


@pytest.mark.parametrize("hours", ["0", "169", "x", "1e3"])
def test_a_span_that_cannot_be_is_refused(tokens: Any, hours: str) -> None:
    get(tokens, f"?hours={hours}", 400)
