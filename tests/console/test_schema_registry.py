"""A cluster's schema registry: who sets it, what is refused, and that its password goes nowhere."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client

from console.models import AuditEntry, Cluster, SchemaRegistry

ONE = "/api/v1/clusters/local/schema-registry"
SET = {"url": "http://127.0.0.1:1", "username": "reader", "password": "hidden-word"}


def ask(headers: dict[str, str], method: str, path: str, body: Any = None) -> Any:
    data = b"" if body is None else json.dumps(body).encode()
    return Client().generic(method, path, data, content_type="application/json", headers=headers)


def test_an_admin_sets_tests_and_removes_it(tokens: dict[str, dict[str, str]], local: Cluster) -> None:
    admin = tokens["admin"]
    made = ask(admin, "PUT", ONE, SET)
    assert made.status_code == 200 and made.json()["has_password"] is True
    assert "hidden-word" not in SchemaRegistry.objects.get().secrets
    tried = ask(admin, "POST", f"{ONE}/test", {"url": SET["url"]}).json()
    assert tried["ok"] is False and "does not answer" in tried["sentence"]
    other = ask(admin, "PUT", ONE, {"url": "http://127.0.0.2:1"})
    assert other.status_code == 422 and other.json()["field"] == "password", "it would be given to another server"
    assert ask(admin, "DELETE", ONE).status_code == 204
    assert ask(admin, "GET", ONE).status_code == 404
    rows = list(AuditEntry.objects.values_list("action", "outcome", "before", "after"))
    assert {"set schema registry", "test schema registry", "remove schema registry"} <= {row[0] for row in rows}
    assert "hidden-word" not in str(rows) + made.content.decode()


@pytest.mark.parametrize("role", ["viewer", "operator"])
def test_only_an_admin_may(tokens: dict[str, dict[str, str]], local: Cluster, role: str) -> None:
    for method, path in (("GET", ONE), ("PUT", ONE), ("POST", f"{ONE}/test"), ("DELETE", ONE)):
        assert ask(tokens[role], method, path, SET if method in ("PUT", "POST") else None).status_code == 403


@pytest.mark.parametrize(
    "url", ["file:///etc/passwd", "http://a:b@x", "http://x/?a", "gopher://x", "", "http://x/../y", "http://169.254.1.1:bad"]
)
def test_what_is_no_address_is_refused(tokens: dict[str, dict[str, str]], local: Cluster, url: str) -> None:
    refused = ask(tokens["admin"], "PUT", ONE, {"url": url})
    assert refused.status_code == 422 and refused.json()["field"] == "url"
