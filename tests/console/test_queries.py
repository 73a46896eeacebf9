"""What an address asks for and cannot be had is said: 400 from REST, a notice on the page; never left out in silence."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client

from console.models import Event


@pytest.fixture(autouse=True)
def stage(shown: Any, kafka: Any) -> None:
    """Every page has the pretended cluster."""


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/jobs?state=bogus", "'state' is nothing that this page can be asked for"),
        ("/jobs?page=x", "page='x' is not a whole number from 1 on"),
        ("/topics?troubled=yes", "troubled='yes' is not one of 1"),
        ("/topics?page=0", "page='0' is not"),
        ("/topics/orders?troubled=2", "troubled='2' is not"),
        ("/groups?page=-1", "page='-1' is not"),
        ("/events?kind=bogus", "kind='bogus' is not one of broker_died"),
        ("/events?broker=two", "broker='two' is not"),
        ("/events?broker=99999999999", "broker='99999999999' is not"),
        ("/events?before=x", "before='x' is not"),
        ("/analytics?hours=0", "hours='0' is not a whole number from 1 to 168"),
        ("/analytics?hours=1000", "hours='1000' is not"),
        ("/brokers?x=1", "'x' is nothing"),
        ("/settings?<b>=1", "'<b>' is nothing"),
    ],
)
def test_a_page_says_what_it_did_not_look_at(people: dict[str, Client], path: str, said: str) -> None:
    answer = people["viewer"].get(path)
    assert answer.status_code == 200
    notes = answer.context["query_notes"]
    assert len(notes) == 1
    assert notes[0].startswith(said)
    assert notes[0].endswith("it was not looked at.")
    page = answer.content.decode()
    assert page.count('<div class="note warn" role="status">') == 1
    assert "<b>" not in page


@pytest.mark.parametrize(
    "path",
    ["/topics?q=a&page=1&troubled=1", "/events?kind=broker_died&topic=x&group=&broker=2&before=9", "/analytics?hours=24", "/jobs?page="],
)
def test_what_can_be_asked_for_is_not_noted(people: dict[str, Client], path: str) -> None:
    assert people["viewer"].get(path).context["query_notes"] == []


def test_notes_are_bounded(people: dict[str, Client]) -> None:
    assert len(people["viewer"].get("/topics?" + "&".join(f"x{n}=1" for n in range(50))).context["query_notes"]) == 5


def test_rest_takes_what_is_known_and_what_has_happened(tokens: dict[str, dict[str, str]], local: Any) -> None:
    Event.objects.create(cluster=local, at_ms=1, kind="meteor", level="bad", sentence="x")
    for path, count in (("events?kind=truncation", 0), ("events?kind=meteor", 1), ("events?kind=", 1)):
        answer = Client().get(f"/api/v1/clusters/local/{path}", headers=tokens["viewer"])
        assert (answer.status_code, len(json.loads(answer.content)["items"])) == (200, count)
    for state in ("queued", "cancelled", ""):
        assert Client().get(f"/api/v1/jobs?state={state}&cluster=local", headers=tokens["viewer"]).status_code == 200


def test_rest_names_what_is_wrong(tokens: dict[str, dict[str, str]]) -> None:
    answer = Client().get("/api/v1/jobs?state=bogus", headers=tokens["viewer"])
    found = json.loads(answer.content)
    assert (answer.status_code, found["field"]) == (400, "state")
    assert found["detail"] == "'bogus' is no state: give one of queued, running, cancelling, succeeded, failed, cancelled."
