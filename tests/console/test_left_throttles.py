"""Throttles that were left set are found and taken back; those that a job or a move uses stay."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client

from console.actions.left_throttles import clear_left, throttles_set
from console.models import AuditEntry, Cluster, Job
from console.roles import Actor
from console.rules.throttle import FETCHERS, LEADER_RATE
from tests.console.test_api import BASE
from tests.support.openapi import check_answer

PATH = f"{BASE}/throttles"
ACTOR = Actor("someone", "operator", "api")


@pytest.fixture(autouse=True)
def stage(local: Cluster, shown: Any, kafka: Any, sent: Any) -> None:
    kafka.topics_ = {"orders": {0: [1, 2], 1: [1, 2]}, "clicks": {0: [2, 3]}}
    kafka.configs = {"orders": {"retention.ms": "5", FETCHERS: "0:1"}, "clicks": {FETCHERS: "*"}}
    kafka.broker_configs_ = {1: {LEADER_RATE: "7", "log.cleaner.threads": "2"}, 3: {LEADER_RATE: "9"}}


def used(cluster: Cluster) -> dict[str, str | None]:
    return {one.name: one.in_use for one in throttles_set(cluster)}


def moving_job(cluster: Cluster, step: str, plan: dict[str, Any]) -> Job:
    params = {"assignments": [{"topic": "orders", "partition": 0, "replicas": [1, 3]}], "throttle": 5}
    return Job.objects.create(cluster=cluster, kind="reassignment", state=Job.RUNNING, step=step, params=params, plan=plan)


def test_what_nothing_uses_is_cleared_and_told_with_what_it_was(local: Cluster, kafka: Any) -> None:
    assert used(local) == {"orders": None, "clicks": None, "1": None, "3": None}
    cleared = clear_left(ACTOR, local)
    assert [(one.name, one.settings, one.error) for one in cleared] == [
        ("clicks", {FETCHERS: "*"}, None),
        ("orders", {FETCHERS: "0:1"}, None),
        ("1", {LEADER_RATE: "7"}, None),
        ("3", {LEADER_RATE: "9"}, None),
    ]
    assert (kafka.configs["orders"], kafka.broker_configs_[1]) == ({"retention.ms": "5"}, {"log.cleaner.threads": "2"})
    entry = AuditEntry.objects.latest("id")
    assert (entry.action, entry.outcome, entry.before["broker 1"]) == ("clear throttles left behind", "done", {LEADER_RATE: "7"})
    assert clear_left(ACTOR, local) == []


def test_what_a_job_has_set_stays(local: Cluster, kafka: Any) -> None:
    job = moving_job(local, "watch", {"throttle": {"rate": 5, "before": {"1": {}}, "topics": {"orders": {}}}})
    assert used(local) == {"orders": f"job {job.pk} has set it", "clicks": None, "1": f"job {job.pk} has set it", "3": None}
    assert {one.name for one in clear_left(ACTOR, local)} == {"clicks", "3"}
    assert (kafka.configs["orders"][FETCHERS], kafka.broker_configs_[1][LEADER_RATE]) == ("0:1", "7")


def test_what_a_job_may_be_about_to_set_stays(local: Cluster, kafka: Any) -> None:
    job = moving_job(local, "start", {})
    assert set(used(local).values()) == {f"job {job.pk} is about to set a throttle"}
    assert clear_left(ACTOR, local) == []


def test_what_somebody_elses_move_uses_stays(local: Cluster, kafka: Any) -> None:
    kafka.moving = {("clicks", 0): [2, 1]}
    assert used(local) == {
        "orders": None,
        "clicks": "clicks-0 is being moved",
        "1": "clicks-0 is being moved",
        "3": "clicks-0 is being moved",
    }
    assert [one.name for one in clear_left(ACTOR, local)] == ["orders"]


def test_the_page_asks_back_with_the_old_values(people: dict[str, Client], kafka: Any) -> None:
    page = people["operator"].get("/jobs/throttles").content.decode()
    assert "broker 1" in page and "nothing: left behind" in page
    asked = people["operator"].post("/jobs/throttles/clear").content.decode()
    assert f"broker 1: {LEADER_RATE} is 7." in asked
    assert kafka.broker_configs_[1][LEADER_RATE] == "7"
    assert people["operator"].post("/jobs/throttles/clear", {"confirm": "yes"}).status_code == 303
    assert LEADER_RATE not in kafka.broker_configs_[1]
    assert "No broker that is online has a rate" in people["operator"].get("/jobs/throttles").content.decode()


def test_a_viewer_sees_them_and_clears_none(people: dict[str, Client], kafka: Any) -> None:
    assert "left_throttles_clear" not in people["viewer"].get("/jobs/throttles").content.decode()
    assert people["viewer"].post("/jobs/throttles/clear", {"confirm": "yes"}).status_code == 403
    assert kafka.broker_configs_[1][LEADER_RATE] == "7"


def test_a_cluster_that_is_read_only_here_keeps_them(people: dict[str, Client], local: Cluster, kafka: Any) -> None:
    Cluster.objects.update(read_only=True)
    assert people["operator"].post("/jobs/throttles/clear", {"confirm": "yes"}).status_code == 409
    assert kafka.broker_configs_[1][LEADER_RATE] == "7"


@pytest.mark.parametrize(("role", "status"), [("viewer", 403), ("operator", 200)])
def test_rest_tells_and_clears_them(tokens: dict[str, dict[str, str]], kafka: Any, role: str, status: int) -> None:
    answer = Client().get(f"{PATH}?limit=1", headers=tokens["viewer"])
    found = json.loads(answer.content)
    check_answer("GET", PATH, answer.status_code, "application/json", found)
    assert found["items"] == [{"kind": "topic", "name": "clicks", "settings": {FETCHERS: "*"}, "in_use": None}]
    answer = Client().delete(PATH, headers=tokens[role])
    assert answer.status_code == status
    assert (LEADER_RATE in kafka.broker_configs_[1]) == (status == 403)
