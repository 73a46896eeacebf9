"""What forms refuse, ask and keep: offsets against the log, risky settings, confirmations, and the error on its field."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client

from console.actions.offsets import chosen, parse_partitions, target
from console.errors import Invalid
from console.models import ApiToken, AuditEntry, Job
from console.rules.risks import setting_risks

BASE = "/api/v1/clusters/local"
UNCLEAN = "unclean.leader.election.enable"


@pytest.fixture(autouse=True)
def stage(shown: Any, kafka: Any, sent: Any) -> None:
    kafka.topics_ = {"orders": {p: [1, 2, 3] for p in range(5)}}


def ask(headers: dict[str, str], method: str, path: str, body: Any) -> Any:
    return Client().generic(method, path, json.dumps(body), content_type="application/json", headers=headers)


# --- offsets


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("", [0, 1, 2, 3, 4]),
        ("all", [0, 1, 2, 3, 4]),
        ("0", [0]),
        ("0,1", [0, 1]),
        ("2-3", [2, 3]),
        (" 0, 2 - 4 ", [0, 2, 3, 4]),
        ("1,1", [1]),
    ],
)
def test_partitions_are_those_that_were_typed(text: str, numbers: list[int]) -> None:
    assert chosen("orders", range(5), parse_partitions(text)) == numbers


@pytest.mark.parametrize("text", ["-1", "abc", "5", "3-9", "3-2", "0,", ",", "1;2", "²", "0x1", "1" * 30, "0," * 900 + "0", "999999999"])
def test_other_partitions_are_refused_on_their_field(text: str) -> None:
    with pytest.raises(Invalid) as refused:
        chosen("orders", range(5), parse_partitions(text))
    assert refused.value.field == "partition"


def test_an_offset_beyond_the_log_is_said() -> None:
    assert target("5", 2, 9) == (5, None)
    assert target("9", 2, 9) == (9, None)
    assert target("earliest", 2, 9) == (2, None)
    assert target("latest", 2, 9) == (9, None)
    assert target("999999999", 2, 1234) == (1234, "999999999 is beyond the end 1234: it would be set to 1234")
    assert target("1", 2, 9)[1] == "1 is before the start 2, where records were deleted: it would be set to 2"


@pytest.mark.parametrize("text", ["-1", "abc", "9", "0-9"])
def test_a_page_moves_no_offsets_for_partitions_it_does_not_know(people: dict[str, Client], kafka: Any, text: str) -> None:
    form = {"topic": "orders", "partition": text, "to": "earliest"}
    for more in ({}, {"preview": "1"}):
        answer = people["operator"].post("/group-offsets/billing", {**form, **more})
        assert (answer.status_code, answer.context["form_error"]["field"]) == (422, "partition")
    assert not kafka.changes("set_group_offsets")
    page = answer.content.decode()
    assert '<dialog id="set-offsets" open' in page
    assert f'name="partition" autocomplete="off" placeholder="all, or as 0,2-4" value="{text}" aria-invalid="true"' in page
    assert '<p class="wrong" id="wrong-set-offsets-partition">' in page


def test_a_page_moves_the_partitions_that_were_typed(people: dict[str, Client], kafka: Any) -> None:
    people["operator"].post("/group-offsets/billing", {"topic": "orders", "partition": "0,2-3", "to": "latest"})
    assert kafka.changes("set_group_offsets") == [("set_group_offsets", "billing", {("orders", p): 100 for p in (0, 2, 3)})]


def test_an_offset_beyond_the_end_is_set_only_when_confirmed(people: dict[str, Client], kafka: Any) -> None:
    form = {"topic": "orders", "partition": "0", "to": "999999999"}
    preview = people["operator"].post("/group-offsets/billing", {**form, "preview": "1"})
    assert "999999999 is beyond the end 100: it would be set to 100" in preview.content.decode()
    assert 'name="confirm" value="yes"' in preview.content.decode()
    answer = people["operator"].post("/group-offsets/billing", form)
    assert (answer.status_code, answer.context["form_error"]["field"]) == (422, "to")
    assert not kafka.changes("set_group_offsets")
    assert people["operator"].post("/group-offsets/billing", {**form, "confirm": "yes"}).status_code == 303
    assert kafka.changes("set_group_offsets") == [("set_group_offsets", "billing", {("orders", 0): 100})]


def test_rest_sets_an_offset_beyond_the_end_only_when_confirmed(tokens: dict[str, dict[str, str]], kafka: Any) -> None:
    body = {"topic": "orders", "partition": 0, "to": 5_000}
    dry = ask(tokens["operator"], "POST", f"{BASE}/groups/billing/offsets", {**body, "dry_run": True})
    assert json.loads(dry.content)["items"][0]["note"] == "5000 is beyond the end 100: it would be set to 100"
    refused = ask(tokens["operator"], "POST", f"{BASE}/groups/billing/offsets", body)
    assert (refused.status_code, json.loads(refused.content)["field"]) == (422, "to")
    assert not kafka.changes("set_group_offsets")
    assert ask(tokens["operator"], "POST", f"{BASE}/groups/billing/offsets", {**body, "confirm": True}).status_code == 200
    assert kafka.changes("set_group_offsets")


# --- settings that can lose records


@pytest.mark.parametrize(
    ("changes", "copies", "count"),
    [
        ({UNCLEAN: "true"}, 3, 1),
        ({UNCLEAN: " TRUE "}, None, 1),
        ({UNCLEAN: "false"}, 3, 0),
        ({UNCLEAN: None}, 3, 0),
        ({"min.insync.replicas": "4"}, 3, 1),
        ({"min.insync.replicas": "3"}, 3, 0),
        ({"min.insync.replicas": "4"}, None, 0),
        ({"min.insync.replicas": "many"}, 3, 0),
        ({"min.insync.replicas": "2", UNCLEAN: "true"}, 1, 2),
        ({"retention.ms": "1"}, 3, 0),
    ],
)
def test_risks_are_told(changes: dict[str, str | None], copies: int | None, count: int) -> None:
    assert len(setting_risks("orders", changes, copies)) == count


@pytest.mark.parametrize(("key", "value", "typed"), [(UNCLEAN, "true", "orders"), ("min.insync.replicas", "4", "")])
def test_a_risky_setting_asks_first(
    people: dict[str, Client], tokens: dict[str, dict[str, str]], kafka: Any, key: str, value: str, typed: str
) -> None:
    """What can lose records wants the topic's name."""
    path, form = "/topics/orders/settings", {f"set:{key}": value, "save": "yes"}
    asked = people["operator"].post(path, form)
    page = asked.content.decode()
    assert asked.status_code == 200
    assert f'<input type="hidden" name="set:{key}" value="{value}">' in page
    assert ('id="confirm"' in page) == bool(typed)
    refused = ask(tokens["operator"], "PATCH", f"{BASE}/topics/orders", {"configs": {key: value}})
    assert (refused.status_code, json.loads(refused.content)["field"]) == (422, "confirm")
    if typed:
        again = people["operator"].post(path, {**form, "risks": "taken", "confirm": "order"})
        assert again.status_code == 422
        assert "Type orders to save" in again.content.decode().partition('class="wrong"')[2]
    assert not kafka.changes("alter_topic_config")
    assert people["operator"].post(path, {**form, "risks": "taken", "confirm": typed}).status_code == 303
    assert ask(tokens["operator"], "PATCH", f"{BASE}/topics/orders", {"configs": {key: value}, "confirm": True}).status_code == 200
    assert len(kafka.changes("alter_topic_config")) == 2


