"""Finding a thing by a part of its name: the best first, for whoever may go there, of the cluster and the moment that is looked at."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import pytest
from django.test import Client

from console.models import Cluster
from console.snapshot.connect import sync_client


@pytest.fixture(autouse=True)
def stage(shown: Any, kafka: Any) -> None:
    """The pretended cluster."""


def offered(browser: Client, text: str, prefix: str = "") -> list[tuple[str, str, str]]:
    """(kind, name, address) of each."""
    answer = browser.get(f"{prefix}/find", {"q": text}, headers={"HX-Request": "true"})
    assert answer.status_code == 200
    found = re.findall(r'href="([^"]*)"><span class="kind">([^<]*)</span> <span class="name">([^<]*)</span>', answer.content.decode())
    return [(kind, unescape(name), unescape(url)) for url, kind, name in found]


def test_what_is_called_so_comes_before_what_has_it_somewhere(people: dict[str, Client]) -> None:
    found = offered(people["viewer"], "Orders")
    assert found[0] == ("topic", "orders", "/topics/orders")
    assert offered(people["viewer"], "broker 2") == [("broker", "Broker 2", "/brokers/2")]
    assert ("job", "Job 17", "/jobs/17") in offered(people["viewer"], "17")
    assert offered(people["viewer"], "no such thing") == []


def test_without_a_text_the_pages_are_offered_to_whom_they_are_open(people: dict[str, Client]) -> None:
    names = {role: [name for _, name, _ in offered(browser, "")] for role, browser in people.items()}
    assert {"Topics", "Groups", "Health"} <= set(names["viewer"])
    assert ["Audit" in names[role] for role in ("viewer", "operator", "admin")] == [False, False, True]
    assert ["Create a topic" in names[role] for role in ("viewer", "operator", "admin")] == [False, True, True]


def test_a_past_page_and_another_clusters_lead_to_their_like(people: dict[str, Client], redis: Any) -> None:
    Cluster.objects.create(pk="north", name="North Sea", bootstrap_servers="k:1")
    found = {name: url for _, name, url in offered(people["admin"], "", "/c/north")}
    assert (found["Topics"], found["Clusters"], found["Register a cluster"]) == ("/c/north/topics", "/clusters", "/clusters/new")
    assert found["North Sea"] == "/c/north/"


def test_what_is_asked_for_is_text(people: dict[str, Client]) -> None:
    assert offered(people["viewer"], "<b>&" * 200) == []
    page = people["viewer"].get("/find", {"q": "<b>"}).content
    assert b"<b>" not in page and b"&lt;b&gt;" in page


def test_without_redis_the_pages_are_still_found(people: dict[str, Client], settings: Any) -> None:
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    sync_client.cache_clear()
    answer = people["viewer"].get("/find", {"q": "top"}, headers={"HX-Request": "true"})
    assert answer.status_code == 200
    assert b"/topics" in answer.content and b"cannot be looked for" in answer.content
