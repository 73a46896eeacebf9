"""What an audit row says of a change."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from console.differences import LINES_LIMIT, TEXT_CHARS_LIMIT, differences
from console.models import AuditEntry


@pytest.mark.parametrize(
    ("before", "after", "lines"),
    [
        (None, None, []),
        ({"partitions": 3}, {"partitions": 6}, [("partitions", "3", "6")]),
        ({"a": "1", "b": "2"}, {"a": "1", "b": None}, [("b", "2", "–")]),
        ({"orders-0": 50, "orders-1": None}, {"orders-0": 0, "orders-1": 7}, [("orders-0", "50", "0"), ("orders-1", "–", "7")]),
        (
            None,
            {"partitions": 3, "configs": {"retention.ms": "5"}, "validate": True},
            [("partitions", None, "3"), ("retention.ms", None, "5"), ("validate", None, "yes")],
        ),
        (
            None,
            {"assignments": [{"topic": "orders", "partition": 1, "replicas": [3, 1]}], "throttle": 10},
            [("orders-1", None, "3, 1"), ("throttle", None, "10")],
        ),
        ({"state": "live", "topics": []}, {"state": "revoked"}, [("state", "live", "revoked"), ("topics", "none", None)]),
        ("a text", 5, [("value", "a text", "5")]),
        ({}, [], [("value", None, "none")]),
    ],
)
def test_a_change_is_told_by_its_differences(before: Any, after: Any, lines: list[Any]) -> None:
    assert differences(before, after) == (lines, 0)


def test_a_large_change_is_told_in_part() -> None:
    lines, more = differences(None, {f"orders-{n}": n for n in range(1_000)})
    assert (len(lines), more) == (LINES_LIMIT, 1_000 - LINES_LIMIT)
    long = differences(None, {"topics": ["t" * 10] * 500})[0][0].after
    assert long is not None and long.endswith("… (500 entries)") and len(long) < TEXT_CHARS_LIMIT + 20


def test_the_page_tells_who_from_where_and_what_changed(people: dict[str, Client], shown: Any, kafka: Any) -> None:
    kafka.configs = {"orders": {"retention.ms": "604800000"}}
    kafka.topics_ = {"orders": {p: [1, 2, 3] for p in range(3)}}
    people["operator"].post("/topics/orders/settings", {"set:retention.ms": "700000000", "save": "yes"})
    people["admin"].post("/topics/orders/delete", {"confirm": "orders"})
    people["admin"].post("/group-delete/billing", {"confirm": "billing"})
    page = people["admin"].get("/audit").content.decode()
    assert '<span class="muted">retention.ms</span> 604800000 → 700000000</div>' in page
    assert "page from 127.0.0.1" in page
    assert '<span class="muted">partitions</span> 3 <span class="muted">before</span>' in page
    assert AuditEntry.objects.latest("id").before == {"state": "Stable", "topics": ["orders"], "lag": 40}
    AuditEntry.objects.create(actor="ci", via="api", action="a", target="t", before={"x": "<b>"}, after={"x": "&"}, outcome="done")
    AuditEntry.objects.create(actor="", via="page", address="192.0.2.1", action="sign in", target="t", outcome="failed")
    page = people["admin"].get("/audit").content.decode()
    assert "token ci" in page and "&lt;b&gt; → &amp;" in page and "somebody unknown" in page


ASKS_FIRST: dict[str, dict[str, str]] = {
    "/topics/orders/settings": {"set:unclean.leader.election.enable": "true", "save": "yes"},
    "/topics/orders/partitions": {"count": "9999"},
    "/new-topic": {"name": "new", "partitions": "1", "replication_factor": "1", "config.min.insync.replicas": "2"},
    "/group-offsets/billing": {"topic": "orders", "partition": "0", "to": "999999999"},
    "/topics/orders/delete": {},
    "/group-delete/billing": {"confirm": "bil"},
    "/brokers/1/kill": {},
    "/jobs/new": {"kind": "preferred_leader_election"},
}


@pytest.mark.parametrize("path", ASKS_FIRST)
def test_what_is_asked_back_is_no_failure(people: dict[str, Client], shown: Any, kafka: Any, path: str) -> None:
    kafka.topics_ = {"orders": {p: [1, 2, 3] for p in range(3)}}
    assert people["admin"].post(path, ASKS_FIRST[path]).status_code in (200, 422)
    assert set(AuditEntry.objects.values_list("outcome", flat=True)) <= {"asked"}
    assert ">failed<" not in people["admin"].get("/audit").content.decode()


def test_rest_that_asks_back_leaves_the_question(
    tokens: dict[str, dict[str, str]], people: dict[str, Client], shown: Any, kafka: Any
) -> None:
    kafka.topics_ = {"orders": {p: [1, 2, 3] for p in range(3)}}
    headers, path = tokens["operator"], "/api/v1/clusters/local/topics/orders"
    body = {"configs": {"unclean.leader.election.enable": "true"}}
    assert Client().patch(path, body, content_type="application/json", headers=headers).status_code == 422
    entry = AuditEntry.objects.get()
    assert (entry.outcome, "may lead orders" in entry.error) == ("asked", True)
    page = people["admin"].get("/audit").content.decode()
    assert '<span class="state" data-level="off">asked for a confirmation</span>' in page
    assert Client().patch(path, {**body, "confirm": True}, content_type="application/json", headers=headers).status_code == 200
    assert AuditEntry.objects.latest("id").outcome == "done"