def test_a_risky_topic_asks_first(people: dict[str, Client], tokens: dict[str, dict[str, str]], kafka: Any) -> None:
    form = {"name": "new", "partitions": "1", "replication_factor": "1", "config.min.insync.replicas": "2"}
    assert "has 1 copy of each partition" in people["operator"].post("/new-topic", form).content.decode()
    body = {"name": "new", "partitions": 1, "replication_factor": 1, "configs": {"min.insync.replicas": "2"}}
    assert ask(tokens["operator"], "POST", f"{BASE}/topics", body).status_code == 422
    assert not kafka.changes("create_topic")
    assert people["operator"].post("/new-topic", {**form, "confirm": "yes"}).status_code == 303
    assert ask(tokens["operator"], "POST", f"{BASE}/topics", {**body, "confirm": True}).status_code == 201


# --- what is not there


@pytest.mark.parametrize(
    ("row", "field", "words"),
    [
        ({"topic": "orders", "partition": 0, "replicas": [99]}, "assignments.0.replicas", "broker 99 is not online. Online: 1, 2, 3."),
        ({"topic": "nothing", "partition": 0, "replicas": [1]}, "assignments.0.topic", "There is no topic nothing."),
        ({"topic": "orders", "partition": 7, "replicas": [1]}, "assignments.0.partition", "orders has no partition 7"),
    ],
)
def test_a_move_that_cannot_be_is_refused_at_once(
    people: dict[str, Client], tokens: dict[str, dict[str, str]], row: dict[str, Any], field: str, words: str
) -> None:
    answer = ask(tokens["operator"], "POST", "/api/v1/jobs", {"kind": "reassignment", "assignments": [row]})
    found = json.loads(answer.content)
    assert (answer.status_code, found["field"]) == (422, field)
    assert words in found["detail"]
    text = f"{row['topic']} {row['partition']} {row['replicas'][0]}"
    form = people["operator"].post("/jobs/new", {"kind": "reassignment", "assignments": text, "throttle": "5 MiB"})
    page = form.content.decode()
    assert form.status_code == 422
    assert f">{text}</textarea>" in page
    assert 'value="5 MiB"' in page
    assert 'id="wrong-move-assignments"' in page
    assert not Job.objects.exists()


