"""What nobody handles has an answer of ours: a page, or problem JSON from REST. A role is judged before what was sent."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client

from console.models import AuditEntry

BASE = "/api/v1/clusters/local"


@pytest.fixture(autouse=True)
def stage(shown: Any, kafka: Any, sent: Any) -> None:
    kafka.topics_ = {"orders": {p: [1, 2, 3] for p in range(3)}}


def lenient(browser: Client) -> Client:
    """Answers 500 as a server would instead of raising."""
    browser.raise_request_exception = False
    return browser


def fail(*_: Any, **__: Any) -> None:
    raise ZeroDivisionError("secret detail")


@pytest.mark.parametrize(
    ("method", "path", "status"), [("GET", "/nothing/here", 404), ("GET", "/health/run", 405), ("PUT", "/topics", 405)]
)
@pytest.mark.parametrize("who", ["viewer", None])
def test_what_is_not_there_has_a_page_of_ours(people: dict[str, Client], method: str, path: str, status: int, who: str | None) -> None:
    answer = (people[who] if who else Client()).generic(method, path)
    text = answer.content.decode()
    assert answer.status_code == status
    assert "<html" in text
    assert 'href="/"' in text
    assert ("Sign out" in text) is (who is not None)
    if status == 405:
        assert f"takes {answer.headers['Allow']}, not {method}" in text


def test_a_form_without_its_token_has_a_page(people: dict[str, Client]) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = people["admin"].cookies
    answer = strict.post("/health/run")
    assert answer.status_code == 403
    assert "Load the page again" in answer.content.decode()


def test_another_hosts_name_has_a_page(db: None) -> None:
    answer = Client().get("/login", headers={"Host": "elsewhere.example"})
    assert answer.status_code == 400
    assert "This request cannot be read" in answer.content.decode()


def test_an_error_of_ours_has_a_page_without_its_details(people: dict[str, Client], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("console.queries.trouble", fail)
    answer = lenient(people["viewer"]).get("/")
    assert answer.status_code == 500
    assert "Something went wrong here" in answer.content.decode()
    assert "secret" not in answer.content.decode()


def test_an_error_of_ours_is_a_problem_in_rest(tokens: dict[str, dict[str, str]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("console.queries.cluster_of", fail)
    answer = lenient(Client()).get(BASE, headers=tokens["viewer"])
    assert (answer.status_code, answer.headers["Content-Type"]) == (500, "application/problem+json")
    assert "secret" not in answer.content.decode()


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", f"{BASE}/topics", "{"),
        ("POST", f"{BASE}/topics", '{"name": "a b"}'),
        ("PATCH", f"{BASE}/topics/orders", '{"configs": 3}'),
        ("POST", f"{BASE}/topics/orders/partitions", "[]"),
        ("POST", f"{BASE}/groups/billing/offsets", '{"typo": 1}'),
        ("POST", f"{BASE}/groups/billing/offsets", '{"topic": "orders", "to": "latest", "dry_run": true}'),
        ("POST", f"{BASE}/brokers/1/explode", ""),
        ("POST", "/api/v1/jobs", '{"kind": "nonsense"}'),
        ("POST", "/api/v1/jobs", "x" * 1_100_000),
        ("DELETE", "/api/v1/jobs/999", ""),
        ("DELETE", "/api/v1/clusters/elsewhere/topics/x", ""),
    ],
)
def test_rest_judges_the_role_before_what_was_sent(tokens: dict[str, dict[str, str]], method: str, path: str, body: str) -> None:
    answer = Client().generic(method, path, body, content_type="application/json", headers=tokens["viewer"])
    assert answer.status_code == 403, answer.content
    assert "needs the role" in json.loads(answer.content)["detail"]
    assert AuditEntry.objects.get().outcome == "refused"


@pytest.mark.parametrize(
    ("path", "form"),
    [
        ("/new-topic", {"partitions": "many"}),
        ("/topics/orders/partitions", {"count": "x"}),
        ("/topics/nothing/delete", {}),
        ("/group-offsets/billing", {"topic": ""}),
        ("/group-offsets/billing", {"topic": "orders", "to": "latest", "preview": "1"}),
        ("/jobs/new", {"kind": "reassignment", "assignments": "?"}),
        ("/jobs/999/cancel", {}),
        ("/brokers/1/explode", {}),
        ("/settings/tokens/999/revoke", {}),
    ],
)
def test_pages_judge_the_role_before_the_form(people: dict[str, Client], path: str, form: dict[str, str]) -> None:
    answer = people["viewer"].post(path, form)
    assert answer.status_code == 403
    assert AuditEntry.objects.get().outcome == "refused"
