"""Deleting a topic's records up to an offset or a time: what would go and for whom, the name typed, partitions that refuse."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client

from console.gateway.errors import from_code
from console.gateway.kafka_cluster import KafkaCluster
from console.models import AuditEntry, Cluster
from console.rules.records.deleting import Deletion, gone, risks, unread
from tests.support.console_world import FakeKafka

PATH, REST = "/topics/orders/records/delete", "/api/v1/clusters/local/topics/orders/delete-records"


@pytest.fixture(autouse=True)
def stage(shown: Any, kafka: FakeKafka) -> None:
    kafka.topics_ = {"orders": {p: [1, 2, 3] for p in range(3)}}


def rest(tokens: dict[str, dict[str, str]], body: Any, role: str = "admin") -> Any:
    return Client().post(REST, json.dumps(body), content_type="application/json", headers=tokens[role])


def test_what_lies_below_goes_and_no_more_than_there_is() -> None:
    assert (gone(0, 10, 110, 60, 1000).offsets, gone(0, 10, 110, 60, 1000).about_bytes) == (50, 500)
    assert (gone(0, 10, 110, 5, 1000).then, gone(0, 10, 110, 900, None).then) == (10, 110)
    assert gone(0, 10, 10, 5, 0).about_bytes == 0
    rows = [gone(0, 10, 110, 60, None), gone(1, 0, 50, 50, None)]
    lost = unread(rows, {"behind": {0: 20, 1: 60}, "far": {0: 0, 1: 0}, "done": {0: 60, 1: 50}, "elsewhere": {7: 0}})
    assert [(one.group, one.records, one.partitions) for one in lost] == [("far", 100, 2), ("behind", 40, 1)]
    plan = Deletion(topic="t", partitions=rows, unread=lost)
    assert plan.about_bytes is None and "far has not read 100 of them, and 1 other group some" in " ".join(risks(plan))


def test_a_preview_tells_what_goes_and_who_has_not_read_it(people: dict[str, Client], kafka: FakeKafka) -> None:
    answer = people["admin"].post(PATH, {"up_to": "offset", "offset": "70", "partition": "0", "preview": "1"})
    plan = answer.context["plan"]
    assert [(row.partition, row.first, row.then, row.end, row.offsets) for row in plan.partitions] == [(0, 0, 70, 100, 70)]
    assert [(row.group, row.records) for row in plan.unread] == [("billing", 20)]
    assert not kafka.changes("delete_records")
    assert b'data-must-be="orders"' in answer.content


def test_only_an_admin_who_types_the_name_deletes(people: dict[str, Client], kafka: FakeKafka) -> None:
    form = {"up_to": "all", "confirm": "orders"}
    for role in ("viewer", "operator"):
        assert people[role].get(PATH).status_code == people[role].post(PATH, form).status_code == 403
        assert PATH.encode() not in people[role].get("/topics/orders").content
    refused = people["admin"].post(PATH, {**form, "confirm": "order"})
    assert (refused.status_code, refused.context["form_error"]["field"]) == (422, "confirm")
    assert not kafka.changes("delete_records")
    assert people["admin"].post(PATH, form).status_code == 303
    assert [call[2:] for call in kafka.changes("delete_records")] == [(0, 100), (1, 100), (2, 100)]
    entry = AuditEntry.objects.get(action="delete records", outcome="done")
    assert entry.after["first"] == {"0": 100, "1": 100, "2": 100}


@pytest.mark.parametrize(
    ("form", "field"),
    [
        ({"up_to": "offset"}, "before"),
        ({"up_to": "offset", "offset": "-1"}, "before"),
        ({"up_to": "offset", "offset": "101", "partition": "0"}, "before"),
        ({"up_to": "time"}, "time"),
        ({"up_to": "time", "time": "yesterday"}, "time"),
        ({"up_to": "all", "partition": "9"}, "partition"),
        ({}, "up_to"),
    ],
)
def test_what_cannot_be_meant_is_said_at_its_field(people: dict[str, Client], form: dict[str, str], field: str) -> None:
    answer = people["admin"].post(PATH, {**form, "preview": "1"})
    assert (answer.status_code, answer.context["form_error"]["field"]) == (422, field)


def test_rest_counts_asks_back_and_deletes_by_time(tokens: dict[str, dict[str, str]], kafka: FakeKafka) -> None:
    told = rest(tokens, {"time": "1970-01-01T00:00:00.042Z", "dry_run": True}).json()
    assert (told["offsets"], told["done"], told["unread"]) == (126, False, []), "billing has read what is older"
    asked = rest(tokens, {"before": 10, "partitions": [1]})
    assert (asked.status_code, asked.json()["field"]) == (422, "confirm") and not kafka.changes("delete_records")
    done = rest(tokens, {"before": 10, "partitions": [1], "confirm": True}).json()
    assert (done["offsets"], done["done"], done["sentence"]) == (10, True, "10 offsets deleted.")
    assert rest(tokens, {"before": 10, "time": "2026-01-01T00:00:00Z", "confirm": True}).json()["field"] == "time"
    assert rest(tokens, {"before": 10, "confirm": True}, "operator").status_code == 403


def test_a_partition_that_refuses_stops_no_other(
    tokens: dict[str, dict[str, str]], local: Cluster, kafka: FakeKafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    def delete(_self: Any, topic: str, partition: int, before: int) -> int:
        if partition in refusing:
            raise from_code(44, "no")
        return before

    monkeypatch.setattr(KafkaCluster, "delete_records", delete)
    refusing = {1}
    rows = rest(tokens, {"before": 10, "confirm": True}).json()["partitions"]
    assert [bool(row["error"]) for row in rows] == [False, True, False] and rows[1]["then"] == 0
    refusing = {0, 1, 2}
    assert rest(tokens, {"before": 10, "confirm": True}).status_code == 422
