"""Quotas of clients in a wanted state: read, compared, mended."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client as Browser

from console.models import AuditEntry
from console.wanted.model import Place, Wanted, WantedQuota
from console.wanted.quotas import entity_of, in_words, written
from console.wanted.reading import Unreadable, read
from tests.console.test_api import BASE
from tests.console.test_api_changes import Asked
from tests.support.wanted_world import Cluster, put_in_place

WANTED = f"{BASE}/wanted"
FILE = """
quotas:
  - {user: alice, limits: {producer_byte_rate: 1048576, request_percentage: 12.5}}
  - {user: <default>, client-id: batch, limits: {consumer_byte_rate: 100}}
"""
ALICE, BATCH = "user=alice", "user=<default>,client-id=batch"


@pytest.fixture(autouse=True)
def cluster(local: Any, shown: Any, redis: Any, sent: Any, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    found = put_in_place(monkeypatch)
    found.limits = {}
    return found


@pytest.fixture
def ask(tokens: dict[str, dict[str, str]]) -> Asked:
    return Asked(tokens["admin"])


def drifts(ask: Asked, text: str = FILE) -> dict[str, dict[str, Any]]:
    answer = ask("PUT", WANTED, {"files": {"q.yaml": text}})
    assert answer.status_code == 200, answer.content
    return {one["object"]: one for one in json.loads(answer.content)["drifts"] if one["object"].startswith("quota/")}


def test_quotas_are_read_with_their_places() -> None:
    assert read({"q.yaml": FILE}) == Wanted(
        {},
        None,
        {
            ALICE: WantedQuota(Place("q.yaml", 3), {"producer_byte_rate": 1048576.0, "request_percentage": 12.5}),
            BATCH: WantedQuota(Place("q.yaml", 4), {"consumer_byte_rate": 100.0}),
        },
    )
    assert read({"a.yaml": "topics: {a: {}}"}).quotas is None, "nobody's business"
    assert read({"a.yaml": "quotas:"}).quotas == {}


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("{limits: {producer_byte_rate: 1}}", "of a user, of a client-id"),
        ("{user: a, ip: 192.0.2.1, limits: {}}", "of an ip alone"),
        ("{user: a, limits: {connection_creation_rate: 1}}", "'connection_creation_rate' is no limit of such a client"),
        ("{ip: 192.0.2.1, limits: {producer_byte_rate: 1}}", "is no limit of such a client: connection_creation_rate"),
        ("{user: a, limits: {producer_byte_rate: 1 MB}}", "a number above 0"),
        ("{user: a, limits: {producer_byte_rate: 0}}", "a number above 0"),
        ("{user: a, limits: {producer_byte_rate: -1}}", "a number above 0"),
        ("{user: [a]}", "a name is wanted"),
        ("{user: '', limits: {}}", "a name is wanted"),
        ("{group: a}", "nothing that is known here"),
        ("a", "a mapping"),
        (f"{{user: {'x' * 300}}}", "too long"),
    ],
)
def test_what_cannot_be_a_quota_is_told_with_its_line(row: str, words: str) -> None:
    with pytest.raises(Unreadable) as caught:
        read({"q.yaml": f"quotas:\n  - {row}\n"})
    assert [fault.place for fault in caught.value.faults] == [Place("q.yaml", 2)]
    assert words in caught.value.faults[0].words


def test_an_entity_is_wanted_once() -> None:
    with pytest.raises(Unreadable, match=r"user a is wanted at q\.yaml:2 already"):
        read({"q.yaml": "quotas:\n  - {user: a}\n  - {user: a}\n"})


@pytest.mark.parametrize(
    "entity", [{"user": "a,b=c"}, {"user": None, "client-id": "<default>"}, {"ip": "192.0.2.1"}, {"client-id": "ä/ %"}, {"user": None}]
)
def test_an_entity_is_read_as_it_is_written(entity: dict[str, str | None]) -> None:
    assert entity_of(written(entity)) == entity


def test_words_of_an_entity() -> None:
    assert (in_words(ALICE), in_words(BATCH)) == ("user alice", "every user with client-id batch")


def test_drift_is_told_and_mended(ask: Asked, cluster: Cluster) -> None:
    cluster.limits = {ALICE: {"producer_byte_rate": 5.0, "consumer_byte_rate": 7.0}, "ip=192.0.2.1": {"connection_creation_rate": 3.0}}
    found = drifts(ask)
    assert {name: one["state"] for name, one in found.items()} == {
        f"quota/{ALICE}": "differs",
        f"quota/{BATCH}": "missing",
        "quota/ip=192.0.2.1": "unmanaged",
    }
    assert found[f"quota/{ALICE}"]["changes"] == [
        {"label": "producer_byte_rate", "before": 5, "after": 1048576},
        {"label": "request_percentage", "before": None, "after": 12.5},
        {"label": "consumer_byte_rate", "before": 7, "after": None},
    ]
    for name in (ALICE, BATCH):
        answer = ask("POST", f"{WANTED}/mend", {"object": f"quota/{name}"})
        assert answer.status_code == 200, answer.content
    assert cluster.limits == {
        ALICE: {"producer_byte_rate": 1048576.0, "request_percentage": 12.5},
        BATCH: {"consumer_byte_rate": 100.0},
        "ip=192.0.2.1": {"connection_creation_rate": 3.0},
    }
    assert {name: one["state"] for name, one in drifts(ask).items()} == {"quota/ip=192.0.2.1": "unmanaged"}
    entry = AuditEntry.objects.filter(action="mend").latest("id")
    assert (entry.target, entry.after) == (f"quota/{BATCH}", {"consumer_byte_rate": 100})


def test_quotas_that_no_file_names_are_nobodys_business(ask: Asked, cluster: Cluster) -> None:
    cluster.limits = {ALICE: {"producer_byte_rate": 5.0}}
    assert drifts(ask, "topics: {orders: {}}") == {}


def test_a_cluster_without_quotas_says_so(ask: Asked, cluster: Cluster) -> None:
    cluster.limits = None
    found = drifts(ask)
    assert {one["state"] for one in found.values()} == {"impossible"}
    assert "not available from this cluster" in found[f"quota/{ALICE}"]["impossible"][0]
    assert ask("POST", f"{WANTED}/mend", {"object": f"quota/{ALICE}"}).status_code == 422


def test_only_an_admin_mends_a_quota(ask: Asked, tokens: dict[str, dict[str, str]], people: dict[str, Browser], cluster: Cluster) -> None:
    drifts(ask)
    refused = Asked(tokens["operator"])("POST", f"{WANTED}/mend", {"object": f"quota/{ALICE}"})
    assert refused.status_code == 403 and not cluster.changes("alter_quota")
    page = people["admin"].get("/wanted").content.decode()
    assert "Quota of every user with client-id batch" in page
    mend = people["admin"].get("/wanted/mend", {"object": f"quota/{BATCH}"}).content.decode()
    assert "<h1>Quota of every user with client-id batch</h1>" in mend
    assert ask("POST", f"{WANTED}/mend", {"object": "quota/user=nobody"}).status_code == 422
