"""The page of a reassignment: how far each copy is and how long it takes yet, the rate of its throttle, and why it is that."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from django.test import Client

from console.actions.jobs import create_job
from console.clock import now_ms
from console.models import Cluster, Job
from console.roles import Actor
from console.rules.steering import Decision, Figures, begun, kept
from tests.support.openapi import check_answer

MIB = 2**20
MOVES = [{"topic": "orders", "partition": 0, "replicas": [1, 3]}, {"topic": "orders", "partition": 1, "replicas": [2, 1]}]
STEERED = {"floor": 5 * MIB, "ceiling": 50 * MIB}
WHY = "Lowered to 12.0\u202fMiB/s: a produce on broker 2 takes 48\u202fms, 2.4 times what it took before the moves."


@pytest.fixture
def job(local: Cluster, shown: Any, kafka: Any, sent: Any) -> Job:
    kafka.topics_ = {"orders": {0: [1, 2], 1: [1, 2]}}
    actor = Actor("someone", "operator", "api")
    return create_job(actor, local, "reassignment", {"assignments": MOVES, "throttle": STEERED})


def row(partition: int, **more: Any) -> dict[str, Any]:
    return {"topic": "orders", "partition": partition, "from": [1, 2], "to": [1, 3], "state": "moving", "message": "", **more}


def under_way(job: Job, rows: list[dict[str, Any]], pace: list[list[int]]) -> None:
    at_ms = now_ms()
    figures = Figures({1: 10.0, 2: 20.0})
    steering = kept(begun(**STEERED, figures=figures, now_ms=at_ms - 60_000), 24 * MIB, Decision(12 * MIB, WHY), figures, at_ms - 1_000)
    plan = {"detail": rows, "pace": pace, "throttle": {"rate": 12 * MIB, "before": {"1": {}}, "topics": {}, "steering": steering}}
    Job.objects.filter(pk=job.pk).update(plan=plan, state=Job.RUNNING, step="watch", message="2 of 2 partitions are moving.")


def page_of(people: dict[str, Client], job: Job) -> str:
    text = people["viewer"].get(f"/jobs/{job.pk}").content.decode()
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", text.replace("\u202f", " ")))


def test_it_tells_bytes_pace_and_what_is_left(people: dict[str, Client], job: Job) -> None:
    at_ms = now_ms()
    pace = [[at_ms - 10_000, 0], [at_ms, 100 * MIB]]
    sized = row(0, bytes=100 * MIB, bytes_total=400 * MIB, by_size=True, pace=pace)
    under_way(job, [sized, row(1, state="waiting", bytes_total=100 * MIB)], pace)
    page = page_of(people, job)
    assert "Last minute 10.0 MiB/s Left 40 s" in page
    assert "Copied: 100 MiB of 500 MiB." in page
    assert "100 MiB of 400 MiB 30 s" in page
    assert "nothing of 100 MiB –" in page
    assert "about 100" not in page


def test_what_is_only_known_by_records_says_so_and_what_is_not_measured_is_unknown(people: dict[str, Client], job: Job) -> None:
    under_way(job, [row(0, done=3, total=4, bytes=75 * MIB, bytes_total=100 * MIB, by_size=False), row(1, bytes_total=MIB)], [])
    page = page_of(people, job)
    assert "Copied: about 75.0 MiB of 101 MiB, by the share of records." in page
    assert "Last minute unknown Left unknown" in page
    assert "unknown of 1.00 MiB unknown" in page
    assert "about 75.0 MiB of 100 MiB 3 of 4 records unknown" in page


def test_it_tells_the_rate_why_and_how_it_changed(people: dict[str, Client], job: Job) -> None:
    under_way(job, [row(0), row(1)], [])
    page = page_of(people, job)
    assert "Throttle 12.0 MiB/s Started" in page
    assert "Throttle, steered from 5.00 MiB/s to 50.0 MiB/s. " + WHY.replace("\u202f", " ") in page
    assert "Copying begins at the floor, 5.00 MiB/s, and may rise to 50.0 MiB/s." in page


def test_the_form_takes_it_and_shows_what_it_begins_with(people: dict[str, Client], job: Job) -> None:
    form = {"kind": "reassignment", "assignments": "clicks 0 1,2", "throttle": "5 MiB to 50 MiB"}
    plan = people["operator"].post("/jobs/new", {**form, "preview": "1"}).context["plan"]["throttle"]
    assert (plan["floor"], plan["rate"]) == (5 * MIB, 50 * MIB)
    Job.objects.update(state=Job.SUCCEEDED)
    assert people["operator"].post("/jobs/new", form).status_code == 303
    assert Job.objects.latest("id").params["throttle"] == STEERED


@pytest.mark.parametrize(("throttle", "status"), [(STEERED, 202), ({"floor": 9, "ceiling": 3}, 422), ("fast", 422), ({"floor": 9}, 422)])
def test_rest_takes_a_floor_and_a_ceiling(tokens: dict[str, dict[str, str]], job: Job, throttle: Any, status: int) -> None:
    Job.objects.update(state=Job.SUCCEEDED)
    body = {"cluster": "local", "kind": "reassignment", "assignments": MOVES, "throttle": throttle}
    answer = Client().post("/api/v1/jobs", json.dumps(body), content_type="application/json", headers=tokens["operator"])
    found = json.loads(answer.content)
    check_answer("POST", "/api/v1/jobs", answer.status_code, answer.headers["Content-Type"].partition(";")[0], found)
    assert (answer.status_code, found.get("field")) == (status, "throttle" if status == 422 else None)
