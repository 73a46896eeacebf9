"""The page of a cluster's schema registry, and a schema's own page, beside a registry that speaks TLS and wants a user."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client

from console.models import AuditEntry, Cluster, SchemaRegistry
from tests.support.kafka_listener import Certificate
from tests.support.schema_registry import Registry, running_registry

PATH = "/settings/schema-registry"
AVRO = {"type": "record", "name": "Paid", "fields": [{"name": "card", "type": "long"}]}
PASSWORD = "its-hidden-word"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    return Certificate(tmp_path_factory.mktemp("tls"), "127.0.0.1")


@pytest.fixture
def registry(certificate: Certificate) -> Iterator[Registry]:
    with running_registry(certificate.context(), f"reader:{PASSWORD}") as server:
        server.add("orders-value", {"schema": json.dumps(AVRO)})
        server.add("<b>x</b>-value", {"schema": '"<script>alert(1)</script>"', "schemaType": "JSON"})
        yield server


@pytest.fixture(autouse=True)
def stage(shown: Any) -> None:
    """The pretended cluster."""


def form(registry: Registry, certificate: Certificate, **more: str) -> dict[str, str]:
    return {"url": registry.url, "username": "reader", "password": PASSWORD, "ca_pem": certificate.pem, **more}


def test_it_is_tried_set_and_taken_away(people: dict[str, Client], local: Cluster, registry: Registry, certificate: Certificate) -> None:
    admin = people["admin"]
    tried = admin.post(PATH, form(registry, certificate, test="1")).content.decode()
    assert "it has 2 subjects" in tried and not SchemaRegistry.objects.exists()
    assert admin.post(PATH, form(registry, certificate)).status_code == 303
    page = admin.get(PATH).content.decode()
    assert registry.url in page and PASSWORD not in page + tried
    assert registry.url in admin.get("/settings").content.decode()
    assert admin.post(PATH, form(registry, certificate, password="")).status_code == 303, "an empty password is the one that is kept"
    assert "it has 2 subjects" in admin.post(PATH, form(registry, certificate, password="", test="1")).content.decode()
    assert admin.post(f"{PATH}/delete").status_code == 200 and SchemaRegistry.objects.exists(), "it asks first"
    assert admin.post(f"{PATH}/delete", {"confirm": "yes"}).status_code == 303
    assert not SchemaRegistry.objects.exists()
    assert PASSWORD not in str(list(AuditEntry.objects.values_list("before", "after")))


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"password": "another"}, "refuses the user and password"),
        ({"ca_pem": ""}, "shows a certificate that is not trusted"),
        ({"url": "https://127.0.0.1:1"}, "does not answer"),
    ],
)
def test_what_stands_in_the_way_is_told(
    people: dict[str, Client], registry: Registry, certificate: Certificate, changed: dict[str, str], said: str
) -> None:
    answer = people["admin"].post(PATH, {**form(registry, certificate, test="1"), **changed})
    assert said in answer.content.decode()


def test_plain_words_to_a_port_of_tls(people: dict[str, Client], registry: Registry, certificate: Certificate) -> None:
    plain = form(registry, certificate, url=registry.url.replace("https:", "http:"), ca_pem="", test="1")
    assert "does not answer" in people["admin"].post(PATH, plain).content.decode()


def test_a_wrong_field_says_so_with_what_was_typed(people: dict[str, Client]) -> None:
    answer = people["admin"].post(PATH, {"url": "file:///etc/passwd", "username": "reader"})
    page = answer.content.decode()
    assert answer.status_code == 422 and 'value="file:///etc/passwd"' in page and "Give the address as" in page
    partial = people["admin"].post(PATH, {"url": "http://x", "password": "y"}, headers={"HX-Request": "true"})
    assert partial.status_code == 422 and 'id="wrong-registry-username" hx-swap-oob' in partial.content.decode()


def test_only_admins_set_it_and_whoever_reads_records_sees_a_schema(
    people: dict[str, Client], local: Cluster, registry: Registry, certificate: Certificate
) -> None:
    assert people["viewer"].get("/schemas/1").status_code == 404
    people["admin"].post(PATH, form(registry, certificate))
    for role in ("viewer", "operator"):
        assert people[role].get(PATH).status_code == people[role].post(PATH, {"url": "http://x"}).status_code == 403
        assert PATH.encode() not in people[role].get("/settings").content
    page = people["viewer"].get("/schemas/1").content.decode()
    assert "Avro" in page and "orders-value" in page and "&quot;card&quot;" in page and "version 1" in page
    hostile = people["viewer"].get("/schemas/2").content.decode()
    assert "<script>alert" not in hostile and "<b>x</b>" not in hostile and "JSON Schema" in hostile
    assert people["viewer"].get("/schemas/3").status_code == 404
    assert people["viewer"].get("/schemas/99999999999").status_code == 404


def test_rest_has_a_schema_with_its_subjects(
    people: dict[str, Client], tokens: dict[str, dict[str, str]], local: Cluster, registry: Registry, certificate: Certificate
) -> None:
    people["admin"].post(PATH, form(registry, certificate))
    found = Client().get("/api/v1/clusters/local/schemas/1", headers=tokens["viewer"]).json()
    assert (found["id"], found["type"], json.loads(found["text"])) == (1, "AVRO", AVRO)
    assert (found["references"], found["subjects"]) == ([], [{"subject": "orders-value", "version": 1}])
    assert Client().get("/api/v1/clusters/local/schemas/9", headers=tokens["viewer"]).status_code == 404
