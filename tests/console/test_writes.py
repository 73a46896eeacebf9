"""Every change by a page: who may, what is asked of the cluster, what the audit keeps, how a refusal is shown."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from console.models import ApiToken, AuditEntry, Job

CHANGES = {
    "/new-topic": ({"name": "new", "partitions": "3", "replication_factor": "3", "config.retention.ms": "1000"}, "operator"),
    "/topics/orders/partitions": ({"count": "6"}, "operator"),
    "/topics/orders/settings": ({"set:min.insync.replicas": "1", "save": "yes"}, "operator"),
    "/topics/orders/delete": ({"confirm": "orders"}, "admin"),
    "/group-offsets/billing": ({"topic": "orders", "partition": "0", "to": "earliest"}, "operator"),
    "/group-delete/billing": ({"confirm": "billing"}, "admin"),
    "/group-members/others": ({"member": "m", "confirm": "others"}, "operator"),
    "/group-forget/billing": ({"topic": "clicks", "confirm": "billing"}, "admin"),
    "/jobs/new": ({"kind": "health_report"}, "operator"),
    "/health/run": ({}, "operator"),
    "/brokers/1/kill": ({"confirm": "1"}, "admin"),
    "/brokers/1/start": ({}, "admin"),
    "/brokers/1/graded-kill": ({"confirm": "1"}, "admin"),
    "/settings/tokens/new": ({"name": "ci", "role": "viewer"}, "admin"),
}
RANK = {"viewer": 0, "operator": 1, "admin": 2}


@pytest.fixture(autouse=True)
def stage(shown: Any, kafka: Any, sent: Any, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    kafka.topics_ = {"orders": {p: [1, 2, 3] for p in range(3)}}
    kafka.committed, kafka.members = {"billing": {("clicks", 0): 5}}, {"others": [{"member_id": "m"}]}
    acted: list[tuple[str, int]] = []
    for action in ("start", "stop", "restart", "kill", "pause", "resume"):
        monkeypatch.setitem(_actions(), action, lambda _data, broker, action=action: acted.append((action, broker)))
    return acted


def _actions() -> dict[str, Any]:
    from console.gateway import local

    return local.ACTIONS


@pytest.mark.parametrize("path", CHANGES)
@pytest.mark.parametrize("role", RANK)
def test_a_change_needs_its_role_and_leaves_an_audit_row(people: dict[str, Client], path: str, role: str) -> None:
    form, needed = CHANGES[path]
    answer = people[role].post(path, form)
    entry = AuditEntry.objects.latest("id")
    assert (entry.actor, entry.via) == (role, "page")
    if RANK[role] < RANK[needed]:
        assert answer.status_code == 403
        assert entry.outcome == "refused"
        assert f"needs the role {needed}" in answer.context["form_error"]["detail"]
    else:
        assert answer.status_code in (200, 303)
        assert entry.outcome == "done"


@pytest.mark.parametrize("path", CHANGES)
def test_a_change_wants_a_post_with_csrf(people: dict[str, Client], path: str) -> None:
    if path not in ("/new-topic", "/topics/orders/settings"):
        assert people["admin"].get(path).status_code == 405
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = people["admin"].cookies
    assert strict.post(path, CHANGES[path][0]).status_code == 403
    assert not AuditEntry.objects.exists()


def test_a_new_topic_is_asked_for_as_the_form_says(people: dict[str, Client], kafka: Any) -> None:
    people["operator"].post("/new-topic", CHANGES["/new-topic"][0])
    assert kafka.changes("create_topic") == [("create_topic", "new", 3, 3, {"retention.ms": "1000"}, False)]
    assert AuditEntry.objects.latest("id").after == {"partitions": 3, "replication_factor": 3, "configs": {"retention.ms": "1000"}}


def test_a_preview_creates_nothing(people: dict[str, Client], kafka: Any) -> None:
    answer = people["operator"].post("/new-topic", {**CHANGES["/new-topic"][0], "preview": "1"})
    assert answer.status_code == 200
    assert {"label": "topic", "before": None, "after": "new"} in answer.context["diff"]
    assert kafka.changes("create_topic")[0][-1] is True
    assert people["viewer"].post("/new-topic", {**CHANGES["/new-topic"][0], "preview": "1"}).status_code == 403


@pytest.mark.parametrize(
    ("form", "field"),
    [
        ({"name": "a b", "partitions": "1", "replication_factor": "1"}, "name"),
        ({"name": "<script>", "partitions": "1", "replication_factor": "1"}, "name"),
        ({"name": "x", "partitions": "0", "replication_factor": "1"}, "partitions"),
        ({"name": "x", "partitions": "one", "replication_factor": "1"}, "partitions"),
        ({"name": "x", "partitions": "1", "replication_factor": "101"}, "replication_factor"),
    ],
)
def test_a_wrong_topic_is_refused_with_its_field(people: dict[str, Client], kafka: Any, form: dict[str, str], field: str) -> None:
    answer = people["operator"].post("/new-topic", form)
    assert answer.status_code == 422
    assert answer.context["form_error"]["field"] == field
    assert not kafka.changes("create_topic")


def test_the_brokers_words_and_code_are_shown(people: dict[str, Client], kafka: Any) -> None:
    kafka.refuse = (38, "Replication factor: 5 larger than available brokers: 3.")
    answer = people["operator"].post("/new-topic", {"name": "x", "partitions": "1", "replication_factor": "5"})
    assert answer.status_code == 422
    shown = answer.context["form_error"]
    assert shown["title"] == "The replicas cannot be placed so"
    assert "INVALID_REPLICATION_FACTOR (38): Replication factor: 5 larger than available brokers: 3. Ask for no more" in shown["detail"]
    assert AuditEntry.objects.latest("id").outcome == "failed"


def test_a_cluster_that_is_away_is_a_503(people: dict[str, Client], kafka: Any) -> None:
    kafka.away = True
    answer = people["admin"].post("/topics/orders/delete", {"confirm": "orders"})
    assert answer.status_code == 503
    assert answer.context["form_error"]["title"] == "The cluster does not answer"


@pytest.mark.parametrize(
    "path",
    ["/topics/orders/delete", "/group-delete/billing", "/brokers/1/kill", "/brokers/1/stop", "/brokers/1/restart", "/brokers/1/pause"],
)
def test_what_can_lose_something_wants_the_name_typed(people: dict[str, Client], kafka: Any, stage: list[Any], path: str) -> None:
    answer = people["admin"].post(path, {"confirm": "something else"})
    assert answer.status_code == 422
    assert answer.context["form_error"]["field"] == "confirm"
    assert not kafka.changes("delete_topic")
    assert not kafka.changes("delete_group")
    assert not stage


def test_broker_actions_reach_the_process(people: dict[str, Client], stage: list[tuple[str, int]]) -> None:
    for action in ("start", "stop", "restart", "kill", "pause", "resume"):
        assert people["admin"].post(f"/brokers/2/{action}", {"confirm": "2"}).status_code == 303
    assert stage == [(a, 2) for a in ("start", "stop", "restart", "kill", "pause", "resume")]
    assert people["admin"].post("/brokers/2/format", {"confirm": "2"}).status_code == 422


def test_a_failed_broker_action_is_told(people: dict[str, Client], monkeypatch: pytest.MonkeyPatch) -> None:
    from broker_core.local.process import ProcessError

    def refuse(_data: Any, _broker: int) -> None:
        raise ProcessError("broker 1 is not running")

    monkeypatch.setitem(_actions(), "kill", refuse)
    answer = people["admin"].post("/brokers/1/kill", {"confirm": "1"})
    assert answer.status_code == 422
    assert "Broker 1 is not running" in answer.context["form_error"]["detail"]


def test_htmx_is_sent_on_without_a_redirect(people: dict[str, Client]) -> None:
    answer = people["operator"].post("/topics/orders/partitions", {"count": "6"}, headers={"HX-Request": "true"})
    assert (answer.status_code, answer.headers["HX-Redirect"]) == (204, "/topics/orders")


def test_partitions_cannot_shrink(people: dict[str, Client], kafka: Any) -> None:
    answer = people["operator"].post("/topics/orders/partitions", {"count": "2"})
    assert answer.status_code == 422
    assert "has 3 partitions" in answer.context["form_error"]["detail"]
    assert not kafka.changes("add_partitions")


def test_an_empty_setting_goes_back_to_the_default(people: dict[str, Client], kafka: Any) -> None:
    kafka.configs["orders"] = {"segment.ms": "1000"}
    shown = people["operator"].post("/topics/orders/settings", {"v:segment.ms": "", "w:segment.ms": "1000"}).content.decode()
    assert '<input type="hidden" name="reset" value="segment.ms">' in shown
    assert not kafka.changes("alter_topic_config")
    people["operator"].post("/topics/orders/settings", {"reset": "segment.ms", "save": "yes"})
    assert kafka.changes("alter_topic_config") == [("alter_topic_config", "orders", {"segment.ms": None})]


def test_offsets_of_a_group_with_members_do_not_move(people: dict[str, Client], kafka: Any) -> None:
    kafka.members["billing"] = [{"member_id": "m", "client_id": "app", "client_host": "/10.0.0.7"}]
    answer = people["operator"].post("/group-offsets/billing", CHANGES["/group-offsets/billing"][0])
    assert answer.status_code == 409
    assert "has 1 member: app (10.0.0.7)" in answer.context["form_error"]["detail"]
    assert not kafka.changes("set_group_offsets")


def test_offsets_move_within_the_log(people: dict[str, Client], kafka: Any) -> None:
    kafka.committed["billing"] = {("orders", 0): 50}
    form = {"topic": "orders", "to": "80"}
    preview = people["operator"].post("/group-offsets/billing", {**form, "preview": "1"})
    first, second, _ = preview.context["plan"].moves
    assert (first.place, first.before, first.after, first.lag_after, first.skipped, first.again) == ("orders-0", 50, 80, 20, 30, 0)
    assert (second.before, second.after, second.skipped, second.again) == (None, 80, None, None), "nothing was committed there"
    assert not kafka.changes("set_group_offsets")
    people["operator"].post("/group-offsets/billing", form)
    assert kafka.changes("set_group_offsets") == [("set_group_offsets", "billing", {("orders", p): 80 for p in range(3)})]


@pytest.mark.parametrize("to", ["", "yesterday", "-1", "²", "9" * 30])
def test_a_wrong_offset_is_refused(people: dict[str, Client], kafka: Any, to: str) -> None:
    answer = people["operator"].post("/group-offsets/billing", {"topic": "orders", "to": to})
    assert (answer.status_code, answer.context["form_error"]["field"]) == (422, "to")
    assert not kafka.changes("set_group_offsets")


def test_a_job_is_queued_and_can_be_cancelled(
    people: dict[str, Client], sent: list[tuple[int, str]], django_capture_on_commit_callbacks: Any
) -> None:
    form = {"kind": "reassignment", "assignments": "orders 0 2,3,1\norders 1 3 1 2"}
    with django_capture_on_commit_callbacks(execute=True):
        answer = people["operator"].post("/jobs/new", form)
    job = Job.objects.get()
    assert answer.headers["Location"] == f"/jobs/{job.pk}"
    assert sent == [(job.pk, "reassignment")]
    assert job.params["assignments"][1] == {"topic": "orders", "partition": 1, "replicas": [3, 1, 2]}
    assert people["viewer"].post(f"/jobs/{job.pk}/pause", {"paused": "1"}).status_code == 403
    for sent_as, paused, button in (("1", True, "Go on"), ("0", False, "Pause")):
        assert people["operator"].post(f"/jobs/{job.pk}/pause", {"paused": sent_as}).status_code == 303
        job.refresh_from_db()
        assert job.paused is paused
        assert f">{button}</button>" in people["operator"].get(f"/jobs/{job.pk}").text
    assert people["viewer"].post(f"/jobs/{job.pk}/cancel").status_code == 403
    assert people["operator"].post(f"/jobs/{job.pk}/cancel", {"confirm": "yes"}).status_code == 303
    job.refresh_from_db()
    assert (job.state, job.cancel_requested) == ("cancelling", True)
    job.state = "cancelled"
    job.save()
    assert people["operator"].post(f"/jobs/{job.pk}/cancel", {"confirm": "yes"}).status_code == 409


@pytest.mark.parametrize(
    "text",
    [
        "",
        "orders",
        "orders 0 a,b",
        "orders 0 1,1",
        "[1]",
        '{"assignments": 3',
        "orders 0 1\norders 0 2",
        "[" * 50_000,
        "orders " + "1" * 5_000 + " 1",
    ],
)
def test_a_wrong_assignment_is_refused(people: dict[str, Client], text: str) -> None:
    answer = people["operator"].post("/jobs/new", {"kind": "reassignment", "assignments": text})
    assert answer.status_code == 422
    assert answer.context["form_error"]["field"].startswith("assignments")


def test_a_second_job_of_a_kind_is_a_clash(people: dict[str, Client]) -> None:
    assert people["operator"].post("/health/run").status_code == 303
    assert people["operator"].post("/health/run").status_code == 409


def test_a_token_is_shown_once_and_revoked(people: dict[str, Client]) -> None:
    answer = people["admin"].post("/settings/tokens/new", {"name": "ci", "role": "viewer"})
    token = answer.context["new_token"]
    row = ApiToken.find(token)
    assert row is not None
    assert token not in people["admin"].get("/settings").content.decode()
    assert people["operator"].post(f"/settings/tokens/{row.pk}/revoke").status_code == 403
    people["admin"].post(f"/settings/tokens/{row.pk}/revoke", {"confirm": "yes"})
    assert ApiToken.find(token) is None
