"""Registered clusters: what may be entered, that secrets stay inside, and what remains when one is deleted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from console.actions.clusters import register
from console.gateway.connection import connection_of
from console.gateway.sealing import SecretsUnreadable
from console.models import AuditEntry, Cluster, Event, Job
from console.roles import ADMIN, Actor
from console.snapshot import keys
from tests.console.test_api import ask, assert_problem
from tests.support.kafka_listener import Certificate, listening

ALL = "/api/v1/clusters"
NEW = {"id": "north", "name": "North", "bootstrap_servers": "kafka1.example.org:9092"}
SASL = {**NEW, "security_protocol": "SASL_SSL", "sasl_mechanism": "SCRAM-SHA-512", "sasl_username": "ann", "sasl_password": "pass-word"}
SOMEBODY = Actor("somebody", ADMIN, "page")


@pytest.fixture(autouse=True)
def stage(local: Cluster, redis: Any) -> None:
    """The system's own cluster, and an empty snapshot."""


@pytest.fixture
def admin(tokens: dict[str, dict[str, str]]) -> dict[str, str]:
    return tokens["admin"]


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    return Certificate(tmp_path_factory.mktemp("tls"), "127.0.0.1")


def test_a_cluster_is_registered_changed_and_deleted(admin: dict[str, str], redis: Any) -> None:
    given = {**NEW, "bootstrap_servers": "b:9092, a:9092\n[::1]:9093 b:9092", "zookeeper": "z:2181/kafka", "colour": "violet"}
    made = json.loads(ask(admin, "POST", ALL, given).content)
    assert (made["bootstrap_servers"], made["zookeeper"], made["colour"]) == ("b:9092,a:9092,[::1]:9093", "z:2181/kafka", "violet")
    assert (made["is_local"], made["read_only"], made["has_secrets"], made["as_of"]["stale"]) == (False, False, False, True)
    changed = json.loads(ask(admin, "PATCH", f"{ALL}/north", {"read_only": True}).content)
    assert (changed["read_only"], changed["name"]) == (True, "North")
    north = Cluster.objects.get(pk="north")
    Event.objects.create(cluster=north, at_ms=1, kind="broker_died", level="bad", sentence="x")
    redis.hset(*keys.place("north", "topic/orders"), "{}")
    redis.hset(*keys.place("local", "topic/orders"), "{}")
    assert ask(admin, "DELETE", f"{ALL}/north").status_code == 204
    assert [cluster.pk for cluster in Cluster.objects.all()] == ["local"]
    assert redis.keys("*") == [keys.place("local", "topic/orders")[0]]


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"id": "No"}, "id"),
        ({"id": "a" * 41}, "id"),
        ({"id": "-a"}, "id"),
        ({"id": "test"}, "id"),
        ({"id": "local"}, "id"),
        ({"name": " "}, "name"),
        ({"name": "a\nb"}, "name"),
        ({"name": "x" * 61}, "name"),
        ({"name": "LOCAL"}, "name"),
        ({"bootstrap_servers": ""}, "bootstrap_servers"),
        ({"bootstrap_servers": "kafka"}, "bootstrap_servers"),
        ({"bootstrap_servers": "kafka:0"}, "bootstrap_servers"),
        ({"bootstrap_servers": "kafka:65536"}, "bootstrap_servers"),
        ({"bootstrap_servers": "http://kafka:9092"}, "bootstrap_servers"),
        ({"bootstrap_servers": "ka\0fka:9092"}, "bootstrap_servers"),
        ({"bootstrap_servers": ",".join(f"k{n}:1" for n in range(21))}, "bootstrap_servers"),
        ({"zookeeper": "/kafka"}, "zookeeper"),
        ({"zookeeper": "z:2181/ka fka"}, "zookeeper"),
        ({"zookeeper": "z"}, "zookeeper"),
        ({"security_protocol": "TLS"}, "security_protocol"),
        ({"security_protocol": "SASL_SSL"}, "sasl_mechanism"),
        ({"security_protocol": "SASL_SSL", "sasl_mechanism": "PLAIN"}, "sasl_username"),
        ({"security_protocol": "SASL_SSL", "sasl_mechanism": "PLAIN", "sasl_username": "ann"}, "sasl_password"),
        ({"sasl_password": "pass-word"}, "sasl_password"),
        ({"security_protocol": "SSL", "sasl_username": "ann"}, "sasl_username"),
        ({"ca_pem": "-----BEGIN CERTIFICATE-----"}, "ca_pem"),
        ({"security_protocol": "SSL", "ca_pem": "nothing"}, "ca_pem"),
        ({"security_protocol": "SSL", "ca_pem": "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----"}, "ca_pem"),
        ({"security_protocol": "SSL", "certificate_pem": "-----BEGIN x"}, "key_pem"),
        ({"security_protocol": "SSL", "key_pem": "-----BEGIN x"}, "certificate_pem"),
        ({"security_protocol": "SSL", "certificate_pem": "-----BEGIN x", "key_pem": "-----BEGIN y"}, "certificate_pem"),
        ({"colour": "red"}, "colour"),
        ({"read_only": 1}, "read_only"),
        ({"is_local": True}, "is_local"),
    ],
)
def test_what_is_wrong_is_told_at_its_field(admin: dict[str, str], wrong: dict[str, Any], field: str) -> None:
    found = assert_problem(ask(admin, "POST", ALL, {**NEW, **wrong}), 422)
    assert (found["code"], found["field"].split(".")[-1]) == ("invalid", field)
    assert Cluster.objects.count() == 1


