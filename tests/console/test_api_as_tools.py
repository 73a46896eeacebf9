"""What Kafka's own tools can ask and do, by REST: log levels, moves under way whoever began them, offsets by name and by time."""

from __future__ import annotations

import json
from typing import Any

import pytest

from console.models import AuditEntry, Job
from tests.console.test_api import BASE, assert_problem
from tests.console.test_api_changes import Asked

LOGGERS = f"{BASE}/brokers/1/loggers"
MOVES = f"{BASE}/reassignments"
OFFSETS = f"{BASE}/topics/orders/offsets"


@pytest.fixture(autouse=True)
def stage(local: Any, shown: Any, kafka: Any, sent: Any) -> None:
    kafka.topics_ = {"orders": {p: [1, 2] for p in range(3)}, "clicks": {0: [2, 3]}}


@pytest.fixture
def ask(tokens: dict[str, dict[str, str]]) -> Asked:
    return Asked(tokens["admin"])


def read(answer: Any) -> Any:
    assert answer.status_code == 200, answer.content
    return json.loads(answer.content)


# --- log levels


def test_log_levels_are_read_and_changed(ask: Asked, kafka: Any) -> None:
    assert read(ask("GET", LOGGERS))["items"] == [{"name": "broker_core.server", "level": "INFO"}, {"name": "root", "level": "INFO"}]
    wanted = {"levels": {"broker_core.server": "DEBUG"}}
    changes = [{"name": "broker_core.server", "before": "INFO", "after": "DEBUG"}]
    assert read(ask("PATCH", LOGGERS, {**wanted, "dry_run": True})) == {"changes": changes}
    assert not kafka.changes("alter_loggers") and not AuditEntry.objects.exists()
    assert read(ask("PATCH", LOGGERS, wanted)) == {"changes": changes}
    assert kafka.changes("alter_loggers") == [("alter_loggers", 1, wanted["levels"])]
    entry = AuditEntry.objects.get()
    assert (entry.action, entry.target, entry.outcome) == ("change log levels", "1", "done")
    assert (entry.before, entry.after) == ({"broker_core.server": "INFO"}, wanted["levels"])
    assert read(ask("PATCH", LOGGERS, {"levels": {"broker_core.server": None}}))["changes"][0]["after"] is None


@pytest.mark.parametrize(
    ("levels", "field"),
    [({"no.such": "INFO"}, "levels.no.such"), ({"root": "LOUD"}, "levels.root"), ({"root": None}, "levels.root"), ({}, "levels")],
)
def test_log_levels_that_are_none(ask: Asked, kafka: Any, levels: dict[str, Any], field: str) -> None:
    assert assert_problem(ask("PATCH", LOGGERS, {"levels": levels}), 422)["field"] == field
    assert not kafka.changes("alter_loggers")


def test_log_levels_are_the_admins_and_of_a_broker_that_is_known(ask: Asked, tokens: dict[str, dict[str, str]]) -> None:
    assert_problem(Asked(tokens["operator"])("PATCH", LOGGERS, {"levels": {"root": "WARN"}}), 403)
    assert read(Asked(tokens["viewer"])("GET", LOGGERS))["items"]
    assert_problem(ask("GET", f"{BASE}/brokers/77/loggers"), 404)


# --- moves


def test_moves_under_way_are_listed_page_by_page(ask: Asked, kafka: Any, local: Any) -> None:
    kafka.moving = {("orders", 1): [2, 3], ("clicks", 0): [1, 2, 3], ("orders", 0): [1, 3]}
    job = Job.objects.create(
        cluster=local, kind="reassignment", state=Job.RUNNING, params={"assignments": [{"topic": "orders", "partition": 0}]}
    )
    first = read(ask("GET", f"{MOVES}?limit=2"))
    rest = read(ask("GET", f"{MOVES}?limit=2&cursor={first['next']}"))
    found = [*first["items"], *rest["items"]]
    assert [(m["topic"], m["partition"], m["adding"], m["removing"], m["job"]) for m in found] == [
        ("clicks", 0, [1], [], None),
        ("orders", 0, [3], [2], job.pk),
        ("orders", 1, [3], [1], None),
    ]
    assert rest["next"] is None


