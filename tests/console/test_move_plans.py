"""Plans of moves by REST: what is chosen, what is refused, and that what is answered starts a job as it is."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client

from console.models import Job
from tests.support.openapi import check_answer

PATH = "/api/v1/clusters/local/plans"


@pytest.fixture(autouse=True)
def stage(shown: Any, kafka: Any, sent: Any) -> None:
    """In the snapshot every partition of orders lies on 1, 2, 3."""
    kafka.topics_ = {"orders": {p: [1, 2, 3] for p in range(3)}}


def ask(headers: dict[str, str], body: Any, path: str = PATH) -> Any:
    answer = Client(headers=headers).post(path, json.dumps(body), content_type="application/json")
    check_answer("POST", path, answer.status_code, answer.headers["content-type"].partition(";")[0], answer.json())
    return answer


def test_a_plan_is_given_to_a_job_as_it_is(tokens: dict[str, dict[str, str]]) -> None:
    found = ask(tokens["viewer"], {"topics": ["orders"], "replication_factor": 2}).json()
    rows = found["reassignment"]["partitions"]
    assert [row["topic"] for row in rows] == ["orders"] * len(rows)
    assert {len(row["replicas"]) for row in rows} == {2}
    assert found["sentence"].startswith(f"{len(rows)} partition")
    assert [move["replicas"] for move in found["plan"]["moves"]] == [row["replicas"] for row in rows]
    assert not Job.objects.exists(), "nothing is started by a plan"
    job = ask(tokens["operator"], {"kind": "reassignment", "assignments": rows}, "/api/v1/jobs")
    assert (job.status_code, Job.objects.get().params) == (202, {"assignments": rows})


def test_only_the_partitions_that_are_named(tokens: dict[str, dict[str, str]]) -> None:
    found = ask(tokens["viewer"], {"partitions": [{"topic": "orders", "partition": 0}], "replication_factor": 1}).json()
    assert [move["partition"] for move in found["plan"]["moves"]] == [0]


def test_a_broker_is_emptied_of_all_topics(tokens: dict[str, dict[str, str]]) -> None:
    found = ask(tokens["viewer"], {"away": [3], "replication_factor": 2}).json()
    tallies = {one["broker_id"]: one["replicas_after"] for one in found["plan"]["brokers"]}
    assert tallies[3] == 0
    assert len(found["plan"]["moves"]) > 3, "of more topics than one"


def test_a_balance_of_the_cluster_says_what_each_move_is_for_and_what_it_does_not_reach(tokens: dict[str, dict[str, str]]) -> None:
    found = ask(tokens["viewer"], {"balance": ["leaders", "replicas", "traffic"], "away": [3], "replication_factor": 2}).json()
    plan = found["plan"]
    reasons = {reason for move in plan["moves"] for reason in move["serves"]}
    assert "the replication factor" in reasons
    assert reasons <= {"a broker that is emptied", "the replication factor", "leaders", "replicas"}
    assert all(3 not in move["replicas"] and len(move["replicas"]) == 2 for move in plan["moves"])
    assert [each["aim"] for each in plan["unmet"]] == ["traffic"], "nobody tells it of a partition"
    assert plan["unmet"][0]["why"] in found["sentence"]
    assert {row["aim"] for row in plan["shares"]["1"]} == {"replicas", "leaders", "disk", "traffic"}


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "goal"),
        ({"balance": ["beauty"]}, "balance.0"),
        ({"balance": ["disk"], "away": [3], "instead": 2}, "instead"),
        ({"to": [1]}, "topics"),
        ({"topics": ["nothing"], "to": [1]}, "topics"),
        ({"partitions": [{"topic": "orders", "partition": 99}], "to": [1]}, "partitions"),
        ({"topics": ["orders"], "to": [77]}, "to"),
        ({"topics": ["orders"], "replication_factor": 0}, "replication_factor"),
        ({"topics": ["orders"], "where": "there"}, "where"),
    ],
)
def test_what_cannot_be_planned_names_its_field(tokens: dict[str, dict[str, str]], body: Any, field: str) -> None:
    answer = ask(tokens["viewer"], body)
    assert (answer.status_code, answer.json()["field"]) == (422, field)


def test_nobody_plans_without_a_token() -> None:
    assert ask({}, {"topics": ["orders"], "to": [1]}).status_code == 401