def test_a_key_must_fit_and_be_readable(admin: dict[str, str], certificate: Certificate, tmp_path: Path) -> None:
    other = Certificate(tmp_path, "other")
    given = {**NEW, "security_protocol": "SSL", "certificate_pem": certificate.pem}
    for key, words in ((other.key_pem, "belongs to another certificate"), (certificate.locked_key_pem, "is encrypted")):
        found = assert_problem(ask(admin, "POST", ALL, {**given, "key_pem": key}), 422)
        assert found["field"] == "key_pem"
        assert words in found["detail"]
    assert ask(admin, "POST", ALL, {**given, "key_pem": certificate.key_pem}).status_code == 201
    assert connection_of(Cluster.objects.get(pk="north")).key_pem == certificate.key_pem.strip()


def test_names_are_each_ones_own_and_so_many_at_most(admin: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Cluster, "LIMIT", 2)
    assert ask(admin, "POST", ALL, NEW).status_code == 201
    assert assert_problem(ask(admin, "POST", ALL, {**NEW, "name": "Other"}), 422)["field"] == "id"
    assert assert_problem(ask(admin, "POST", ALL, {**NEW, "id": "other", "name": "north"}), 422)["field"] == "name"
    assert "There are 2 clusters" in assert_problem(ask(admin, "POST", ALL, {**NEW, "id": "other", "name": "Other"}), 409)["detail"]


def test_secrets_are_sealed_and_never_told(
    admin: dict[str, str], certificate: Certificate, tokens: Any, caplog: pytest.LogCaptureFixture
) -> None:
    given = {**SASL, "bootstrap_servers": "127.0.0.1:1", "certificate_pem": certificate.pem, "key_pem": certificate.key_pem}
    said = [ask(admin, "POST", ALL, given)]
    said += [ask(admin, "PATCH", f"{ALL}/north", {"sasl_password": "other-word"})]
    said += [ask(admin, "POST", f"{ALL}/test", {"id": "north"}), ask(admin, "POST", f"{ALL}/test", given)]
    said += [ask(admin, "PATCH", f"{ALL}/north", {"sasl_password": "pass-word" * 200}), ask(tokens["viewer"], "GET", ALL)]
    said += [ask(admin, "PATCH", f"{ALL}/north", {"security_protocol": "PLAINTEXT", "sasl_password": "pass-word"})]
    assert [answer.status_code for answer in said] == [201, 200, 200, 200, 422, 200, 422]
    told = [answer.content.decode() for answer in said] + [
        json.dumps([row.before, row.after, row.error]) for row in AuditEntry.objects.all()
    ]
    told += [str(list(Cluster.objects.filter(pk="north").values())), caplog.text]
    body = "".join(certificate.key_pem.split()[3:6])
    for secret in ("pass-word", "other-word", body[:40]):
        assert not [text for text in told if secret in text]
    entered = [row.after for row in AuditEntry.objects.filter(action__in=["register cluster", "change cluster"], outcome="done")]
    assert [row["sasl_password"] for row in entered] == ["set", "set"]
    found = connection_of(Cluster.objects.get(pk="north"))
    assert (found.sasl_password, found.key_pem) == ("other-word", certificate.key_pem.strip())


