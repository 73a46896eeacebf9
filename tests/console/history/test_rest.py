"""REST reads a moment of the past as it reads the present."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from console.live.merging.state import ClusterState
from console.models import Event
from console.snapshot import moments
from tests.support.openapi import check_answer
from tests.support.past import THEN_MS


def get(tokens: dict[str, dict[str, str]], path: str) -> Any:
    answer = Client().get(f"/api/v1{path}", headers=tokens["viewer"])
    assert answer.status_code == 200, answer.content
    check_answer("GET", f"/api/v1{path}", 200, "application/json", answer.json())
    return answer.json()


def test_what_is_read_is_that_moments(then: str, tokens: dict[str, dict[str, str]]) -> None:
    assert [b["state"] for b in get(tokens, f"/clusters/{then}/brokers")["items"]] == ["online", "online", "offline"]
    assert [b["state"] for b in get(tokens, "/clusters/local/brokers")["items"]] == ["online"] * 3
    assert [t["topic"] for t in get(tokens, f"/clusters/{then}/topics")["items"]] == ["before", "clicks", "orders"]
    assert get(tokens, f"/clusters/{then}/topics/before")["topic"] == "before"
    assert get(tokens, f"/clusters/{then}")["brokers_online"] == 2
    assert get(tokens, f"/clusters/{then}/brokers")["as_of"] == {"at_ms": THEN_MS, "age_ms": 0, "stale": False}


def test_events_after_it_had_not_happened(then: str, tokens: dict[str, dict[str, str]]) -> None:
    for at_ms in (THEN_MS - 5, THEN_MS + 5):
        Event.objects.create(cluster_id="local", at_ms=at_ms, kind="broker_died", level="bad", sentence=f"{at_ms}")
    assert [e["at_ms"] for e in get(tokens, f"/clusters/{then}/events")["items"]] == [THEN_MS - 5]
    assert len(get(tokens, "/clusters/local/events")["items"]) == 2


def test_the_past_cannot_be_changed(then: str, tokens: dict[str, dict[str, str]], kafka: Any) -> None:
    answer = Client().delete(f"/api/v1/clusters/{then}/topics/before", headers=tokens["admin"])
    assert answer.status_code == 404
    assert kafka.asked == []


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("/clusters/local@soon/topics", 404, "not-found"),
        ("/clusters/nowhere@1/topics", 404, "not-found"),
        ("/clusters/local@1763882590001/topics", 503, "history-away"),
        ("/clusters/local/changes?from_ms=1&to_ms=2", 503, "history-away"),
        ("/clusters/local/changes?from_ms=3&to_ms=2", 400, "bad-query"),
        ("/clusters/local/changes?from_ms=-1&to_ms=2", 400, "bad-query"),
    ],
)
def test_what_cannot_be_shown_is_said(
    shown: ClusterState, tokens: dict[str, dict[str, str]], path: str, status: int, code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(moments, "WAIT_S", moments.WAIT_STEP_S)
    answer = Client().get(f"/api/v1{path}", headers=tokens["viewer"])
    assert (answer.status_code, answer.json()["code"]) == (status, code)


def test_without_a_recorder_it_says_so(shown: ClusterState, tokens: dict[str, dict[str, str]]) -> None:
    assert get(tokens, "/clusters/local/history") == {
        "oldest_ms": None,
        "newest_ms": None,
        "bytes": 0,
        "limit_bytes": 0,
        "figures_every_s": 2.0,
        "gaps": [],
        "error": "The recorder does not run",
    }
