"""Schedules by REST and on their pages: made, looked at, changed, paused, run and deleted; each form says at the field what is wrong."""

from __future__ import annotations

import importlib
import json
import pkgutil
import re
from datetime import UTC, datetime
from io import StringIO
from typing import Any

import pytest
from django.apps import apps
from django.core.management import call_command
from django.test import Client

from console import migrations
from console.actions.clusters import register
from console.actions.schedules import first_schedules
from console.jobs import scheduled
from console.models import AuditEntry, Cluster, Job, ReturnElection, Schedule, ScheduleRun
from console.roles import ADMIN, Actor

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


# --- pages

FORM = {"name": "Leaders at night", "kind": "preferred_leader_election", "cron": "0 2 * * *", "zone": "Europe/Berlin", "scope": "all"}


def sent_form(browser: Client, path: str = "/schedules/new", **fields: Any) -> Any:
    return browser.post(path, {**FORM, **fields})


def test_a_schedule_is_made_looked_at_changed_and_deleted_on_pages(people: dict[str, Client]) -> None:
    operator = people["operator"]
    made = sent_form(operator, scope="broker", broker="2")
    row = Schedule.objects.get()
    assert (made.status_code, made.headers["Location"]) == (303, f"/schedules/{row.pk}")
    assert (row.params, row.zone, row.created_by) == ({"broker": 2}, "Europe/Berlin", "operator")
    page = people["viewer"].get(f"/schedules/{row.pk}").content.decode()
    assert "Elect broker 2 where it is the preferred leader." in page
    assert "It was never due yet." in page
    assert len(re.findall(r"<time datetime=", page)) == 5
    listed = people["viewer"].get("/schedules").content.decode()
    assert f'href="/schedules/{row.pk}">Leaders at night' in listed
    assert "02:00 Europe/Berlin)" in listed
    form = operator.get(f"/schedules/{row.pk}/change").content.decode()
    assert '<option value="2" selected>' in form
    assert (
        sent_form(operator, f"/schedules/{row.pk}/change", name="Mornings", cron="0 6 * * *", scope="topics", topics="orders").status_code
        == 303
    )
    row.refresh_from_db()
    assert (row.name, row.cron, row.params) == ("Mornings", "0 6 * * *", {"topics": ["orders"]})
    asked = operator.post(f"/schedules/{row.pk}/delete").content.decode()
    assert "Delete “Mornings”?" in asked
    assert Schedule.objects.exists()
    assert operator.post(f"/schedules/{row.pk}/delete", {"confirm": "yes"}).status_code == 303
    assert not Schedule.objects.exists()


def test_one_is_paused_and_run_on_its_page(people: dict[str, Client]) -> None:
    operator = people["operator"]
    sent_form(operator)
    row = Schedule.objects.get()
    operator.post(f"/schedules/{row.pk}/pause", {"paused": "1"})
    assert "It begins nothing while it is paused." in operator.get(f"/schedules/{row.pk}").content.decode()
    assert "It begins now, beside its times" in operator.post(f"/schedules/{row.pk}/run").content.decode()
    assert not Job.objects.exists()
    job = operator.post(f"/schedules/{row.pk}/run", {"confirm": "yes"})
    number = Job.objects.get().pk
    assert job.headers["Location"] == f"/jobs/{number}"
    page = operator.get(f"/schedules/{row.pk}").content.decode()
    assert f'href="/jobs/{number}">#{number}' in page
    assert "queued" in page
    again = operator.post(f"/schedules/{row.pk}/run", {"confirm": "yes"})
    assert again.status_code == 409
    assert "is queued still" in again.content.decode()
    operator.post(f"/schedules/{row.pk}/pause", {"paused": "0"})
    row.refresh_from_db()
    assert row.next_at is not None


def test_a_report_is_run_without_asking_back(people: dict[str, Client]) -> None:
    sent_form(people["operator"], kind="health_report")
    people["operator"].post(f"/schedules/{Schedule.objects.get().pk}/run")
    assert Job.objects.get().kind == "health_report"


