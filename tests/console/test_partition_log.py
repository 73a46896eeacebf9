"""The page of a partition's log: what it says of a lookup, whom it asks, and what it cannot have."""

from __future__ import annotations

import html
import re
from typing import Any

import pytest
from django.test import Client

from broker_core.contract.log_look import Look
from broker_core.errors import ErrorCode
from console.gateway.errors import ClusterUnreachable, GatewayError
from console.gateway.log_look import look
from console.models import Cluster
from console.rules.log_words import answer, at, steps
from tests.support.log_world import START_MS
from tests.support.logs import STEP_MS, looked_at
from tests.support.openapi import check_answer
from tests.support.ports import free_ports

PAGE = "/topics/orders/1/log"
REST = "/api/v1/clusters/local/topics/orders/partitions/1/log"


@pytest.fixture
def asked(shown: Any, kafka: Any, monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, Look]]:
    """What brokers were asked."""
    found: list[tuple[int, Look]] = []

    def note(broker_id: int, host: str, port: int, question: Look) -> Any:
        found.append((broker_id, question))
        return looked_at(broker_id, host, port, question)

    monkeypatch.setattr("console.log_looks.look", note)
    return found


def text_of(answer: Any) -> str:
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", answer.content.decode()))).replace("\u202f", " ")


def told(**asked: int) -> tuple[str, list[str]]:
    found = looked_at(1, "", 0, Look(topic="events", partition=0, **asked))
    assert found.trace is not None
    clean = lambda words: words.replace("\u202f", " ")  # noqa: E731
    return clean(answer(found, found.trace)), [clean(step.words) for step in steps(found.trace)]


def test_the_way_to_an_offset_is_told_step_by_step() -> None:
    end, way = told(offset=100)
    assert re.fullmatch(r"Offset 100 is in the batch at byte [\d ]+ of 00000000000000000060\.log\.", end)
    assert way[0] == "Segment 00000000000000000060.log: its base offset, 60, is the largest at or below 100."
    assert re.match(
        r"Its offset index: the last entry at or below 100 is number \d, which says that the batch that ends with offset \d\d ", way[1]
    )
    assert re.match(r"From byte [\d ]+ on \d batch(es)? \([\d.]+ B\) are walked over by their headers alone", way[2])
    assert re.match(
        r"The batch at byte [\d ]+ has offsets 99 to 101 in 2\d\d B, its youngest record is of 2023-11-14 22:13:21\.010", way[3]
    )
    assert len(way) == 4


def test_the_way_to_a_time_goes_through_both_indexes() -> None:
    end, way = told(at_ms=START_MS + 100 * STEP_MS)
    assert end.startswith("The first record that is not older is offset 100 of 2023-11-14 22:13:21.000, in the batch at byte ")
    assert way[0] == "1 segment passed over unread: the end of the time index says that no record is of 2023-11-14 22:13:21.000 or later."
    assert way[1] == "Segment 00000000000000000060.log is the first that has a record as young."
    assert "no record is younger than 2023-11-14 22:13:20." in way[2]
    assert way[3].startswith("Its offset index: ")


def test_what_is_not_there_is_told_as_that() -> None:
    assert told(offset=196)[0] == "Offset 196 is the log’s end: nothing is there yet. A reader waits for it."
    assert "a reader is told OFFSET_OUT_OF_RANGE" in told(offset=1000)[0]
    assert told(at_ms=START_MS * 2)[0].startswith("No record is of 2077-")
    assert told(offset=195)[0].endswith("It is not below the high watermark, 195: consumers do not get it yet.")
    assert at(10**18) == "1\u202f000\u202f000\u202f000\u202f000\u202f000\u202f000 ms"


def test_the_page_asks_the_leader_and_shows_what_it_told(people: dict[str, Client], asked: list[Any]) -> None:
    said = text_of(people["viewer"].get(f"{PAGE}?offset=100"))
    assert [(broker, question.offset, question.at_ms) for broker, question in asked] == [(asked[0][0], 100, None)]
    for words in ("The way to offset 100", "00000000000000000180.log", "4 001", "not named"):
        assert words in said, words
    assert re.search(r"recovery-point-offset-checkpoint \d+ 60 ", said)
    people["viewer"].get(f"{PAGE}?broker=2&at=2023-11-14T22:13:21&before=60")
    assert asked[-1] == (2, Look(topic="orders", partition=1, at_ms=START_MS + 1000, before=60))


@pytest.mark.parametrize(
    ("query", "status", "words"),
    [
        ("?at=soon", 400, "is no time"),
        ("?broker=99", 404, "Broker 99 has no replica of orders-1"),
        ("?offset=abc", 200, "is not a whole number"),
    ],
)
def test_what_cannot_be_asked_is_said(people: dict[str, Client], asked: list[Any], query: str, status: int, words: str) -> None:
    found = people["viewer"].get(PAGE + query)
    assert found.status_code == status
    assert words in text_of(found)


def test_a_broker_that_does_not_answer_is_named(people: dict[str, Client], asked: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    def lost(*_asked: Any) -> Any:
        raise ClusterUnreachable("broker 2 at b2:1 did not answer a look at its log")

    monkeypatch.setattr("console.log_looks.look", lost)
    found = people["viewer"].get(PAGE)
    assert found.status_code == 503
    assert "Broker 2 at b2:1 did not answer" in text_of(found)


def test_a_silent_address_is_a_broker_that_does_not_answer() -> None:
    port = free_ports(1)
    with pytest.raises(ClusterUnreachable, match="broker 3 at "):
        look(3, "127.0.0.1", port, Look(topic="t", partition=0))


def test_clusters_that_do_not_tell_have_a_page_that_says_so(
    people: dict[str, Client], tokens: Any, asked: list[Any], local: Cluster
) -> None:
    Cluster.objects.filter(pk="local").update(is_local=False)
    found = people["viewer"].get(PAGE)
    assert found.status_code == 200
    assert "Not available: brokers of this cluster do not tell" in text_of(found)
    refused = people["viewer"].get(REST, headers=tokens["viewer"])
    assert (refused.status_code, refused.json()["code"]) == (404, "not-found")
    assert not asked


def test_rest_answers_the_same(people: dict[str, Client], tokens: Any, asked: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    def get(query: str) -> Any:
        found = Client().get(REST + query, headers=tokens["viewer"])
        check_answer("GET", REST, found.status_code, found.headers["Content-Type"].partition(";")[0], found.json())
        return found

    body = get("?offset=100").json()
    assert (body["trace"]["outcome"], body["trace"]["steps"][0]["segment"], body["segments_total"]) == ("found", 60, 4)
    assert [get(query).status_code for query in ("?offset=-1", "?broker=x", "?before=1e3", f"?at_ms={10**15}", "?broker=99")] == [
        400
    ] * 4 + [404]

    def busy(*_asked: Any) -> Any:
        raise GatewayError("THROTTLING_QUOTA_EXCEEDED", "ask again", int(ErrorCode.THROTTLING_QUOTA_EXCEEDED), retriable=True)

    monkeypatch.setattr("console.log_looks.look", busy)
    assert get("").status_code == 429
