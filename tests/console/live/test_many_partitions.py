"""Thousands of partitions: asked about before, and followed by a job when the cluster takes longer than a request may."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client
from msgspec.structs import replace

from broker_core.contract.partitions import Deletion
from console.gateway.errors import from_code
from console.models import AuditEntry, Job
from console.snapshot import read
from tests.support.openapi import check_answer

BASE = "/api/v1/clusters/local/topics"
WIDE = {"name": "wide", "partitions": "9999", "replication_factor": "3"}
TIMED_OUT = 7


def ask(headers: dict[str, str], method: str, path: str, body: Any = None) -> Any:
    """The answer, which is as the description says."""
    text = "" if body is None else json.dumps(body)
    answer = Client().generic(method, path, text, content_type="application/json", headers=headers)
    kind = answer.headers.get("Content-Type", "").partition(";")[0]
    check_answer(method, path, answer.status_code, kind, json.loads(answer.content) if "json" in kind else answer.content)
    return answer


@pytest.fixture(autouse=True)
def stage(shown: Any, kafka: Any, sent: Any) -> None:
    kafka.topics_ = {"orders": {p: [1, 2, 3] for p in range(3)}}


@pytest.fixture
def late(kafka: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Every change is taken, and not done in time."""

    def timed_out(*_args: Any, **_kwargs: Any) -> None:
        raise from_code(TIMED_OUT, None)

    for name in ("create_topic", "add_partitions", "delete_topic"):
        monkeypatch.setattr(f"console.gateway.kafka_cluster.KafkaCluster.{name}", timed_out)
    return kafka


def test_a_form_tells_the_load_and_asks_before_it_is_made(people: dict[str, Client], kafka: Any) -> None:
    answer = people["operator"].post("/new-topic", WIDE)
    said = answer.content.decode()
    assert answer.status_code == 200
    assert "more than 4 000 replicas (HIGHWATER_REPLICAS_WARN)" in said.replace("\u202f", " ").replace("\xa0", " ")
    assert "broker 1 from" in said
    assert 'name="confirm" value="yes"' in said
    assert not kafka.changes("create_topic")
    assert people["operator"].post("/new-topic", {**WIDE, "confirm": "yes"}).status_code == 303
    assert [call[1:4] for call in kafka.changes("create_topic")] == [("wide", 9999, 3)]


def test_growth_asks_as_well(people: dict[str, Client], tokens: Any, kafka: Any) -> None:
    assert "Add partitions to orders?" in people["operator"].post("/topics/orders/partitions", {"count": "9999"}).content.decode()
    answer = ask(tokens["operator"], "POST", f"{BASE}/orders/partitions", {"count": 9999})
    assert (answer.status_code, answer.json()["field"]) == (422, "confirm")
    assert not kafka.changes("add_partitions")
    assert ask(tokens["operator"], "POST", f"{BASE}/orders/partitions", {"count": 9999, "confirm": True}).status_code == 200
    assert people["operator"].post("/topics/orders/partitions", {"count": "9999", "confirm": "yes"}).status_code == 303
    assert kafka.changes("add_partitions") == [("add_partitions", "orders", 9999)] * 2


@pytest.mark.parametrize("limit", [0, 20_000])
def test_the_limit_is_a_setting(limit: int, people: dict[str, Client], kafka: Any, settings: Any) -> None:
    settings.REPLICAS_WARN = limit
    assert people["operator"].post("/new-topic", WIDE).status_code == 303


def test_a_few_partitions_are_not_asked_about(tokens: Any, kafka: Any) -> None:
    assert ask(tokens["operator"], "POST", BASE, {"name": "small", "partitions": 12, "replication_factor": 3}).status_code == 201


def test_a_preview_has_the_replicas_of_each_broker(tokens: Any) -> None:
    body = {"name": "wide", "partitions": 3000, "replication_factor": 3, "validate_only": True}
    changes = {row["label"]: row for row in ask(tokens["operator"], "POST", BASE, body).json()["changes"]}
    for broker in (1, 2, 3):
        row = changes[f"replicas on broker {broker}, about"]
        assert row["after"] - row["before"] == 3000


def test_rest_answers_202_with_the_job_for_what_goes_on(tokens: Any, late: Any) -> None:
    asked = [
        ("POST", BASE, {"name": "wide", "partitions": 500, "replication_factor": 3}, "topic_creation"),
        ("POST", f"{BASE}/orders/partitions", {"count": 500}, "topic_growth"),
        ("DELETE", f"{BASE}/orders", None, "topic_deletion"),
    ]
    for method, path, body, kind in asked:
        answer = ask(tokens["admin"], method, path, body)
        assert answer.status_code == 202, answer.content
        assert (answer.json()["kind"], answer.json()["state"]) == (kind, "queued")
        again = ask(tokens["admin"], method, path, body)
        assert again.json()["id"] == answer.json()["id"], "one job for one change"
    assert set(AuditEntry.objects.values_list("outcome", flat=True)) == {"done"}


def test_a_form_leads_to_the_job(people: dict[str, Client], late: Any) -> None:
    answer = people["operator"].post("/new-topic", {"name": "wide", "partitions": "500", "replication_factor": "3"})
    job = Job.objects.get()
    assert (answer.status_code, answer.url) == (303, f"/jobs/{job.pk}")  # type: ignore[attr-defined]
    assert people["viewer"].get(f"/jobs/{job.pk}").status_code == 200


def test_a_deletion_that_is_seen_going_on_is_followed(tokens: Any, kafka: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The brokers answered at once, and ten thousand partitions are still being removed."""
    topic = read.Snapshot("local").topic("orders")
    assert topic is not None
    going = replace(topic, deleting=Deletion((), False, "It is being deleted."))
    monkeypatch.setattr("console.snapshot.read.Snapshot.topic", lambda _self, _name: going)
    answer = ask(tokens["admin"], "DELETE", f"{BASE}/orders")
    assert (answer.status_code, answer.json()["kind"]) == (202, "topic_deletion")


def test_nobody_asks_for_such_a_job(tokens: Any) -> None:
    assert ask(tokens["admin"], "POST", "/api/v1/jobs", {"kind": "topic_creation"}).status_code == 422
