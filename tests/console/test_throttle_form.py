"""The throttle of a reassignment, asked for on the page and by REST: shown as a diff first, refused with a reason, kept with the job."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client
from msgspec.structs import replace

from broker_core.contract.stored import Assignment
from console.models import Job
from tests.support.openapi import check_answer

FORM = {"kind": "reassignment", "assignments": "orders 0 1,2\nclicks 0 2,3,1"}


@pytest.fixture(autouse=True)
def stage(shown: Any, kafka: Any, sent: Any) -> None:
    """In the snapshot orders-0 lies on 1, 2, 3; the preview is made of that."""
    kafka.topics_ = {name: {p: [1, 2, 3] for p in range(3)} for name in ("orders", "clicks")}


def test_a_preview_shows_what_is_set_while_it_lasts(people: dict[str, Client], kafka: Any, shown: Any, redis: Any) -> None:
    from tests.support.console_fixtures import publish
    from tests.support.console_world import add_topic

    add_topic(shown, "narrow", 1, 2000)
    shown.set_topic("narrow", replace(shown.topics["narrow"], partitions={0: Assignment((1, 2))}), 2000)
    shown.take(2000)
    publish(redis, shown, 2000)
    kafka.broker_configs_ = {1: {"leader.replication.throttled.rate": "2048"}}
    form = {"kind": "reassignment", "assignments": "narrow 0 1,3", "throttle": "10 MiB", "preview": "1"}
    answer = people["operator"].post("/jobs/new", form)
    throttle = answer.context["plan"]["throttle"]
    said = {row["label"]: (row["before"], row["after"]) for row in throttle["diff"]}
    assert throttle["rate"] == 10 * 2**20
    assert said["broker 1: leader.replication.throttled.rate"] == ("2.00\u202fKiB/s", "10.0\u202fMiB/s")
    assert said["broker 3: follower.replication.throttled.rate"] == (None, "10.0\u202fMiB/s")
    assert said["narrow: leader.replication.throttled.replicas"] == (None, "0:1,0:2")
    assert said["narrow: follower.replication.throttled.replicas"] == (None, "0:3")
    assert 'value="10 MiB"' in answer.content.decode(), "what was asked stays in the form"
    assert not kafka.changes("alter_broker_config")
    assert not Job.objects.exists()


def test_where_nothing_is_copied_nothing_is_throttled(people: dict[str, Client]) -> None:
    answer = people["operator"].post("/jobs/new", {**FORM, "throttle": "1000", "preview": "1"})
    assert answer.context["plan"]["throttle"]["diff"] == []
    assert "nothing is throttled" in answer.content.decode()


@pytest.mark.parametrize(("throttle", "kept"), [("", None), ("1.5 MiB/s", 3 * 2**19)])
def test_the_job_has_the_throttle(people: dict[str, Client], throttle: str, kept: int | None) -> None:
    assert people["operator"].post("/jobs/new", {**FORM, "throttle": throttle}).status_code == 303
    job = Job.objects.get()
    assert job.params.get("throttle") == kept
    page = people["viewer"].get(f"/jobs/{job.pk}").content.decode()
    assert ("1.50\u202fMiB/s" in page) is (kept is not None)


@pytest.mark.parametrize("throttle", ["fast", "0", "-5"])
def test_what_is_no_rate_is_refused(people: dict[str, Client], throttle: str) -> None:
    answer = people["operator"].post("/jobs/new", {**FORM, "throttle": throttle})
    assert (answer.status_code, answer.context["form_error"]["field"]) == (422, "throttle")
    assert not Job.objects.exists()


@pytest.mark.parametrize(("kind", "throttle", "status"), [("reassignment", 5, 202), ("reassignment", 0, 422), ("health_report", 5, 422)])
def test_rest_takes_bytes_a_second(tokens: dict[str, dict[str, str]], kind: str, throttle: int, status: int) -> None:
    moves = [{"topic": "orders", "partition": 0, "replicas": [1, 2]}]
    body = {"kind": kind, "throttle": throttle} | ({"assignments": moves} if kind == "reassignment" else {})
    answer = Client().post("/api/v1/jobs", json.dumps(body), content_type="application/json", headers=tokens["operator"])
    found = json.loads(answer.content)
    check_answer("POST", "/api/v1/jobs", answer.status_code, answer.headers["Content-Type"].partition(";")[0], found)
    assert answer.status_code == status
    assert found.get("field") == ("throttle" if status == 422 else None)
