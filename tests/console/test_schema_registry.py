"""A cluster's schema registry: who sets it, what is refused, and that its password goes nowhere."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client

from console.gateway import schema_registry
from console.gateway.schema_registry import REFERENCE_DEPTH_MAX, REFERENCES_MAX, TEXT_BYTES_MAX, Unavailable
from console.models import AuditEntry, Cluster, SchemaRegistry
from tests.support.schema_registry import Registry, running_registry

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


# --- what a registry may answer


@pytest.fixture
def registry() -> Iterator[Registry]:
    with running_registry() as found:
        yield found


def needing(*subjects: str) -> dict[str, Any]:
    return {"schema": '"int"', "references": [{"name": f"name of {subject}", "subject": subject, "version": 1} for subject in subjects]}


def test_what_a_schema_refers_to_comes_before_it(registry: Registry) -> None:
    registry.add("a/b", {"schema": '"a"'})
    registry.add("middle", needing("a/b"))
    number = registry.add("top", needing("middle", "a/b"))
    found = schema_registry.SchemaRegistry(registry.url).schema(number)
    assert found.references == (("name of a/b", '"a"'), ("name of middle", '"int"')), "each once, whoever needs it later"
    assert found.subjects == (("top", 1),)


@pytest.mark.parametrize(
    ("schemas", "said"),
    [
        ({"itself": needing("itself")}, f"more than {REFERENCE_DEPTH_MAX} schemas deep"),
        ({"one": needing("other"), "other": needing("one")}, f"more than {REFERENCE_DEPTH_MAX} schemas deep"),
        ({f"s{n}": {"schema": "1"} for n in range(REFERENCES_MAX + 1)}, f"more than {REFERENCES_MAX} schemas"),
        ({"gone": needing("nobody")}, "Subject not found"),
        ({"large": {"schema": "x" * (TEXT_BYTES_MAX + 1)}}, "1 MiB"),
        ({"strange": {"schema": "1", "schemaType": "COBOL"}}, "COBOL"),
        ({"other": {"schema": 5}}, "answers otherwise than a schema registry does"),
    ],
    ids=["itself", "round", "many", "gone", "large", "strange", "other"],
)
def test_a_poison_schema_is_refused_in_words(registry: Registry, schemas: dict[str, dict[str, Any]], said: str) -> None:
    numbers = [registry.add(name, schema) for name, schema in schemas.items()]
    last = registry.add("top", needing(*schemas)) if len(schemas) > REFERENCE_DEPTH_MAX else numbers[0]
    with pytest.raises(Unavailable) as refused:
        schema_registry.SchemaRegistry(registry.url).schema(last)
    assert said in refused.value.message
