"""REST's changes: dry runs, offsets by time and shift, keys that make a change happen once, ETags; and the records that are kept."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from console.actions.audit import audited
from console.models import AuditEntry, KeptAnswer
from console.roles import VIEWER, Actor
from tests.console.test_api import BASE, assert_problem
from tests.support.openapi import check_answer

TOPIC = f"{BASE}/topics/orders"
OFFSETS = f"{BASE}/groups/billing/offsets"


@pytest.fixture(autouse=True)
def stage(local: Any, shown: Any, kafka: Any, sent: Any) -> None:
    kafka.topics_ = {"orders": {p: [1, 2, 3] for p in range(3)}}
    kafka.configs = {"orders": {"retention.ms": "1000"}}
    kafka.committed = {"billing": {("orders", 0): 40, ("orders", 1): 90}}


class Asked:
    def __init__(self, headers: dict[str, str]) -> None:
        self.headers = headers

    def __call__(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        more = {name.replace("_", "-"): value for name, value in headers.items()}
        text = "" if body is None else json.dumps(body)
        answer = Client().generic(method, path, text, content_type="application/json", headers=self.headers | more)
        kind = answer.headers.get("Content-Type", "").partition(";")[0]
        check_answer(method, path, answer.status_code, kind, json.loads(answer.content) if "json" in kind else answer.content)
        return answer


@pytest.fixture
def ask(tokens: dict[str, dict[str, str]]) -> Asked:
    return Asked(tokens["admin"])


def test_a_dry_run_of_settings_tells_what_would_change_and_what_it_puts_at_risk(ask: Asked, kafka: Any) -> None:
    changes = {"retention.ms": "2000", "unclean.leader.election.enable": "true"}
    found = json.loads(ask("PATCH", TOPIC, {"configs": changes, "dry_run": True}).content)
    assert found["changes"][0] == {"label": "retention.ms", "before": "1000", "after": "2000"}
    assert "acknowledged" in found["risks"][0]
    assert ("validate_topic_config", "orders", changes) in kafka.asked
    assert kafka.configs["orders"] == {"retention.ms": "1000"}
    assert not AuditEntry.objects.exists()


def test_a_dry_run_of_growth(ask: Asked) -> None:
    found = json.loads(ask("POST", f"{TOPIC}/partitions", {"count": 5, "dry_run": True}).content)
    assert found["changes"] == [{"label": "partitions", "before": 3, "after": 5}]
    assert assert_problem(ask("POST", f"{TOPIC}/partitions", {"count": 2, "dry_run": True}), 422)["field"] == "count"


def moves(answer: Any) -> list[tuple[int, int]]:
    assert answer.status_code == 200, answer.content
    return [(row["partition"], row["after"]) for row in json.loads(answer.content)["items"]]


def test_offsets_go_to_a_time(ask: Asked) -> None:
    """In the pretended log record n is of the time n ms."""
    asked = {"topic": "orders", "time": "1970-01-01T00:00:00.050Z", "partitions": [0, 2]}
    assert moves(ask("POST", OFFSETS, {**asked, "dry_run": True})) == [(0, 50), (2, 50)]
    asked["time"] = "2020-01-01T00:00:00+02:00"
    assert moves(ask("POST", OFFSETS, asked)) == [(0, 100), (2, 100)], "no record is so new: the end"


def test_offsets_are_shifted(ask: Asked) -> None:
    asked = {"topic": "orders", "shift": -15, "partitions": [0, 1]}
    assert moves(ask("POST", OFFSETS, asked)) == [(0, 25), (1, 75)]
    far = ask("POST", OFFSETS, {**asked, "shift": 30})
    assert "beyond the end" in assert_problem(far, 422)["detail"]
    assert moves(ask("POST", OFFSETS, {**asked, "shift": 30, "confirm": True})) == [(0, 55), (1, 100)]
    assert assert_problem(ask("POST", OFFSETS, {"topic": "orders", "shift": 1}), 422)["field"] == "shift", "nothing is committed on 2"


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({}, "to"),
        ({"to": "latest", "shift": 1}, "to"),
        ({"time": "2020-01-01T00:00:00"}, "time"),
        ({"time": "1969-01-01T00:00:00Z"}, "time"),
        ({"to": "latest", "partition": 1, "partitions": [1]}, "partitions"),
        ({"shift": 2**63}, "shift"),
    ],
)
def test_where_to_is_said_once_and_so_that_it_can_be_meant(ask: Asked, more: dict[str, Any], field: str) -> None:
    assert assert_problem(ask("POST", OFFSETS, {"topic": "orders", **more}), 422)["field"] == field


def test_what_was_done_for_a_key_is_not_done_again(ask: Asked, kafka: Any, tokens: dict[str, dict[str, str]]) -> None:
    body = {"configs": {"retention.ms": "5000"}}
    first = ask("PATCH", TOPIC, body, Idempotency_Key="k1")
    kafka.configs["orders"]["retention.ms"] = "7"
    again = ask("PATCH", TOPIC, body, Idempotency_Key="k1")
    assert (again.status_code, again.content, again.headers["Idempotency-Replayed"]) == (200, first.content, "true")
    assert kafka.configs["orders"]["retention.ms"] == "7"
    other = ask("PATCH", TOPIC, {"configs": {"retention.ms": "6"}}, Idempotency_Key="k1")
    assert assert_problem(other, 422)["field"] == "Idempotency-Key"
    assert Asked(tokens["operator"])("PATCH", TOPIC, body, Idempotency_Key="k1").status_code == 200
    assert kafka.configs["orders"]["retention.ms"] == "5000", "another token's key is another key"


def test_an_answer_without_a_body_is_kept_too(ask: Asked, kafka: Any) -> None:
    for _ in range(2):
        answer = ask("DELETE", f"{BASE}/groups/billing", Idempotency_Key="gone")
        assert (answer.status_code, answer.content) == (204, b"")
    assert [what for what in kafka.asked if what[0] == "delete_group"] == [("delete_group", "billing")]


def test_what_was_refused_may_be_asked_again(ask: Asked, kafka: Any) -> None:
    kafka.away = True
    assert_problem(ask("PATCH", TOPIC, {"configs": {"retention.ms": "6000"}}, Idempotency_Key="k"), 503)
    kafka.away = False
    assert ask("PATCH", TOPIC, {"configs": {"retention.ms": "6000"}}, Idempotency_Key="k").status_code == 200


def test_the_second_of_two_at_once_is_told_to_wait_and_a_dead_one_is_forgotten(ask: Asked) -> None:
    body = {"configs": {"retention.ms": "5000"}}
    assert ask("PATCH", TOPIC, body, Idempotency_Key="k").status_code == 200
    KeptAnswer.objects.update(status=0)
    assert_problem(ask("PATCH", TOPIC, body, Idempotency_Key="k"), 409)
    KeptAnswer.objects.update(at=timezone.now() - timedelta(minutes=11))
    answer = ask("PATCH", TOPIC, body, Idempotency_Key="k")
    assert (answer.status_code, "Idempotency-Replayed" in answer.headers) == (200, False)
    KeptAnswer.objects.update(at=timezone.now() - timedelta(hours=25))
    assert "Idempotency-Replayed" not in ask("PATCH", TOPIC, body, Idempotency_Key="k").headers


@pytest.mark.parametrize("key", ["", "a b", "x" * 201, "ключ"])
def test_a_key_that_cannot_be_kept_is_refused(ask: Asked, key: str) -> None:
    assert_problem(ask("PATCH", TOPIC, {"configs": {"retention.ms": "1"}}, Idempotency_Key=key), 422)


def test_a_change_of_what_has_changed_meanwhile_is_refused(ask: Asked, kafka: Any) -> None:
    tag = ask("GET", TOPIC).headers["ETag"]
    assert ask("GET", TOPIC).headers["ETag"] == tag
    changed = ask("PATCH", TOPIC, {"configs": {"retention.ms": "2000"}}, If_Match=tag)
    assert changed.status_code == 200
    assert changed.headers["ETag"] != tag
    assert assert_problem(ask("PATCH", TOPIC, {"configs": {"retention.ms": "3000"}}, If_Match=tag), 412)["code"] == "outdated"
    assert kafka.configs["orders"]["retention.ms"] == "2000"
    for matching in ("*", f'"other", {changed.headers["ETag"]}'):
        assert ask("PATCH", TOPIC, {"configs": {"retention.ms": "2000"}}, If_Match=matching).status_code == 200


def test_who_the_token_is(tokens: dict[str, dict[str, str]]) -> None:
    for role, headers in tokens.items():
        assert json.loads(Asked(headers)("GET", "/api/v1/whoami").content) == {"name": role, "role": role}


def test_the_audit_is_told_to_admins(ask: Asked, tokens: dict[str, dict[str, str]]) -> None:
    for number in range(3):
        with audited(Actor("ada", "admin", "page", "10.0.0.9"), VIEWER, f"do {number}", "thing", cluster=None, after={"n": number}):
            """Done."""
    page = json.loads(ask("GET", "/api/v1/audit?limit=2").content)
    assert [(row["actor"], row["action"], row["after"], row["outcome"]) for row in page["items"]] == [
        ("ada", "do 2", {"n": 2}, "done"),
        ("ada", "do 1", {"n": 1}, "done"),
    ]
    assert [row["action"] for row in json.loads(ask("GET", f"/api/v1/audit?cursor={page['next']}").content)["items"]] == ["do 0"]
    assert_problem(Asked(tokens["operator"])("GET", "/api/v1/audit"), 403)