def test_a_move_that_somebody_else_began_is_cancelled(ask: Asked, kafka: Any) -> None:
    kafka.moving = {("orders", 1): [2, 3], ("clicks", 0): [1, 2, 3]}
    asked = {"partitions": [{"topic": "orders", "partition": 1}]}
    plan = read(ask("POST", f"{MOVES}/cancellation", {**asked, "dry_run": True}))
    assert [m["topic"] for m in plan["moves"]] == ["orders"] and not kafka.changes("reassign")
    assert read(ask("POST", f"{MOVES}/cancellation", asked)) == plan
    assert list(kafka.moving) == [("clicks", 0)]
    entry = AuditEntry.objects.get()
    assert (entry.action, entry.target, entry.before, entry.outcome) == ("cancel moves", "orders-1", {"orders-1": [3]}, "done")
    assert assert_problem(ask("POST", f"{MOVES}/cancellation", asked), 422)["field"] == "partitions", "it is over"


def test_a_job_s_move_is_cancelled_by_its_job(ask: Asked, kafka: Any, local: Any, tokens: dict[str, dict[str, str]]) -> None:
    kafka.moving = {("orders", 0): [1, 3]}
    params = {"assignments": [{"topic": "orders", "partition": 0, "replicas": [1, 3]}]}
    job = Job.objects.create(cluster=local, kind="reassignment", state=Job.RUNNING, params=params)
    asked = {"partitions": [{"topic": "orders", "partition": 0}]}
    assert f"job {job.pk}" in assert_problem(ask("POST", f"{MOVES}/cancellation", asked), 409)["detail"]
    assert_problem(Asked(tokens["viewer"])("POST", f"{MOVES}/cancellation", asked), 403)
    assert not kafka.changes("reassign")


def test_moves_that_others_began_become_a_job(ask: Asked, kafka: Any, tokens: dict[str, dict[str, str]], sent: Any) -> None:
    kafka.moving = {("orders", 1): [2, 3], ("clicks", 0): [1, 2, 3]}
    path = f"{MOVES}/adoption"
    assert_problem(Asked(tokens["viewer"])("POST", path, {}), 403)
    plan = read(ask("POST", path, {"dry_run": True}))
    assert ([move["topic"] for move in plan["moves"]], plan["job"], Job.objects.count()) == (["clicks", "orders"], None, 0)
    made = read(ask("POST", path, {"throttle": 5_000}))
    assert made["moves"] == plan["moves"] and made["job"]["kind"] == "reassignment"
    job = Job.objects.get()
    assert [(row["topic"], row["replicas"]) for row in job.params["assignments"]] == [("clicks", [1, 2, 3]), ("orders", [2, 3])]
    assert job.params["throttle"] == 5_000 and not kafka.changes("reassign")
    assert_problem(ask("POST", path, {}), 409)
    again = {"partitions": [{"topic": "orders", "partition": 1}]}
    assert f"job {job.pk}" in assert_problem(ask("POST", path, again), 409)["detail"]
    kafka.moving = {}
    assert assert_problem(ask("POST", path, again), 422)["field"] == "partitions", "it is over"


# --- offsets


def test_offsets_by_name_and_by_time(ask: Asked) -> None:
    """In the pretended log record n is of the time n ms, and 100 is the end."""

    def at(when: str) -> list[tuple[Any, Any]]:
        found = read(ask("GET", f"{OFFSETS}?at={when}"))["items"]
        assert [one["partition"] for one in found] == [0, 1, 2]
        return [(one["offset"], one["timestamp_ms"]) for one in found][:1]

    assert at("latest") == [(100, None)]
    assert at("earliest") == [(0, None)]
    assert at("max-timestamp") == [(99, 99)]
    assert at("latest-tiered") == [(None, None)]
    assert at("1970-01-01T00:00:00.050Z") == at("50") == [(50, 50)]
    assert at("1970-01-01T01:00:00.050%2B01:00") == [(50, 50)]
    assert at("2026-01-01T00:00:00Z") == [(None, None)], "no record is so new"


def test_offsets_come_in_pages(ask: Asked) -> None:
    first = read(ask("GET", f"{OFFSETS}?limit=2"))
    rest = read(ask("GET", f"{OFFSETS}?limit=2&cursor={first['next']}"))
    assert [one["partition"] for one in [*first["items"], *rest["items"]]] == [0, 1, 2] and rest["next"] is None


@pytest.mark.parametrize("when", ["noon", "2026-01-31T09:00", "-1", "", "1969-01-01T00:00:00Z", "9" * 16])
def test_a_moment_that_is_none(ask: Asked, when: str) -> None:
    assert assert_problem(ask("GET", f"{OFFSETS}?at={when}"), 400)["field"] == "at"


def test_offsets_of_no_topic(ask: Asked) -> None:
    assert_problem(ask("GET", f"{BASE}/topics/nothing/offsets"), 404)
