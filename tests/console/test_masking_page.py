"""The page of masking rules: who sees it, what it adds, changes and takes away, and how a record looks under them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client

from console.models import AuditEntry, Cluster, MaskRule
from console.searches import store
from workers.reader import child

PATH, REST = "/settings/masking", "/api/v1/clusters/local/mask-rules"
RULE = {"topics": "ord*", "part": "field", "expression": "$..card", "below": "operator"}
PAID = json.dumps({"order": 7, "card": "4111"})


@pytest.fixture(autouse=True)
def stage(shown: Any, kafka: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The pretended cluster; what is asked of the reader is read at once."""
    ask = store.ask

    def asked_and_read(search: Any) -> None:
        ask(search)
        child.read(search)

    monkeypatch.setattr(store, "ask", asked_and_read)


def test_only_admins_see_the_page_and_the_way_to_it(people: dict[str, Client]) -> None:
    for role, status in (("viewer", 403), ("operator", 403), ("admin", 200)):
        assert people[role].get(PATH).status_code == status
        assert people[role].post(f"{PATH}/new", RULE).status_code == (303 if role == "admin" else 403)
        assert (PATH.encode() in people[role].get("/settings").content) is (role == "admin")
        assert (f"{PATH}?topic=orders".encode() in people[role].get("/topics/orders").content) is (role == "admin")


def test_a_rule_is_added_changed_and_taken_away(people: dict[str, Client], local: Cluster) -> None:
    admin = people["admin"]
    admin.post(f"{PATH}/new", RULE)
    row = MaskRule.objects.get()
    assert b"ord*" in admin.get(f"{PATH}?topic=orders").content
    assert b"ord*" not in admin.get(f"{PATH}?topic=clicks").content
    admin.post(f"{PATH}/{row.pk}", {**RULE, "below": "admin", "expression": "$.card"})
    row.refresh_from_db()
    assert (row.below, row.expression, row.created_by) == ("admin", "$.card", "admin")
    entry = AuditEntry.objects.get(action="change what is hidden")
    assert (entry.before["below"], entry.after["below"], entry.outcome) == ("operator", "admin", "done")
    assert admin.post(f"{PATH}/{row.pk}/delete").status_code == 200 and MaskRule.objects.exists(), "it asks first"
    assert admin.post(f"{PATH}/{row.pk}/delete", {"confirm": "yes"}).status_code == 303
    assert not MaskRule.objects.exists()


def test_a_wrong_rule_keeps_what_was_typed_and_says_where(people: dict[str, Client]) -> None:
    answer = people["admin"].post(f"{PATH}/new", {**RULE, "expression": "$[["})
    assert answer.status_code == 422
    assert 'id="wrong-mask-expression"' in answer.content.decode() and 'value="$[["' in answer.content.decode()


@pytest.mark.parametrize(("role", "is_seen"), [("viewer", False), ("operator", True)])
def test_a_record_is_shown_as_a_role_would_see_it(people: dict[str, Client], local: Cluster, role: str, is_seen: bool) -> None:
    """The rule that is typed counts, and is not kept."""
    answer = people["admin"].post(f"{PATH}/new", {**RULE, "preview": "1", "role": role, "try_topic": "orders", "value": PAID})
    seen = answer.context["seen"].record
    assert (seen.value.masked, "4111" in seen.value.text) == (not is_seen, is_seen)
    assert not MaskRule.objects.exists()
    assert "4111" not in json.dumps(list(AuditEntry.objects.values_list("before", "after")))


def test_a_rule_is_tried_in_the_place_of_the_one_that_is_changed(people: dict[str, Client], local: Cluster) -> None:
    row = MaskRule.objects.create(cluster=local, created_by="admin", **{**RULE, "part": "value", "expression": ""})
    answer = people["admin"].post(f"{PATH}/{row.pk}", {**RULE, "preview": "1", "role": "viewer", "try_topic": "orders", "value": PAID})
    assert '"order": 7' in answer.context["seen"].record.value.text
    kept = people["admin"].post(f"{PATH}/new", {"topics": "orders", "part": "field", "preview": "1", "role": "viewer", "value": PAID})
    assert kept.context["seen"].record.value.text == "•••", "without an expression only what is kept counts"


@pytest.mark.parametrize(
    ("more", "field"), [({"try_topic": "ord*"}, "topic"), ({"value": ""}, "value"), ({"value": "x" * 70_000}, "value")]
)
def test_a_preview_says_what_it_cannot_show(people: dict[str, Client], more: dict[str, str], field: str) -> None:
    answer = people["admin"].post(f"{PATH}/new", {**RULE, "preview": "1", "role": "viewer", "try_topic": "orders", "value": PAID, **more})
    assert answer.context["form_error"]["field"] == field


def test_rest_changes_and_previews(tokens: dict[str, dict[str, str]], local: Cluster) -> None:
    def ask(role: str, method: str, path: str, body: Any) -> Any:
        return Client().generic(method, path, json.dumps(body).encode(), content_type="application/json", headers=tokens[role])

    made = ask("admin", "POST", REST, RULE).json()
    changed = ask("admin", "PUT", f"{REST}/{made['id']}", {**RULE, "part": "key", "expression": ""})
    assert (changed.status_code, changed.json()["part"]) == (200, "key")
    asked = {"topic": "orders", "key": "k", "value": PAID, "rule": RULE}
    seen = ask("admin", "POST", f"{REST}/preview", asked).json()
    assert seen["record"]["key"]["text"] == "•••" and "4111" not in seen["record"]["value"]["text"]
    assert {rule["part"] for rule in seen["rules"]} == {"key", "field"}
    instead = ask("admin", "POST", f"{REST}/preview", {**asked, "instead_of": made["id"]}).json()
    assert instead["record"]["key"]["text"] == "k"
    assert ask("operator", "PUT", f"{REST}/{made['id']}", RULE).status_code == 403
    assert ask("operator", "POST", f"{REST}/preview", asked).status_code == 403
    assert ask("admin", "PUT", f"{REST}/99999", RULE).status_code == 404
