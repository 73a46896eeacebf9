"""Schedules by REST and on their pages: made, looked at, changed, paused, run and deleted; each form says at the field what is wrong."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import Any

import pytest
from django.test import Client

from console.actions.schedules import first_schedules
from console.models import AuditEntry, Cluster, Job, ReturnElection, Schedule, ScheduleRun

BASE = "/api/v1/clusters/local"
NIGHTLY = {"name": "Leaders at night", "kind": "preferred_leader_election", "cron": "0 2 * * 1-5", "zone": "Europe/Berlin"}


@pytest.fixture(autouse=True)
def stage(local: Cluster, shown: Any, kafka: Any, sent: Any) -> None:
    kafka.topics_ = {"orders": {p: [1, 2, 3] for p in range(3)}}


class Asked:
    """REST with one role's token."""

    def __init__(self, headers: dict[str, str]) -> None:
        self._headers = headers

    def __call__(self, method: str, path: str, body: Any = None, status: int = 200) -> Any:
        sent = None if body is None else json.dumps(body)
        answer = Client().generic(method, f"{BASE}{path}", sent or "", content_type="application/json", headers=self._headers)
        assert answer.status_code == status, answer.content
        return json.loads(answer.content) if answer.content else None


@pytest.fixture
def operator(tokens: dict[str, dict[str, str]]) -> Asked:
    return Asked(tokens["operator"])


@pytest.fixture
def viewer(tokens: dict[str, dict[str, str]]) -> Asked:
    return Asked(tokens["viewer"])


def test_a_schedule_s_life_by_rest(operator: Asked, viewer: Asked) -> None:
    made = operator("POST", "/schedules", {**NIGHTLY, "params": {"topics": ["orders"]}}, 201)
    assert made["does"] == "Elect the preferred leaders of orders."
    assert (made["is_paused"], made["last"], made["created_by"], made["changed_by"]) == (False, None, "operator", None)
    assert re.fullmatch(r"(Mon|Tue|Wed|Thu|Fri) \d{4}-\d\d-\d\d 02:00", made["next"]["local"])
    one = f"/schedules/{made['id']}"
    assert viewer("GET", one) | {"next_words": ""} == made | {"next_words": ""}
    changed = operator("PATCH", one, {"cron": "30 3 * * *", "params": {"broker": 2}})
    assert (changed["cron"], changed["params"], changed["name"], changed["changed_by"]) == (
        "30 3 * * *",
        {"broker": 2},
        "Leaders at night",
        "operator",
    )
    assert operator("POST", f"{one}/pause")["next_words"] == "Paused."
    run = operator("POST", f"{one}/run")
    assert (run["outcome"], run["state"], run["by"]) == ("begun", "queued", "operator")
    assert Job.objects.get(pk=run["job"]).params == {"broker": 2}
    assert operator("POST", f"{one}/run", status=409)["code"] == "conflict"
    assert operator("POST", f"{one}/resume")["next"] is not None
    assert [row["name"] for row in viewer("GET", "/schedules")["items"]] == ["Leaders at night"]
    assert viewer("GET", f"{one}/runs")["items"] == [run]
    assert operator("DELETE", one, status=204) is None
    assert viewer("GET", one, status=404)["detail"] == f"There is no schedule {made['id']}."
    assert Job.objects.count() == 1
    entries = AuditEntry.objects.filter(actor="operator", outcome="done").order_by("id").values_list("action", flat=True)
    assert list(entries) == [
        *("make schedule", "change schedule", "pause schedule", "run schedule"),
        *("start preferred_leader_election", "resume schedule", "delete schedule"),
    ]


def test_viewers_read_and_change_nothing(operator: Asked, viewer: Asked) -> None:
    one = f"/schedules/{operator('POST', '/schedules', NIGHTLY, 201)['id']}"
    for method, path, body in (
        ("POST", "/schedules", NIGHTLY),
        ("PATCH", one, {"cron": "0 1 * * *"}),
        ("DELETE", one, None),
        *(("POST", f"{one}/{how}", None) for how in ("pause", "resume", "run")),
        ("PUT", "/election-after-return", {"is_on": True}),
    ):
        assert viewer(method, path, body, 403)["code"] == "forbidden"
    assert (Schedule.objects.count(), Job.objects.count(), ReturnElection.objects.count()) == (1, 0, 0)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"cron": "0 0 31 2 *"}, "cron"),
        ({"cron": "0 " * 200}, "cron"),
        ({"zone": "Europe/Atlantis"}, "zone"),
        ({"kind": "record_copy"}, "kind"),
        ({"name": ""}, "name"),
        ({"params": {"topics": ["nothing"]}}, "topics"),
        ({"params": {"nothing": 1}}, "params.nothing"),
        ({"params": {"moves_max": 1}}, "moves_max"),
        ({"later": True}, "later"),
    ],
)
def test_rest_names_what_is_wrong(operator: Asked, change: dict[str, Any], field: str) -> None:
    assert operator("POST", "/schedules", {**NIGHTLY, **change}, 422)["field"] == field
    assert not Schedule.objects.exists()


def test_the_next_times_are_shown_before_anything_is_kept(viewer: Asked) -> None:
    times = viewer("GET", "/schedules/preview?cron=15+*/6+*+*+*&zone=Asia/Kathmandu")["times"]
    assert len(times) == 5
    assert {time["offset"] for time in times} == {"UTC+05:45"}
    assert viewer("GET", "/schedules/preview?cron=x", status=422)["field"] == "cron"


def test_lists_go_page_by_page(operator: Asked, viewer: Asked, local: Cluster) -> None:
    for name in ("c", "a", "b"):
        operator("POST", "/schedules", {**NIGHTLY, "name": name}, 201)
    first = viewer("GET", "/schedules?limit=2")
    rest = viewer("GET", f"/schedules?limit=2&cursor={first['next']}")
    assert [row["name"] for row in first["items"] + rest["items"]] == ["a", "b", "c"]
    row = Schedule.objects.get(name="a")
    for hour in range(3):
        due = datetime(2026, 1, 1, hour, tzinfo=UTC)
        ScheduleRun.objects.create(schedule=row, due_at=due, by="beat", outcome="missed", said=str(hour))
    runs = viewer("GET", f"/schedules/{row.pk}/runs?limit=2")
    more = viewer("GET", f"/schedules/{row.pk}/runs?limit=2&cursor={runs['next']}")
    assert [run["sentence"] for run in runs["items"] + more["items"]] == ["2", "1", "0"]
    assert next(one for one in viewer("GET", "/schedules")["items"] if one["name"] == "a")["last"] == runs["items"][0]


def test_another_cluster_s_schedule_is_not_here(operator: Asked, local: Cluster) -> None:
    other = Cluster.objects.create(pk="north", name="North", bootstrap_servers="127.0.0.1:1")
    first_schedules(other)
    assert operator("DELETE", f"/schedules/{Schedule.objects.get().pk}", status=404)["code"] == "not-found"
    assert operator("GET", f"/schedules/{10**30}", status=404)["code"] == "not-found"


def test_the_election_after_a_return_is_set_by_rest(operator: Asked, viewer: Asked) -> None:
    assert viewer("GET", "/election-after-return") == {
        "is_on": False,
        "waiting": [],
        "sentence": "Off: leaders stay where they are when a broker returns.",
    }
    assert operator("PUT", "/election-after-return", {"is_on": True})["is_on"] is True
    assert ReturnElection.objects.get().set_by == "operator"
    assert operator("PUT", "/election-after-return", {"is_on": False})["is_on"] is False
