"""Registering, testing, changing and deleting a cluster by page."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client

from console.gateway.connection import connection_of
from console.models import AuditEntry, Cluster, Job
from tests.support.kafka_listener import listening

NEW = {"id": "north", "name": "North", "bootstrap_servers": "127.0.0.1:1", "security_protocol": "PLAINTEXT", "colour": "violet"}
SASL = {**NEW, "security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "PLAIN", "sasl_username": "ann", "sasl_password": "pass-word"}
HTMX = {"HX-Request": "true"}


@pytest.fixture(autouse=True)
def stage(local: Cluster, redis: Any) -> None:
    """The own cluster, and an empty snapshot."""


@pytest.fixture
def admin(people: dict[str, Client]) -> Client:
    return people["admin"]


def errors(page: str) -> dict[str, str]:
    """What is said at fields, by field."""
    return {field: words for field, words in re.findall(r'id="wrong-cluster-(\w+)"[^>]*>([^<]*)</p>', page) if words}


def test_a_cluster_is_registered_and_its_pages_are_there(admin: Client) -> None:
    answer = admin.post("/clusters/new", {**SASL, "read_only": "yes"})
    assert (answer.status_code, answer.headers["Location"]) == (303, "/c/north/")
    made = Cluster.objects.get(pk="north")
    assert (made.colour, made.read_only, made.check_hostname) == ("violet", True, True)
    assert connection_of(made).sasl_password == "pass-word"
    page = admin.get("/c/north/").content.decode()
    assert "North is registered" in page
    assert "Nothing is known of this cluster yet" in page


def test_what_the_protocol_has_no_use_for_was_hidden_and_is_not_looked_at(admin: Client) -> None:
    assert admin.post("/clusters/new", {**SASL, "security_protocol": "PLAINTEXT", "ca_pem": "rubbish"}).status_code == 303
    made = Cluster.objects.get(pk="north")
    assert (made.sasl_username, made.secrets, made.ca_pem) == ("", "", "")


def test_what_is_wrong_stands_at_its_field_and_what_was_typed_stays(admin: Client) -> None:
    answer = admin.post("/clusters/new", {**SASL, "bootstrap_servers": "nonsense", "zookeeper": "z:2181"})
    page = answer.content.decode()
    assert answer.status_code == 422
    assert list(errors(page)) == ["bootstrap_servers"]
    assert "nonsense</textarea>" in page
    assert 'value="z:2181"' in page
    assert 'value="violet" checked' in page
    assert "pass-word" not in page
    assert not Cluster.objects.filter(pk="north").exists()


def test_with_htmx_only_the_answer_comes_so_that_a_typed_password_stays(admin: Client) -> None:
    wrong = admin.post("/clusters/new", {**SASL, "sasl_username": ""}, headers=HTMX)
    page = wrong.content.decode()
    assert wrong.status_code == 422
    assert "<form" not in page
    assert list(errors(page)) == ["sasl_username"]
    assert page.count('hx-swap-oob="true"') == page.count('id="wrong-cluster-') == 12
    done = admin.post("/clusters/new", SASL, headers=HTMX)
    assert (done.status_code, done.headers["HX-Redirect"]) == (204, "/c/north/")


def test_the_test_button_tells_and_registers_nothing(admin: Client) -> None:
    with listening(kafka_id="a-cluster") as one:
        page = admin.post("/clusters/new", {**NEW, "id": "", "name": "", "bootstrap_servers": one.server, "test": "1"}).content.decode()
        assert "1 of 1 bootstrap server answers" in page
        assert "a-cluster" in page
    page = admin.post("/clusters/new", {**NEW, "test": "1"}, headers=HTMX).content.decode()
    assert "127.0.0.1:1 refuses connections: nothing listens on this port." in page
    assert errors(page) == {}
    assert Cluster.objects.count() == 1
    assert [row.outcome for row in AuditEntry.objects.all()] == ["done", "done"]


def test_a_change_keeps_the_password_unless_one_is_typed(admin: Client) -> None:
    admin.post("/clusters/new", SASL)
    page = admin.get("/clusters/north").content.decode()
    assert 'value="ann"' in page
    assert "pass-word" not in page
    assert "the one that is kept stays" in page
    assert admin.post("/clusters/north", {**SASL, "name": "Nord", "sasl_password": ""}).headers["Location"] == "/clusters"
    found = Cluster.objects.get(pk="north")
    assert (found.name, connection_of(found).sasl_password) == ("Nord", "pass-word")
    answer = admin.post("/clusters/north", {**SASL, "bootstrap_servers": "other:1", "sasl_password": ""})
    assert list(errors(answer.content.decode())) == ["sasl_password"]


def test_deleting_wants_the_id_typed(admin: Client) -> None:
    admin.post("/clusters/new", NEW)
    answer = admin.post("/clusters/north/delete", {"confirm": "nort"})
    assert answer.status_code == 422
    assert "Type the cluster&#x27;s id, north" in answer.content.decode()
    Job.objects.create(cluster_id="north", kind="health_report", created_by="x")
    assert "1 job of north is under way" in admin.post("/clusters/north/delete", {"confirm": "north"}).content.decode()
    Job.objects.update(state=Job.SUCCEEDED)
    assert admin.post("/clusters/north/delete", {"confirm": "north"}).headers["Location"] == "/clusters"
    assert admin.get("/c/north/").status_code == 404


def test_the_own_cluster_has_no_form(admin: Client) -> None:
    assert admin.get("/clusters/local").status_code == 422
    assert admin.post("/clusters/local/delete", {"confirm": "local"}).status_code == 422
    assert admin.get("/clusters/nowhere").status_code == 404


@pytest.mark.parametrize("role", ["viewer", "operator"])
def test_only_admins_see_and_send_the_forms(people: dict[str, Client], role: str) -> None:
    people["admin"].post("/clusters/new", NEW)
    for path in ("/clusters/new", "/clusters/north"):
        assert people[role].get(path).status_code == 403
        assert people[role].post(path, NEW).status_code == 403
    assert people[role].post("/clusters/north/delete", {"confirm": "north"}).status_code == 403
    assert people[role].get("/clusters").status_code == 200
