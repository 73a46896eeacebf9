"""Figures over time on pages and by REST: what is asked of the recorder, what is drawn, and what is said where there is nothing."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from broker_core.contract.moments import Track
from console.over_time import over_time
from console.snapshot import moments
from console.snapshot.moments import HistoryUnavailable
from tests.support.openapi import check_answer
from tests.support.past import THEN_MS

TRACK = Track(
    from_ms=0,
    to_ms=60_000,
    every_ms=10_000,
    at_ms=(10_000, 20_000, 20_001, 50_000),
    figures={"lag": (1_000.0, 40.0, None, 0.0), "lag_s": (None, None, None, None)},
)


@pytest.fixture
def asked(shown: Any, monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """What the recorder is asked, which answers with TRACK."""
    found: list[tuple[Any, ...]] = []

    def tracks(*given: Any) -> tuple[Track, ...]:
        found.append(given)
        return (TRACK,) * len(given[1])

    monkeypatch.setattr(moments, "tracks", tracks)
    return found


def test_what_a_chart_shows_is_said_in_words() -> None:
    lag, seconds = over_time("group", TRACK).charts
    assert lag.sentence.startswith("0 records at ") and "highest 1\u202f000 records at" in lag.sentence
    assert seconds.sentence == "Nothing is known of this time."
    assert lag.series == {"t": [10_000, 20_000, 20_001, 50_000], "Lag in records": [1_000.0, 40.0, None, 0.0]}
    assert [values for _, values in over_time("group", TRACK).rows] == [
        ["0 records", "unknown"],
        ["40 records", "unknown"],
        ["1\u202f000 records", "unknown"],
    ]


@pytest.mark.parametrize(("page", "part"), [("/groups/billing", "group"), ("/topics/orders", "topic"), ("/brokers/1", "broker")])
def test_the_page_of_each_has_the_part(people: dict[str, Client], kafka: Any, asked: list[Any], page: str, part: str) -> None:
    name = page.rpartition("/")[2]
    assert f"/over-time?kind={part}&amp;name={name}" in people["viewer"].get(page).content.decode()
    assert asked == [], "the page does not wait for it"


def test_the_part_and_its_page(people: dict[str, Client], asked: list[Any]) -> None:
    for headers in ({}, {"HX-Request": "true"}):
        answer = people["viewer"].get("/over-time?kind=group&name=a%2Fb%20%3Cb%3E&minutes=15", headers=headers)
        text = answer.content.decode()
        assert answer.status_code == 200 and "highest 1\u202f000 records" in text and '<b>"' not in text
        assert ("<html" in text) is not bool(headers)
    cluster, (key,), begin, end, most = asked[0]
    assert (cluster, key, end - begin, most) == ("local", "group/a%2Fb%20%3Cb%3E", 15 * 60_000, 300)


def test_in_the_past_it_ends_there(then: str, people: dict[str, Client], asked: list[Any]) -> None:
    assert people["viewer"].get(f"/at/{THEN_MS}/over-time?kind=topic&name=before&minutes=60").status_code == 200
    assert asked[0][1:4] == (["topic/before"], THEN_MS - 3_600_000, THEN_MS)


def test_where_nothing_can_be_had_it_says_so(people: dict[str, Client], asked: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_: Any) -> tuple[Track, ...]:
        raise HistoryUnavailable("The recorder of the past did not answer for 12 s.")

    monkeypatch.setattr(moments, "tracks", away)
    answer = people["viewer"].get("/over-time?kind=group&name=billing")
    assert answer.status_code == 200 and "Not available now: The recorder of the past did not answer" in answer.content.decode()
    monkeypatch.setattr(moments, "tracks", lambda *_: (Track(from_ms=0, to_ms=1, every_ms=10_000),))
    assert "Nothing was recorded of billing" in people["viewer"].get("/over-time?kind=group&name=billing").content.decode()


def test_a_recorder_that_does_not_run_is_not_waited_for(shown: Any, people: dict[str, Client], monkeypatch: pytest.MonkeyPatch) -> None:
    def wait(_: str) -> None:
        raise AssertionError("nobody will answer")

    monkeypatch.setattr(moments, "_wait", wait)
    assert "The recorder of the past does not run." in people["viewer"].get("/over-time?kind=group&name=billing").content.decode()


@pytest.mark.parametrize("query", ["", "kind=group", "kind=partition&name=x", f"kind=group&name={'x' * 400}"])
def test_senseless_questions_are_refused(people: dict[str, Client], asked: list[Any], query: str) -> None:
    assert people["viewer"].get(f"/over-time?{query}").status_code == 404
    assert asked == []


def test_rest_has_the_samples(tokens: dict[str, dict[str, str]], asked: list[Any]) -> None:
    path = "/api/v1/clusters/local/figures?kind=group&name=billing&minutes=60&most=50"
    answer = Client().get(path, headers=tokens["viewer"])
    assert answer.status_code == 200
    check_answer("GET", path, 200, "application/json", answer.json())
    assert answer.json()["figures"]["lag"] == [1_000, 40, None, 0]
    assert asked[0][4] == 50
    for wrong in ("kind=x&name=y", "kind=group", "kind=group&name=x&minutes=0", "kind=group&name=x&most=501"):
        assert Client().get(f"/api/v1/clusters/local/figures?{wrong}", headers=tokens["viewer"]).status_code == 400
