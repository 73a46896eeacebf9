"""Asking for a copy of records: who may, what is said beforehand, what cannot be meant."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client

from console.models import AuditEntry, Cluster, Job, MaskRule
from console.rules.records.copying import range_of
from tests.support.console_world import FakeKafka

PATH, REST, PLAN = "/topics/orders/records/copy", "/api/v1/jobs", "/api/v1/clusters/local/record-copies/plan"
ASKED = {"source": "orders", "target": "clicks"}


@pytest.fixture(autouse=True)
def stage(shown: Any, kafka: FakeKafka, sent: Any) -> None:
    kafka.topics_ = {"orders": {p: [1, 2, 3] for p in range(3)}, "clicks": {p: [1, 2, 3] for p in range(2)}}


def ask(tokens: dict[str, dict[str, str]], path: str, body: Any, role: str = "operator") -> Any:
    more = {"kind": "record_copy"} if path == REST else {}
    return Client().post(path, json.dumps({**more, **body}), content_type="application/json", headers=tokens[role])


def hide(local: Cluster, topics: str, below: str) -> None:
    MaskRule.objects.create(cluster=local, topics=topics, part="field", expression="$.card", below=below, created_by="x")


@pytest.mark.parametrize(
    ("log", "wanted", "since", "found"),
    [
        ((10, 90), (None, None), None, (10, 90)),
        ((10, 90), (5, 95), None, (10, 90)),
        ((10, 90), (20, 30), 25, (25, 30)),
        ((10, 90), (95, 99), None, (90, 90)),
        ((10, 90), (0, 5), None, (10, 10)),
        ((10, 90), (None, 30), 60, (30, 30)),
    ],
)
def test_a_range_is_brought_to_where_the_log_is(log: Any, wanted: Any, since: int | None, found: tuple[int, int]) -> None:
    row = range_of(0, log, wanted, since)
    assert (row.first, row.last) == found


def test_a_preview_tells_and_the_copy_is_a_job(people: dict[str, Client], kafka: FakeKafka) -> None:
    form = {"target": "clicks", "from_offset": "40", "partition": "0-1", "mark": "1", "text": "secret-7"}
    answer = people["operator"].post(PATH, {**form, "preview": "1"})
    plan = answer.context["plan"]
    assert [(row.partition, row.first, row.last) for row in plan.partitions] == [(0, 40, 100), (1, 40, 100)]
    assert "120 offsets of 2 partitions of orders are read, at most as many records written." in answer.content.decode().replace(
        "\u202f", " "
    )
    assert not Job.objects.exists()
    made = people["operator"].post(PATH, form)
    job = Job.objects.get()
    assert (made.status_code, made.headers["Location"]) == (303, f"/jobs/{job.pk}")
    assert (job.params["partitions"], job.params["from_offset"], job.params["mark"], job.params["is_filtered"]) == ([0, 1], 40, True, True)
    assert b"secret-7" not in people["viewer"].get(f"/jobs/{job.pk}").content, "what is searched for may be hidden from others"
    assert job.plan["filter"]["text"] == "secret-7"
    assert people["operator"].post(PATH, form).status_code == 409, "one at a time"


def test_viewers_copy_nothing(people: dict[str, Client], tokens: dict[str, dict[str, str]]) -> None:
    assert people["viewer"].get(PATH).status_code == people["viewer"].post(PATH, ASKED).status_code == 403
    assert ask(tokens, REST, ASKED, "viewer").status_code == ask(tokens, PLAN, ASKED, "viewer").status_code == 403
    assert PATH.encode() not in people["viewer"].get("/topics/orders/records").content
    assert PATH.encode() in people["operator"].get("/topics/orders/records").content


def test_who_does_not_see_the_values_does_not_copy_them(tokens: dict[str, dict[str, str]], local: Cluster) -> None:
    hide(local, "ord*", "admin")
    for path in (PLAN, REST):
        answer = ask(tokens, path, ASKED)
        assert answer.status_code == 403 and "hide parts of the records of orders" in answer.json()["detail"]
    assert ask(tokens, REST, ASKED, "admin").status_code == 202
    assert AuditEntry.objects.filter(action="start record_copy", error__contains="hide parts").exists()


def test_what_would_be_seen_by_others_afterwards_is_for_admins(tokens: dict[str, dict[str, str]], local: Cluster) -> None:
    hide(local, "orders", "operator")
    refused = ask(tokens, REST, ASKED)
    assert refused.status_code == 403 and "no rule hides the same of clicks" in refused.json()["detail"]
    assert any("no rule hides the same of clicks" in note for note in ask(tokens, PLAN, ASKED, "admin").json()["notes"])
    hide(local, "clicks", "operator")
    assert ask(tokens, REST, ASKED).status_code == 202


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"target": "orders"}, "target"),
        ({"target": "nothing"}, "target"),
        ({"target": "__consumer_offsets"}, "target"),
        ({"source": "nothing"}, "source"),
        ({"partitions": [7]}, "partitions"),
        ({"from_offset": 5, "to_offset": 5}, "to_offset"),
        ({"filter": {"path": "$["}}, "filter.path"),
        ({"filter": {"time": "yesterday"}}, "filter.time"),
        ({"keep_partition": True}, "keep_partition"),
    ],
)
def test_what_cannot_be_meant_is_said_by_its_name(tokens: dict[str, dict[str, str]], more: dict[str, Any], field: str) -> None:
    for path in (PLAN, REST):
        answer = ask(tokens, path, {**ASKED, **more})
        assert (answer.status_code, answer.json()["field"]) == (422, field), answer.content
    assert not Job.objects.exists()


def test_notes_say_what_does_not_stay(tokens: dict[str, dict[str, str]], kafka: FakeKafka) -> None:
    kafka.configs["clicks"] = {"message.timestamp.type": "LogAppendTime", "cleanup.policy": "compact"}
    said = " ".join(ask(tokens, PLAN, {**ASKED, "mark": False}).json()["notes"])
    assert "times do not" in said and "is compacted" in said and "at least once" in said