def test_a_password_is_not_given_to_another_server(admin: dict[str, str]) -> None:
    """Who may change a registration may not read its password by letting it be sent to a server of their own."""
    ask(admin, "POST", ALL, SASL)
    for given in (
        {"bootstrap_servers": "mine:9092"},
        {"security_protocol": "SASL_PLAINTEXT"},
        {"sasl_mechanism": "PLAIN"},
        {"check_hostname": False},
    ):
        for method, path, body in (("PATCH", f"{ALL}/north", given), ("POST", f"{ALL}/test", {"id": "north", **given})):
            found = assert_problem(ask(admin, method, path, body), 422)
            assert (found["field"], "Enter the password again" in found["detail"]) == ("sasl_password", True)
    assert ask(admin, "PATCH", f"{ALL}/north", {"bootstrap_servers": "k2:9092", "sasl_password": "new"}).status_code == 200
    assert connection_of(Cluster.objects.get(pk="north")).sasl_password == "new"
    assert json.loads(ask(admin, "PATCH", f"{ALL}/north", {"security_protocol": "PLAINTEXT"}).content)["has_secrets"] is False
    assert connection_of(Cluster.objects.get(pk="north")).sasl_password == ""


def test_with_another_secret_key_what_was_sealed_is_asked_for_again(admin: dict[str, str], settings: Any) -> None:
    ask(admin, "POST", ALL, SASL)
    settings.SECRET_KEY = "another-key-of-more-than-forty-characters-it-is"
    with pytest.raises(SecretsUnreadable):
        connection_of(Cluster.objects.get(pk="north"))
    found = assert_problem(ask(admin, "PATCH", f"{ALL}/north", {"name": "Other"}), 422)
    assert "an admin has to enter it again" in found["detail"]
    assert ask(admin, "PATCH", f"{ALL}/north", {"sasl_password": "again"}).status_code == 200
    assert connection_of(Cluster.objects.get(pk="north")).sasl_password == "again"


def test_the_own_cluster_is_not_changed_here(admin: dict[str, str]) -> None:
    for method, body in (("PATCH", {"name": "x"}), ("DELETE", None)):
        found = assert_problem(ask(admin, method, f"{ALL}/local", body), 422)
        assert "set by the environment" in found["detail"]
    assert Cluster.objects.get().name == "local"


def test_a_cluster_with_jobs_under_way_is_not_deleted(admin: dict[str, str]) -> None:
    north = register(SOMEBODY, "north", {"name": "North", "bootstrap_servers": "k:1"})
    job = Job.objects.create(cluster=north, kind="health_report", created_by="x")
    assert "1 job of north is under way" in assert_problem(ask(admin, "DELETE", f"{ALL}/north"), 409)["detail"]
    Job.objects.filter(pk=job.pk).update(state=Job.SUCCEEDED)
    assert ask(admin, "DELETE", f"{ALL}/north").status_code == 204


def test_a_test_registers_nothing_and_keeps_what_the_cluster_calls_itself(admin: dict[str, str]) -> None:
    with listening(kafka_id="first") as one:
        given = {"bootstrap_servers": one.server}
        assert json.loads(ask(admin, "POST", f"{ALL}/test", given).content)["kafka_id"] == "first"
        assert Cluster.objects.count() == 1
        ask(admin, "POST", ALL, {**NEW, **given})
        assert json.loads(ask(admin, "POST", f"{ALL}/test", {"id": "north"}).content)["level"] == "ok"
        one.kafka_id = "second"
        found = json.loads(ask(admin, "POST", f"{ALL}/test", {"id": "north"}).content)
    assert (found["level"], found["remarks"]) == ("warn", ["This is another cluster than before: it calls itself second, and was first."])
    assert json.loads(ask(admin, "GET", f"{ALL}/north").content)["kafka_id"] == "first"
    assert json.loads(ask(admin, "PATCH", f"{ALL}/north", {"bootstrap_servers": "k:1"}).content)["kafka_id"] is None
    assert AuditEntry.objects.filter(action="test cluster", outcome="done").count() == 3


def test_only_admins_register_and_test(tokens: dict[str, dict[str, str]]) -> None:
    register(SOMEBODY, "north", {"name": "North", "bootstrap_servers": "k:1"})
    for role in ("viewer", "operator"):
        for method, path in (("POST", ALL), ("POST", f"{ALL}/test"), ("PATCH", f"{ALL}/north"), ("DELETE", f"{ALL}/north")):
            assert_problem(ask(tokens[role], method, path), 403)
            assert_problem(ask({}, method, path), 401)
    assert Cluster.objects.filter(pk="north").exists()
