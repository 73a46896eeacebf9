"""Alerts by REST: what is told, and who may silence and test."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client

from console.actions.alert_looks import look
from console.clock import now_ms
from console.gateway.sealing import unseal
from console.models import Alert, AlertDelivery, AlertDestination, AlertRule, AlertSilence, Cluster
from console.snapshot.read import Snapshot

BASE = "/api/v1/clusters/local"


@pytest.fixture(autouse=True)
def stage(shown: Any, local: Cluster) -> None:
    look(local, now_ms(), Snapshot("local"))


def ask(headers: dict[str, str], method: str, path: str, body: Any = None) -> Any:
    return Client().generic(method, path, b"" if body is None else json.dumps(body), "application/json", headers=headers)


def test_what_fires_is_told_with_whether_it_is_known_and_silenced(tokens: dict[str, dict[str, str]]) -> None:
    rule = AlertRule.objects.get(name="BrokerDown")
    Alert.objects.create(rule=rule, target="2", state=Alert.FIRING, since_ms=1, known_ms=2, is_known=False, value=1)
    made = ask(tokens["operator"], "POST", f"{BASE}/alert-silences", {"minutes": 5, "why": "a disk", "rule": rule.pk, "target": "2"})
    assert made.status_code == 201
    (row,) = ask(tokens["viewer"], "GET", f"{BASE}/alerts").json()["items"]
    assert (row["rule"], row["state"], row["target"], row["known_ms"], row["is_known"]) == ("BrokerDown", "firing", "broker 2", 2, False)
    assert row["silenced_by"] == "operator"
    assert len(ask(tokens["viewer"], "GET", f"{BASE}/alert-rules").json()["items"]) == AlertRule.objects.count()
    assert ask(tokens["operator"], "DELETE", f"{BASE}/alert-silences/{made.json()['id']}").status_code == 204
    assert ask(tokens["viewer"], "GET", f"{BASE}/alert-silences").json()["items"] == []


def test_who_may_silence_and_test(tokens: dict[str, dict[str, str]]) -> None:
    there = AlertDestination.objects.create(name="there", kind="slack", settings={"host": "h"}, set_by="x")
    assert ask(tokens["viewer"], "POST", f"{BASE}/alert-silences", {"minutes": 5, "why": "x"}).status_code == 403
    test = f"/api/v1/alert-destinations/{there.pk}/test"
    assert ask(tokens["operator"], "POST", test).status_code == 403
    assert not AlertSilence.objects.exists() and not AlertDelivery.objects.exists()
    assert ask(tokens["admin"], "POST", test).json()["last"] == "On its way."
    assert ask(tokens["admin"], "POST", "/api/v1/alert-destinations/999/test").status_code == 404
    (seen,) = ask(tokens["viewer"], "GET", "/api/v1/alert-destinations").json()["items"]
    assert seen["name"] == "there" and "secrets" not in seen


RULES = f"{BASE}/alert-rules"
DESTINATIONS = "/api/v1/alert-destinations"
LATE = {
    "name": "Billing is late", "figure": "group_lag_s", "comparison": ">", "threshold": 600, "for_s": 120,
    "severity": "warning", "sentence": "Late.",
}  # fmt: skip


def test_a_rule_is_made_changed_switched_and_deleted(tokens: dict[str, dict[str, str]]) -> None:
    other = AlertRule.objects.get(name="OfflinePartitions")
    assert ask(tokens["operator"], "POST", RULES, LATE).status_code == 403
    made = ask(tokens["admin"], "POST", RULES, {**LATE, "unless": other.pk})
    assert made.status_code == 201, made.content
    rule = made.json()
    assert (rule["threshold"], rule["unless"], rule["is_on"]) == (600.0, "OfflinePartitions", True)
    path = f"{RULES}/{rule['id']}"
    changed = ask(tokens["admin"], "PATCH", path, {"threshold": 900, "unless": None}).json()
    assert (changed["threshold"], changed["unless"], changed["for_s"], changed["name"]) == (900.0, None, 120, LATE["name"])
    assert ask(tokens["admin"], "PATCH", path, {"is_on": False}).json()["is_on"] is False
    assert ask(tokens["viewer"], "PATCH", path, {"is_on": True}).status_code == 403
    assert ask(tokens["admin"], "DELETE", path).status_code == 204
    assert ask(tokens["admin"], "PATCH", path, {"is_on": True}).status_code == 404
    assert ask(tokens["admin"], "DELETE", f"{RULES}/{other.pk}").status_code == 409, "a rule of every cluster"


@pytest.mark.parametrize(
    ("wrong", "field"),
    [({"figure": "weather"}, "figure"), ({"threshold": -1}, "threshold"), ({"comparison": "="}, "comparison"), ({"name": ""}, "name")],
)
def test_a_wrong_rule_is_refused_at_its_field(tokens: dict[str, dict[str, str]], wrong: dict[str, Any], field: str) -> None:
    answer = ask(tokens["admin"], "POST", RULES, {**LATE, **wrong})
    assert answer.status_code == 422 and answer.json()["field"] == field, answer.content
    assert not AlertRule.objects.filter(is_shipped=False).exists()


def test_a_rule_is_tried_on_the_past(tokens: dict[str, dict[str, str]]) -> None:
    query = "figure=group_lag&comparison=%3E&threshold=5&for_s=60"
    found = ask(tokens["viewer"], "GET", f"{RULES}/preview?{query}")
    assert found.status_code == 200 and found.json()["day"], found.content
    refused = ask(tokens["viewer"], "GET", f"{RULES}/preview?{query.replace('group_lag', 'offline')}")
    assert refused.status_code == 422 and refused.json()["field"] == "figure"


def test_a_destination_is_added_changed_and_removed_and_its_secrets_are_not_told(tokens: dict[str, dict[str, str]]) -> None:
    asked = {"name": "on call", "kind": "webhook", "url": "https://hooks.example.org/a", "secret": "s3cret"}
    assert ask(tokens["operator"], "POST", DESTINATIONS, asked).status_code == 403
    made = ask(tokens["admin"], "POST", DESTINATIONS, asked)
    assert made.status_code == 201 and b"s3cret" not in made.content and b"/a" not in made.content, made.content
    path = f"{DESTINATIONS}/{made.json()['id']}"
    kept = AlertDestination.objects.get().secrets
    changed = ask(tokens["admin"], "PATCH", path, {"name": "night", "is_on": False}).json()
    assert (changed["name"], changed["is_on"], changed["where"]) == ("night", False, "hooks.example.org")
    assert unseal(AlertDestination.objects.get().secrets) == unseal(kept), "what is left out stays"
    assert ask(tokens["admin"], "PATCH", path, {"url": "ftp://x"}).json()["field"] == "url"
    assert ask(tokens["admin"], "DELETE", path).status_code == 204
    assert not AlertDestination.objects.exists()


def test_a_mail_destination_has_its_own_fields(tokens: dict[str, dict[str, str]]) -> None:
    asked = {"name": "mail", "kind": "mail", "host": "smtp.example.org", "port": 587, "sender": "a@example.org", "to": ["b@example.org"]}
    made = ask(tokens["admin"], "POST", DESTINATIONS, {**asked, "reports": "news"})
    assert made.status_code == 201, made.content
    path = f"{DESTINATIONS}/{made.json()['id']}"
    changed = ask(tokens["admin"], "PATCH", path, {"to": ["c@example.org", "d@example.org"]}).json()
    assert changed["where"] == "smtp.example.org to c@example.org, d@example.org" and "new, worse" in changed["gets"]
    assert ask(tokens["admin"], "POST", DESTINATIONS, {**asked, "name": "other", "to": []}).json()["field"] == "to"