def test_an_election_for_a_missing_topic_is_refused(people: dict[str, Client], tokens: dict[str, dict[str, str]]) -> None:
    body = {"kind": "preferred_leader_election", "topics": ["orders", "nothing"]}
    assert json.loads(ask(tokens["operator"], "POST", "/api/v1/jobs", body).content)["field"] == "topics"
    answer = people["operator"].post("/jobs/new", {"kind": "preferred_leader_election", "topics": "orders nothing"})
    assert answer.status_code == 422
    assert 'value="orders nothing" aria-invalid="true"' in answer.content.decode()


# --- asked first


def test_an_election_asks_first(people: dict[str, Client]) -> None:
    form = {"kind": "preferred_leader_election", "topics": "orders"}
    page = people["operator"].post("/jobs/new", form).content.decode()
    assert "Each partition of orders goes back to the first replica" in page
    assert '<input type="hidden" name="topics" value="orders">' in page
    assert not Job.objects.exists()
    assert people["operator"].post("/jobs/new", {**form, "confirm": "yes"}).status_code == 303
    assert Job.objects.get().params == {"topics": ["orders"]}


def test_a_cancel_asks_first(people: dict[str, Client], local: Any) -> None:
    job = Job.objects.create(cluster=local, kind="reassignment", params={"assignments": []}, created_by="x")
    page = people["operator"].post(f"/jobs/{job.pk}/cancel").content.decode()
    assert "finished moves stay" in page
    job.refresh_from_db()
    assert job.state == "queued"
    assert people["operator"].post(f"/jobs/{job.pk}/cancel", {"confirm": "yes"}).status_code == 303


def test_a_revocation_asks_first(people: dict[str, Client], tokens: Any) -> None:
    row = ApiToken.objects.get(name="viewer")
    page = people["admin"].post(f"/settings/tokens/{row.pk}/revoke").content.decode()
    assert "Revoke the token viewer?" in page
    row.refresh_from_db()
    assert row.revoked_at is None
    assert not AuditEntry.objects.exists()


# --- what was typed is kept