MOVES = {"kind": "reassignment", "goal": "balance", "aims": "racks, replicas", "moved": "", "moves_max": "20", "throttle": "10 MiB"}


def test_moves_are_scheduled_with_their_limits_and_come_back_into_the_form(people: dict[str, Client]) -> None:
    operator = people["operator"]
    sent_form(operator, **MOVES, copy_bytes_max="2 GiB", at_once="3", leaders="1")
    row = Schedule.objects.get()
    assert row.params == {
        "goal": {"balance": ["racks", "replicas"], "leaders": True},
        "throttle": 10 * 2**20,
        "at_once": 3,
        "moves_max": 20,
        "copy_bytes_max": 2 * 2**30,
    }
    before = dict(row.params)
    values = operator.get(f"/schedules/{row.pk}/change").context["values"]
    fields = {name: value for name, value in values.items() if name not in ("leaders", "paused")} | {"leaders": "1"}
    assert operator.post(f"/schedules/{row.pk}/change", fields).status_code == 303
    row.refresh_from_db()
    assert row.params == before


def test_moves_are_scheduled_with_a_steered_throttle(people: dict[str, Client], operator: Asked) -> None:
    sent_form(people["operator"], **MOVES | {"throttle": "5 MiB to 50 MiB"})
    row = Schedule.objects.get()
    assert row.params["throttle"] == {"floor": 5 * 2**20, "ceiling": 50 * 2**20}
    assert people["operator"].get(f"/schedules/{row.pk}/change").context["says_all"] is True
    told = operator("GET", f"/schedules/{row.pk}", None, 200)
    assert told["params"]["throttle"] == row.params["throttle"]
    assert "at 5.00\u202fMiB/s to 50.0\u202fMiB/s on each broker, steered" in scheduled.told(row.kind, row.params)


@pytest.mark.parametrize(
    ("goal", "kept"),
    [
        ({"goal": "leaders"}, {"leaders": True}),
        ({"goal": "away", "away": "3", "instead": "1"}, {"away": [3], "instead": 1}),
        ({"goal": "factor", "rf": "2", "moved": "orders", "to": ["1", "2"]}, {"replication_factor": 2, "to": [1, 2]}),
        ({"goal": "to", "moved": "orders", "to": ["1"]}, {"to": [1]}),
    ],
)
def test_every_goal_can_be_typed_and_changed(people: dict[str, Client], goal: dict[str, Any], kept: dict[str, Any]) -> None:
    sent_form(people["operator"], **{**MOVES, **goal})
    row = Schedule.objects.get()
    assert row.params["goal"] == kept
    assert people["operator"].get(f"/schedules/{row.pk}/change").context["says_all"] is True


def test_a_goal_that_the_form_cannot_hold_stays_as_it_is(people: dict[str, Client], operator: Asked) -> None:
    goal = {"away": [3], "balance": ["replicas"]}
    made = operator("POST", "/schedules", {**NIGHTLY, "kind": "reassignment", "params": {"goal": goal}}, 201)
    path = f"/schedules/{made['id']}/change"
    page = people["operator"].get(path).content.decode()
    assert "says more than this form can" in page
    assert 'name="goal"' not in page
    sent_form(people["operator"], path, name="Renamed", kind="health_report")
    row = Schedule.objects.get()
    assert (row.name, row.kind, row.params["goal"]) == ("Renamed", "reassignment", goal)


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"cron": "0 0 31 2 *"}, "cron"),
        ({"zone": "Europe/Atlantis"}, "zone"),
        ({"name": " "}, "name"),
        ({"kind": "record_copy"}, "kind"),
        ({"scope": "topics"}, "topics"),
        ({"scope": "topics", "topics": "nothing"}, "topics"),
        ({"scope": "broker"}, "broker"),
        ({"scope": "broker", "broker": "x"}, "broker"),
        ({**MOVES, "goal": "none"}, "goal"),
        ({**MOVES, "goal": "to"}, "goal"),
        ({**MOVES, "goal": "away"}, "goal"),
        ({**MOVES, "goal": "away", "away": "x"}, "away"),
        ({**MOVES, "aims": "racks, beauty"}, "goal"),
        ({**MOVES, "moves_max": "many"}, "moves_max"),
        ({**MOVES, "throttle": "fast"}, "throttle"),
        ({**MOVES, "throttle": "5 MiB to 1 MiB"}, "throttle"),
        ({**MOVES, "copy_bytes_max": "much"}, "copy_bytes_max"),
        ({**MOVES, "at_once": "0"}, "at_once"),
        ({**MOVES, "goal": "factor", "rf": "2"}, "topics"),
    ],
)
def test_the_form_says_at_the_field_what_is_wrong(people: dict[str, Client], wrong: dict[str, str], field: str) -> None:
    """With all that was typed."""
    answer = sent_form(people["operator"], **wrong)
    page = answer.content.decode()
    assert answer.status_code == 422
    assert page.count(f'id="wrong-schedule-{field}"') == 1
    assert 'value="Leaders at night"' in page or "name" in wrong
    assert not Schedule.objects.exists()


