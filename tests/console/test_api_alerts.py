"""Alerts by REST: what is told, and who may silence and test."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client

from console.actions.alert_looks import look
from console.clock import now_ms
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
