"""The page of the wanted state: what differs in words, and the form that mends."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from console.actions.wanted import keep_wanted
from console.models import AuditEntry, WantedState
from console.roles import ADMIN, Actor
from console.wanted.words import verdict
from tests.support.wanted_world import FILE, Cluster, put_in_place


@pytest.fixture(autouse=True)
def cluster(local: Any, shown: Any, redis: Any, sent: Any, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    return put_in_place(monkeypatch)


@pytest.fixture
def kept(local: Any, cluster: Cluster) -> WantedState:
    keep_wanted(Actor("ada", ADMIN, "api"), local, {"topics.yaml": FILE})
    return WantedState.objects.get()


def test_where_nothing_is_wanted_the_page_teaches(people: dict[str, Client]) -> None:
    assert "highwater apply FOLDER --dry-run" in people["viewer"].get("/wanted").content.decode()


def test_what_differs_is_told_object_by_object(people: dict[str, Client], kept: WantedState) -> None:
    text = people["operator"].get("/wanted").content.decode()
    assert "4 objects differ from what is wanted, 1 of them in what cannot be mended. Beside them 1 object is there" in text
    assert "small has 2 partitions, 1 are wanted" in text
    assert "topics.yaml:3" in text
    assert text.count("Mend…") == 3
    assert "Mend…" not in people["viewer"].get("/wanted").content.decode()
    only = people["operator"].get("/wanted?state=missing").content.decode()
    assert ("fresh is not there" in only, "orders differs" in only) == (True, False)


def test_a_cluster_that_could_not_be_compared_says_so(people: dict[str, Client], kept: WantedState) -> None:
    WantedState.objects.update(error="no broker answers", looked_at=None)
    text = people["viewer"].get("/wanted").content.decode()
    assert "could not be compared since" in text
    assert "was not compared with it yet" in text
    assert 'data-level="unknown"' in text


def test_a_mend_is_shown_and_typed_before_it_is_done(people: dict[str, Client], kept: WantedState, cluster: Cluster) -> None:
    at = "/wanted/mend?object=topic/orders"
    page = people["operator"].get(at)
    text = page.content.decode()
    assert "This could lose data" in text
    assert "1, 2, 3" in text
    form = {"object": "topic/orders", "seen": page.context["drift"].seen}
    refused = people["operator"].post("/wanted/mend", form)
    assert (refused.status_code, "Type orders" in refused.content.decode()) == (422, True)
    assert cluster.configs["orders"]["retention.ms"] == "1000"
    cluster.configs["orders"]["segment.ms"] = "6"
    outdated = people["operator"].post("/wanted/mend", {**form, "confirm": "orders"})
    assert (outdated.status_code, outdated.context["drift"].seen != form["seen"]) == (412, True), "shown anew"
    done = people["operator"].post("/wanted/mend", {**form, "seen": outdated.context["drift"].seen, "confirm": "orders"})
    assert (done.status_code, done.headers["Location"].startswith("/jobs/")) == (303, True)
    assert cluster.configs["orders"] == {"retention.ms": "500"}


def test_what_is_harmless_is_mended_without_typing(people: dict[str, Client], kept: WantedState, cluster: Cluster) -> None:
    page = people["operator"].get("/wanted/mend?object=topic/fresh")
    assert 'name="confirm"' not in page.content.decode()
    done = people["operator"].post("/wanted/mend", {"object": "topic/fresh", "seen": page.context["drift"].seen})
    assert (done.status_code, done.headers["Location"]) == (303, "/wanted")
    assert "fresh" in cluster.topics_
    assert AuditEntry.objects.filter(action="mend", target="topic/fresh", outcome="done").exists()
    assert "Nothing to mend" in people["operator"].get("/wanted/mend?object=topic/fresh").content.decode()


def test_who_may_not_mends_nothing(people: dict[str, Client], kept: WantedState, cluster: Cluster) -> None:
    assert people["viewer"].get("/wanted/mend?object=topic/fresh").status_code == 403
    assert people["viewer"].post("/wanted/mend", {"object": "topic/fresh"}).status_code == 403
    assert people["operator"].get("/wanted/mend?object=topic/extra").status_code == 404
    assert "fresh" not in cluster.topics_


def test_the_verdict() -> None:
    assert verdict({}, 2) == ("ok", "The cluster is as it is wanted: 2 topics.")
    assert verdict({"differs": 1}, 2) == ("warn", "1 object differs from what is wanted.")
    assert verdict({"unmanaged": 2}, 1)[1].endswith("Beside them 2 objects are there that no file wants.")