def test_the_times_are_shown_while_they_are_typed(people: dict[str, Client]) -> None:
    viewer, ask = people["viewer"], {"HX-Request": "true"}
    part = viewer.get("/schedules/preview?cron=30+2+*+*+*&zone=Europe/Berlin", headers=ask).content.decode()
    assert part.count("<time ") == 5
    assert "<html" not in part
    assert "would never be due" in viewer.get("/schedules/preview?cron=0+0+31+2+*&zone=UTC", headers=ask).content.decode()
    assert "No time zone" in viewer.get("/schedules/preview?cron=0+0+*+*+*&zone=Mars", headers=ask).content.decode()
    assert "<html" in viewer.get("/schedules/preview?cron=0+0+*+*+*").content.decode()


def test_viewers_are_offered_no_change_and_make_none(people: dict[str, Client], local: Cluster) -> None:
    sent_form(people["operator"])
    row, viewer = Schedule.objects.get(), people["viewer"]
    for path in ("/schedules", f"/schedules/{row.pk}"):
        assert re.findall(r'method="post" action="/schedules[^"]*"', viewer.get(path).content.decode()) == []
    assert [viewer.get(path).status_code for path in ("/schedules/new", f"/schedules/{row.pk}/change")] == [403, 403]
    for path in (
        "/schedules/new",
        "/schedules/after-return",
        *(f"/schedules/{row.pk}/{how}" for how in ("change", "pause", "run", "delete")),
    ):
        assert viewer.post(path, {**FORM, "confirm": "yes", "paused": "1", "on": "1"}).status_code == 403
    row.refresh_from_db()
    assert (row.paused, Job.objects.count(), ReturnElection.objects.count()) == (False, 0, 0)


def test_a_read_only_cluster_s_pages_offer_what_only_looks(people: dict[str, Client], local: Cluster) -> None:
    first_schedules(local)
    sent_form(people["operator"])
    Cluster.objects.update(read_only=True)
    report, election = Schedule.objects.order_by("id")
    operator = people["operator"]
    posts = {
        row.pk: set(re.findall(rf'action="/schedules/{row.pk}/(\w+)"', operator.get(f"/schedules/{row.pk}").content.decode()))
        for row in (report, election)
    }
    assert posts == {report.pk: {"run", "pause", "delete"}, election.pk: {"pause", "delete"}}
    assert "after-return" not in operator.get("/schedules").content.decode()
    refused = sent_form(operator, name="another")
    assert refused.status_code == 409
    assert "is read-only here" in refused.content.decode()


def test_the_election_after_a_return_is_set_on_the_page(people: dict[str, Client]) -> None:
    operator = people["operator"]
    assert "Off: leaders stay where they are" in operator.get("/schedules").content.decode()
    assert operator.post("/schedules/after-return", {"on": "1"}).status_code == 303
    assert ReturnElection.objects.get().is_on
    assert "On: once a broker is back" in people["viewer"].get("/schedules").content.decode()
    operator.post("/schedules/after-return", {"on": "0"})
    assert not ReturnElection.objects.get().is_on


