"""Pictures of the last minutes in the list of topics, and the lag of groups over time on the overview."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from broker_core.contract.moments import Track
from console.snapshot import moments
from console.snapshot.moments import HistoryUnavailable
from console.sparklines import HEIGHT, MARGIN, sparkline
from tests.support.past import THEN_MS

TRACK = Track(
    from_ms=0,
    to_ms=64_000,
    every_ms=1_000,
    at_ms=(0, 16_000, 16_001, 32_000, 40_000, 64_000),
    figures={"messages_per_s": (0.0, 10.0, None, 5.0, None, 20.0), "lag": (1, 2, None, 3, 4, 5)},
)


@pytest.fixture
def asked(shown: Any, monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    found: list[tuple[Any, ...]] = []

    def tracks(*given: Any) -> tuple[Track, ...]:
        found.append(given)
        return (TRACK,) * len(given[1])

    monkeypatch.setattr(moments, "tracks", tracks)
    return found


def test_a_stretch_is_a_line_and_what_is_not_known_is_none() -> None:
    found = sparkline("orders", "topic", "messages_per_s", TRACK)
    bottom, top = HEIGHT - MARGIN, MARGIN
    assert found.lines == [f"0,{bottom:g} 13,8", "26,11.2 27,11.2", f"52,{top:g} 53,{top:g}"], "one sample by itself is seen too"
    assert found.words.startswith("20/s at ") and "highest 20/s at" in found.words


def test_nothing_known_draws_nothing_and_zero_lies_at_the_bottom() -> None:
    nothing = Track(from_ms=0, to_ms=10, every_ms=1, at_ms=(1, 2), figures={"messages_per_s": (None, None)})
    assert sparkline("a", "topic", "messages_per_s", nothing).lines == []
    assert sparkline("a", "topic", "messages_per_s", Track(from_ms=5, to_ms=5, every_ms=1)).words == "Nothing is known of this time."
    still = Track(from_ms=0, to_ms=10, every_ms=1, at_ms=(0, 10), figures={"messages_per_s": (0.0, 0.0)})
    assert sparkline("a", "topic", "messages_per_s", still).lines == [f"0,{HEIGHT - MARGIN:g} 52,{HEIGHT - MARGIN:g}"]


def test_a_lists_rows_are_had_in_one_question(people: dict[str, Client], asked: list[Any]) -> None:
    assert 'data-sparks="/lately"' in people["viewer"].get("/topics").content.decode()
    answer = people["viewer"].get("/lately?topic=orders&topic=a%22%3Cb%3E", headers={"HX-Request": "true"}).content.decode()
    assert answer.count("<svg") == 2 and "<b>" not in answer and "highest 20/s" in answer
    (cluster, keys, begin, end, _) = asked[0]
    assert (cluster, keys, end - begin) == ("local", ["topic/orders", 'topic/a"<b>'], 15 * 60_000)


def test_no_more_are_asked_for_than_a_page_shows(people: dict[str, Client], asked: list[Any]) -> None:
    assert people["viewer"].get("/lately?" + "&".join(f"topic=t{n}" for n in range(80))).status_code == 200
    assert len(asked[0][1]) == 50
    assert "No topic is named" in people["viewer"].get(f"/lately?topic={'x' * 400}").content.decode()


def test_the_lag_of_those_that_lag_the_most(people: dict[str, Client], asked: list[Any]) -> None:
    assert 'hx-get="/lag"' in people["viewer"].get("/").content.decode()
    assert asked == [], "the overview does not wait for it"
    text = people["viewer"].get("/lag?minutes=15").content.decode()
    assert "5 records at" in text and 'data-pick="lag"' in text
    (_, keys, begin, end, _) = asked[0]
    assert len(keys) <= 5 and all(key.startswith("group/") for key in keys) and end - begin == 15 * 60_000


def test_in_the_past_both_end_there(then: str, people: dict[str, Client], asked: list[Any]) -> None:
    assert people["viewer"].get(f"/at/{THEN_MS}/lately?topic=before").status_code == 200
    assert people["viewer"].get(f"/at/{THEN_MS}/lag").status_code == 200
    assert {given[3] for given in asked} == {THEN_MS}


@pytest.mark.parametrize("path", ["/lately?topic=orders", "/lag"])
def test_where_nothing_can_be_had_it_says_so(shown: Any, people: dict[str, Client], monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    def away(*_: Any) -> tuple[Track, ...]:
        raise HistoryUnavailable("The recorder of the past does not run.")

    monkeypatch.setattr(moments, "tracks", away)
    answer = people["viewer"].get(path)
    assert answer.status_code == 200 and "Not available now: The recorder of the past does not run." in answer.content.decode()