@pytest.mark.parametrize(
    ("path", "form", "kept"),
    [
        ("/topics/orders/partitions", {"count": "2"}, 'required value="2" aria-invalid="true"'),
        ("/topics/orders/delete", {"confirm": "order"}, 'data-must-be="orders" value="order" aria-invalid="true"'),
        ("/group-delete/billing", {"confirm": "bill"}, 'data-must-be="billing" value="bill" aria-invalid="true"'),
        ("/brokers/1/kill", {"confirm": "2"}, 'data-must-be="1" value="2" aria-invalid="true"'),
    ],
)
def test_a_refused_form_keeps_what_was_typed(people: dict[str, Client], path: str, form: dict[str, str], kept: str) -> None:
    page = people["admin"].post(path, form).content.decode()
    assert kept in page
    assert page.count('class="wrong"') == 1


@pytest.mark.parametrize(
    ("form", "refusal", "words"),
    [
        ({"config.retention.ms": "7 GiB"}, None, "no length of time"),
        ({"config.retention.ms": "5"}, (40, "Invalid value 5 for configuration retention.ms"), "Invalid value 5"),
    ],
)
def test_a_new_topic_s_wrong_setting_is_told_at_its_field(
    people: dict[str, Client], kafka: Any, form: dict[str, str], refusal: tuple[int, str] | None, words: str
) -> None:
    kafka.refuse = refusal
    answer = people["operator"].post("/new-topic", {"name": "new", "partitions": "1", "replication_factor": "1", **form})
    page = answer.content.decode()
    assert answer.status_code == 422
    assert words in page.partition('id="wrong-new-topic-config.retention.ms"')[2].partition("</p>")[0]
    assert f'value="{form["config.retention.ms"]}"' in page


def test_units_of_a_new_topic_are_read(people: dict[str, Client], kafka: Any) -> None:
    form = {"name": "new", "partitions": "1", "replication_factor": "1", "config.retention.ms": "2 d", "config.max.message.bytes": "2 MiB"}
    people["operator"].post("/new-topic", form)
    assert kafka.changes("create_topic")[0][4] == {"retention.ms": "172800000", "max.message.bytes": "2097152"}


def test_a_refused_setting_keeps_its_value_beside_it(people: dict[str, Client], kafka: Any) -> None:
    kafka.configs["orders"] = {"retention.ms": "1000"}
    real = kafka.alter_topic_config

    def refuse(*_: Any, **__: Any) -> None:
        kafka.refuse = (40, "Invalid value abc for configuration retention.ms")
        try:
            real("orders", {})
        finally:
            kafka.refuse = None

    kafka.alter_topic_config = refuse
    answer = people["operator"].post("/topics/orders/settings", {"v:retention.ms": "abc", "w:retention.ms": "1000"})
    assert answer.status_code == 422
    page = answer.content.decode()
    field = page[page.index('id="v-retention.ms"') :].partition(">")[0]
    assert 'value="abc"' in field and 'aria-invalid="true"' in field
    assert "INVALID_CONFIG (40): Invalid value abc" in page.partition('class="wrong"')[2]


def test_a_topic_that_the_snapshot_has_not_is_looked_for_in_the_cluster(tokens: dict[str, dict[str, str]], kafka: Any) -> None:
    """And only then: a move away from a broker that hangs is taken at once."""
    kafka.topics_["new"] = {0: [1, 2, 3]}
    body = {"kind": "reassignment", "assignments": [{"topic": "new", "partition": 0, "replicas": [2]}]}
    assert ask(tokens["operator"], "POST", "/api/v1/jobs", body).status_code == 202
    kafka.away = True
    known = {"kind": "reassignment", "assignments": [{"topic": "orders", "partition": 0, "replicas": [2]}]}
    assert ask(tokens["operator"], "POST", "/api/v1/jobs", known).status_code == 202
    unknown = {"kind": "reassignment", "assignments": [{"topic": "other", "partition": 0, "replicas": [2]}]}
    assert ask(tokens["operator"], "POST", "/api/v1/jobs", unknown).status_code == 503