def test_what_became_of_each_time_is_said_in_words(people: dict[str, Client], local: Cluster) -> None:
    sent_form(people["operator"])
    row = Schedule.objects.get()
    for hour, outcome in enumerate(ScheduleRun.OUTCOMES):
        due = datetime(2026, 1, 1, hour, tzinfo=UTC)
        ScheduleRun.objects.create(schedule=row, due_at=due, by="beat", outcome=outcome, said="<b>why</b>")
    page = people["viewer"].get(f"/schedules/{row.pk}").content.decode()
    for words in ("unknown", "nothing to do", "skipped", "missed", "not begun"):
        assert f">{words}</span>" in page
    assert "<b>why" not in page
    assert "2026-01-01 04:00:00" in page


def test_a_long_history_goes_page_by_page(people: dict[str, Client], local: Cluster) -> None:
    sent_form(people["operator"])
    row = Schedule.objects.get()
    rows = [ScheduleRun(schedule=row, due_at=datetime(2026, 1, 1, 0, n, tzinfo=UTC), by="beat", outcome="missed") for n in range(30)]
    ScheduleRun.objects.bulk_create(rows)
    first = people["viewer"].get(f"/schedules/{row.pk}")
    older = people["viewer"].get(f"/schedules/{row.pk}?before={first.context['older']}")
    assert [len(page.context["runs"]) for page in (first, older)] == [25, 5]
    assert older.context["older"] is None


def test_an_election_of_one_broker_is_asked_for_on_the_page_of_jobs(people: dict[str, Client]) -> None:
    operator, form = people["operator"], {"kind": "preferred_leader_election", "broker": "2"}
    assert "whose preferred leader is broker 2" in operator.post("/jobs/new", form).content.decode()
    assert operator.post("/jobs/new", {**form, "confirm": "yes"}).status_code == 303
    assert Job.objects.get().params == {"broker": 2}
    wrong = operator.post("/jobs/new", {**form, "topics": "orders"})
    assert 'id="wrong-elect-broker"' in wrong.content.decode()
    assert operator.post("/jobs/new", {**form, "broker": "x"}).status_code == 422


# --- from the first start


def test_the_local_cluster_begins_with_a_daily_report_and_deleting_it_is_for_good(local: Cluster, settings: Any, tmp_path: Any) -> None:
    settings.CONSOLE_DIR = tmp_path / "console"
    local.delete()
    call_command("bootstrap", stdout=StringIO())
    row = Schedule.objects.get()
    assert (row.name, row.cluster_id, row.cron, row.zone, row.paused) == ("Daily health report", "local", "0 6 * * *", "UTC", False)
    row.delete()
    call_command("bootstrap", stdout=StringIO())
    assert not Schedule.objects.exists()


def test_a_registered_cluster_begins_with_one_too(local: Cluster) -> None:
    register(Actor("x", ADMIN, "api"), "north", {"name": "North", "bootstrap_servers": "k:1"})
    assert [(row.cluster_id, row.kind) for row in Schedule.objects.all()] == [("north", "health_report")]


@pytest.mark.parametrize("hour", [6, None])
def test_clusters_that_were_there_before_get_theirs_by_the_migration(local: Cluster, settings: Any, hour: int | None) -> None:
    settings.REPORT_HOUR = hour
    [name] = [module.name for module in pkgutil.iter_modules(migrations.__path__) if module.name.endswith("_schedules")]
    importlib.import_module(f"console.migrations.{name}").report_each_day(apps, None)
    migrated = Schedule.objects.get()
    kept = {field: getattr(migrated, field) for field in ("name", "kind", "cron", "zone", "paused", "created_by", "next_at")}
    migrated.delete()
    first_schedules(local)
    made = Schedule.objects.get()
    assert kept == {field: getattr(made, field) for field in kept}


def test_a_broker_s_page_gives_it_its_leaders(people: dict[str, Client], local: Cluster) -> None:
    offer = '<input type="hidden" name="broker" value="2"><button type="submit">Give it its leaders…</button>'
    assert [role for role in people if offer in people[role].get("/brokers/2").content.decode()] == ["operator", "admin"]
    Cluster.objects.update(read_only=True)
    assert offer not in people["admin"].get("/brokers/2").content.decode()
