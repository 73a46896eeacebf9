"""Events searched for, on the page and by REST, and the way from each to that moment."""

from __future__ import annotations

import html
from typing import Any
from urllib.parse import quote

import pytest
from django.db import connection
from django.test import Client

from broker_core.contract.moments import Kept
from broker_core.contract.sentences import KeptEvent
from console.models import Cluster, Event
from console.queries import EventQuery, events, events_counted
from console.rules.event_places import place_of
from console.snapshot import moments
from console.snapshot.encoding import encode
from tests.support.openapi import check_answer

REST = "/api/v1/clusters/local/events"
START_MS = 1_763_800_000_000
ODD = "a/b <i>é"


@pytest.fixture(autouse=True)
def happened(local: Cluster, shown: Any, kafka: Any) -> None:
    """Sixty events a second apart: of a topic each tenth, of broker 2 each sixth, grave each twelfth."""
    Event.objects.bulk_create(
        Event(
            cluster=local,
            at_ms=START_MS + number * 1000,
            kind="isr_shrink" if number % 2 else "leader_moved",
            level="bad" if number % 12 == 0 else "notice",
            sentence=f"Broker {number} did 100%_of something." if number % 3 else f"SOMETHING else happened to {number}.",
            broker_id=2 if number % 6 == 0 else None,
            topic="orders" if number % 10 == 0 else "",
            partition=number % 20 if number % 10 == 0 else None,
            group=ODD if number == 7 else "",
        )
        for number in range(60)
    )


def seconds(**asked: Any) -> list[int]:
    return [(event.at_ms - START_MS) // 1000 for event in events(Cluster.objects.get(pk="local"), EventQuery(**asked), count=100)]


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ({"text": "something ELSE", "until_ms": START_MS + 6000}, [6, 3, 0]),
        ({"text": "100%_of", "until_ms": START_MS + 2000}, [2, 1]),
        ({"text": "100__of"}, []),
        ({"text": "did\0"}, []),
        ({"level": "bad"}, [48, 36, 24, 12, 0]),
        ({"kind": "leader_moved", "topic": "orders", "partition": 0}, [40, 20, 0]),
        ({"broker": 2, "from_ms": START_MS + 30_000, "until_ms": START_MS + 42_000}, [42, 36, 30]),
        ({"group": ODD}, [7]),
        ({"from_ms": START_MS + 10**9}, []),
    ],
)
def test_each_part_of_a_search_leaves_out_what_it_says(asked: dict[str, Any], found: list[int]) -> None:
    assert seconds(**asked) == found


def test_how_many_match_is_counted_up_to_a_limit(local: Cluster) -> None:
    assert [events_counted(local, EventQuery(), most) for most in (10, 100)] == [10, 60]


@pytest.mark.parametrize(
    ("query", "index"),
    [(EventQuery(), "cluster"), (EventQuery(kind="isr_shrink"), "kind"), (EventQuery(topic="orders"), "topic")],
)
def test_a_search_reads_an_index(local: Cluster, query: EventQuery, index: str) -> None:
    plan = Event.objects.filter(cluster=local, **query.conditions()).order_by("-id")[:50].explain()
    assert "USING" in plan.upper() or connection.vendor != "sqlite", plan
    assert "SCAN" not in plan.upper() or "INDEX" in plan.upper(), plan
    assert index in plan or connection.vendor != "sqlite", plan


def rest(tokens: Any, query: str) -> Any:
    answer = Client().get(f"{REST}{query}", headers=tokens["viewer"])
    check_answer("GET", REST, answer.status_code, answer.headers["Content-Type"].partition(";")[0], answer.json())
    return answer


def test_rest_searches_alike_page_by_page(tokens: Any) -> None:
    asked = f"?text=did&broker=&until_ms={START_MS + 20_000}".replace("&broker=", "")
    seen: list[int] = []
    cursor = ""
    while True:
        body = rest(tokens, f"{asked}&limit=4{cursor}").json()
        seen += [(event["at_ms"] - START_MS) // 1000 for event in body["items"]]
        if body["next"] is None:
            break
        cursor = f"&cursor={body['next']}"
    assert seen == [number for number in range(20, -1, -1) if number % 3]


@pytest.mark.parametrize(
    "query", ["?level=awful", "?partition=-1", "?from_ms=soon", "?text=" + "x" * 201, "?until_ms=1e400", "?broker=99999999999"]
)
def test_rest_refuses_what_cannot_be_asked(tokens: Any, query: str) -> None:
    assert rest(tokens, query).status_code == 400


def page(people: dict[str, Client], query: str = "") -> str:
    answer = people["viewer"].get(f"/events{query}")
    assert answer.status_code == 200
    return html.unescape(answer.content.decode())


def test_the_page_keeps_the_search_in_its_address(people: dict[str, Client]) -> None:
    asked = "?text=else&level=bad&from=2025-11-22T08:26&until=2026-01-01T00:00:00"
    text = page(people, asked)
    assert 'name="text" type="search" maxlength="200" value="else"' in text
    assert 'value="2025-11-22T08:26"' in text and '<option value="bad" selected>' in text
    assert "5 events match." in text
    first = page(people, "?broker=2&partition=&text=")
    assert "10 events match." in first and "No event that is kept" not in first
    assert "No event that is kept is like this." in page(people, "?text=nothing+like+it")


def test_the_next_page_is_of_the_same_search(people: dict[str, Client]) -> None:
    text = page(people, "?until=2030-01-01T00:00")
    ident = Event.objects.order_by("-id")[49].pk
    assert f'href="?until=2030-01-01T00%3A00&before={ident}"' in text


@pytest.mark.parametrize("query", ["?from=soon", "?level=awful", "?partition=x", f"?before={10**30}", "?kind=%00", "?text=%00"])
def test_what_cannot_be_asked_is_said_and_left_out(people: dict[str, Client], query: str) -> None:
    text = page(people, query)
    assert "not looked at" in text or "match" in text


def test_each_event_leads_to_its_moment_where_that_is_kept(people: dict[str, Client], redis: Any) -> None:
    assert 'class="then"' not in page(people)
    redis.set(moments.kept_name("local"), encode(Kept(oldest_ms=START_MS + 5_000, newest_ms=START_MS + 50_000)))
    text = page(people, f"?until=2030-01-01T00:00&before={Event.objects.order_by('id')[51].pk}")
    for number, place in ((50, "/topics/orders/10"), (48, "/brokers/2"), (7, f"/groups/{quote(ODD, safe='')}"), (49, "/")):
        assert f'href="/at/{START_MS + number * 1000}{place}"' in text, number
    assert f"/at/{START_MS + 4_000}/" not in text, "what is not kept cannot be shown"


def test_of_a_topic_that_comes_or_goes_the_list_is_shown() -> None:
    event = KeptEvent("topic_deleted", "notice", "x", 1, topic="orders", id=1)
    assert (place_of(event), place_of(KeptEvent("truncation", "bad", "x", 1, topic="a.b", id=1))) == ("/topics", "/topics/a.b")
