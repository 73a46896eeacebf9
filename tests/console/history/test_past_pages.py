"""Pages as they were: what they show, what they offer, and the ways between moments."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client
from django.urls import get_script_prefix

from broker_core.contract.moments import Differences, Kept, Reply
from console.models import Event
from console.snapshot import moments
from console.snapshot.encoding import encode
from tests.support.past import THEN_MS

AT = f"/at/{THEN_MS}"
PAST = ["/", "/brokers", "/topics", "/topics/before", "/topics/before/0", "/groups", "/groups/billing", "/events"]
NO_PAST = ["/jobs", "/analytics", "/health", "/settings", "/changes"]


@pytest.fixture(autouse=True)
def stage(then: str, redis: Any, kafka: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moments, "WAIT_S", moments.WAIT_STEP_S)
    redis.set(moments.kept_name("local"), encode(Kept(oldest_ms=THEN_MS - 3_600_000, newest_ms=THEN_MS + 3_600_000)))


def page(people: dict[str, Client], path: str, who: str = "admin") -> str:
    answer = people[who].get(path)
    assert answer.status_code == 200, (path, answer.content[:2000])
    return answer.content.decode()


@pytest.mark.parametrize("path", PAST)
def test_a_page_of_the_past_leads_within_it_and_offers_no_change(people: dict[str, Client], path: str) -> None:
    text = page(people, AT + path)
    assert "As it was at 2025-11-23 07:23:10 UTC." in text
    main = text[text.index("<main") :]
    within = [url for url in re.findall(r'href="(/[^"]*)"', main) if not url.startswith((AT, "/static"))]
    assert within == []
    assert "data-ws-url" not in text
    assert '<form method="post"' not in main
    assert "hx-post" not in main
    assert get_script_prefix() == "/"


def test_it_shows_what_was(people: dict[str, Client]) -> None:
    assert f"{AT}/topics/before" in page(people, f"{AT}/topics")
    assert "/topics/before" not in page(people, "/topics")
    assert [page(people, path).count(">offline</span>") for path in (f"{AT}/brokers", "/brokers")] == [1, 0]


def test_a_topic_has_the_settings_of_then(people: dict[str, Client]) -> None:
    before = page(people, f"{AT}/topics/before").replace("\u202f", " ")
    assert "retention.ms" in before and "60 000 ms = 1 min" in before
    assert "What was set then is not kept." in page(people, f"{AT}/topics/orders")


def test_a_broker_has_the_settings_of_then(people: dict[str, Client]) -> None:
    first = page(people, f"{AT}/brokers/1").replace("\u202f", " ")
    assert "log.retention.ms" in first and "120 000 ms = 2 min" in first
    assert "What was set then is not kept." in page(people, f"{AT}/brokers/2")


def test_what_happened_later_is_not_shown(people: dict[str, Client]) -> None:
    for name, at_ms in (("earlier", THEN_MS - 60_000), ("later", THEN_MS + 60_000)):
        Event.objects.create(cluster_id="local", at_ms=at_ms, kind="broker_died", level="bad", sentence=f"It happened {name}.")
    for path in ("/", "/events"):
        main = page(people, AT + path).partition("<main")[2]
        assert "It happened earlier." in main
        assert "It happened later." not in main
    text = page(people, f"{AT}/topics?q=or")
    assert f'href="/at/{THEN_MS - 60_000}/topics?q=or"' in text
    assert f'href="/at/{THEN_MS + 60_000}/topics?q=or"' in text


def test_the_ways_lead_to_other_moments_of_the_same_page_and_to_now(people: dict[str, Client]) -> None:
    text = page(people, f"{AT}/topics?q=or")
    for url in (f"/at/{THEN_MS - 10_000}/topics?q=or", f"/at/{THEN_MS + 600_000}/topics?q=or", "/topics?q=or", f"/changes?from={THEN_MS}"):
        assert f'href="{url}"' in text, url
    assert 'data-slider="/at/{at}/topics?q=or"' in text


def test_nothing_leads_beyond_what_is_kept(people: dict[str, Client], redis: Any) -> None:
    redis.set(moments.kept_name("local"), encode(Kept(oldest_ms=THEN_MS - 30_000, newest_ms=THEN_MS + 5_000)))
    text = page(people, f"{AT}/brokers")
    assert f"/at/{THEN_MS - 10_000}/brokers" in text
    assert f"/at/{THEN_MS - 60_000}/brokers" not in text
    assert f"/at/{THEN_MS + 10_000}/brokers" not in text


def test_a_gap_is_said(people: dict[str, Client], redis: Any) -> None:
    redis.set(f"hw:{{local@{THEN_MS}}}:beat", THEN_MS - 120_000)
    assert "Nothing was recorded then: this is what was last known at" in page(people, f"{AT}/brokers")


@pytest.mark.parametrize("path", NO_PAST)
def test_what_has_no_past_leads_to_its_present(people: dict[str, Client], path: str) -> None:
    answer = people["admin"].get(f"{AT}{path}")
    assert (answer.status_code, answer.headers["Location"]) == (302, path)


def test_nothing_can_be_changed_there(people: dict[str, Client], kafka: Any) -> None:
    answer = people["admin"].post(f"{AT}/topics/orders/delete", {"confirm": "orders"})
    assert answer.status_code == 409
    assert "shows the past" in answer.content.decode()
    assert kafka.asked == []


def test_a_moment_that_cannot_be_had_is_said_on_a_page_of_the_present(people: dict[str, Client]) -> None:
    answer = people["viewer"].get("/at/17/topics")
    assert answer.status_code == 503
    assert 'href="/topics"' in answer.content.decode()


def test_a_stranger_signs_in_first(then: str) -> None:
    answer = Client().get(f"{AT}/topics")
    assert answer.status_code == 302
    assert answer.headers["Location"].endswith(f"/login?next=/at/{THEN_MS}/topics")


def test_a_page_of_the_present_leads_back(people: dict[str, Client]) -> None:
    assert re.search(r'id="look-back" href="/at/\d+/topics\?q=or"', page(people, "/topics?q=or"))
    assert "look-back" not in page(people, "/jobs")
    assert "look-back" not in page(people, f"{AT}/topics?q=or")


def test_changes_without_a_recorder_say_so(people: dict[str, Client], redis: Any) -> None:
    redis.delete(moments.kept_name("local"))
    assert "The recorder does not run" in page(people, "/changes")


def test_what_changed_is_told_with_where_it_rests_on_less(people: dict[str, Client], monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def compare(cluster_id: str, at_ms: int, until_ms: int) -> Reply:
        asked.append((cluster_id, at_ms, until_ms))
        return Reply(differences=Differences(from_ms=at_ms - 90_000, to_ms=until_ms))

    monkeypatch.setattr(moments, "compare", compare)
    text = page(people, "/changes?from=2025-11-23T07:23:10&to=2025-11-23T07:33:10")
    assert asked == [("local", THEN_MS, THEN_MS + 600_000)]
    assert "Nothing was recorded at 2025-11-23 07:23:10" in text
    assert "Brokers, leaders, ISRs, topics and groups are as they were." in text
    page(people, "/changes?last=3600")
    assert asked[-1] == ("local", THEN_MS, THEN_MS + 3_600_000)
    assert "is not a time as" in page(people, "/changes?from=yesterday")
    assert "later than the second" in page(people, f"/changes?from={THEN_MS}&to={THEN_MS - 1}")
