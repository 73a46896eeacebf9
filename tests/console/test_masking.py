"""Rules that hide parts of records: who makes them, whom they are for, and what of a search they close."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client

from console.actions.masking import rules_for
from console.actions.records import search_or_fail, search_records
from console.models import AuditEntry, Cluster
from console.queries import NotFound
from console.roles import Actor
from console.rules.records.masking import Rule
from console.rules.records.query import Query

ALL = "/api/v1/clusters/local/mask-rules"
CARD = {"topics": "ord*", "part": "field", "expression": "$..card", "below": "operator"}


@pytest.fixture(autouse=True)
def stage(shown: Any, kafka: Any) -> None:
    """The pretended cluster."""


def actor(role: str) -> Actor:
    return Actor(role, role, "page")


def ask(headers: dict[str, str], method: str, path: str, body: Any = None) -> Any:
    data = b"" if body is None else json.dumps(body).encode()
    return Client().generic(method, path, data, content_type="application/json", headers=headers)


def test_an_admin_hides_a_field_and_shows_it_again(tokens: dict[str, dict[str, str]], local: Cluster) -> None:
    made = ask(tokens["admin"], "POST", ALL, CARD)
    assert made.status_code == 201
    assert rules_for(actor("viewer"), local, "orders") == (Rule("field", "$..card"),)
    assert rules_for(actor("operator"), local, "orders") == ()
    assert rules_for(actor("viewer"), local, "clicks") == ()
    assert [row["topics"] for row in ask(tokens["admin"], "GET", ALL).json()["items"]] == ["ord*"]
    assert AuditEntry.objects.filter(action="hide parts of records", outcome="done").exists()
    assert ask(tokens["admin"], "DELETE", f"{ALL}/{made.json()['id']}").status_code == 204
    assert rules_for(actor("viewer"), local, "orders") == ()


@pytest.mark.parametrize("role", ["viewer", "operator"])
def test_only_an_admin_sees_and_makes_rules(tokens: dict[str, dict[str, str]], role: str) -> None:
    for method, path, body in (("GET", ALL, None), ("POST", ALL, CARD), ("DELETE", f"{ALL}/1", None)):
        assert ask(tokens[role], method, path, body).status_code == 403


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"expression": "$["}, "expression"),
        ({"expression": ""}, "expression"),
        ({"part": "pattern", "expression": "(?=x)"}, "expression"),
        ({"part": "pattern", "expression": "x*"}, "expression"),
        ({"part": "value"}, "expression"),
        ({"topics": "a b"}, "topics"),
        ({"below": "viewer"}, "below"),
        ({"part": "all"}, "part"),
    ],
)
def test_a_rule_that_cannot_be_is_refused_by_name(tokens: dict[str, dict[str, str]], more: dict[str, str], field: str) -> None:
    answer = ask(tokens["admin"], "POST", ALL, {**CARD, **more})
    assert (answer.status_code, answer.json()["field"]) == (422, field)


def test_results_are_shared_only_with_those_from_whom_the_same_is_hidden(tokens: dict[str, dict[str, str]], local: Cluster) -> None:
    ask(tokens["admin"], "POST", ALL, CARD)
    search = search_records(actor("admin"), local, "orders", Query())
    assert search_or_fail(actor("operator"), local, search.id) == search
    with pytest.raises(NotFound):
        search_or_fail(actor("viewer"), local, search.id)
    for path in ("", "/records", "/records.ndjson", "/records.csv"):
        assert ask(tokens["viewer"], "GET", f"/api/v1/clusters/local/searches/{search.id}{path}").status_code == 404
        assert ask(tokens["operator"], "GET", f"/api/v1/clusters/local/searches/{search.id}{path}").status_code == 200


def test_a_page_of_another_role_searches_anew(people: dict[str, Client], tokens: dict[str, dict[str, str]], local: Cluster) -> None:
    ask(tokens["admin"], "POST", ALL, CARD)
    search = search_records(actor("admin"), local, "orders", Query())
    path = f"/topics/orders/records?search={search.id}"
    assert people["operator"].get(path).context["search"] == search
    theirs = people["viewer"].get(path).context["search"]
    assert theirs.id != search.id and theirs.rules == (Rule("field", "$..card"),)
    for view in ("found", "download"):
        assert people["viewer"].get(f"/topics/orders/records/{view}?search={search.id}").status_code == 404
