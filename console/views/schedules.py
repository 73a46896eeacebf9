"""Schedules: the list, one with its history, the form with its preview, pausing, running and deleting; elections after a return."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from django.urls import reverse
from django.utils import timezone

from console.actions.schedules import (
    change_schedule,
    create_schedule,
    delete_schedule,
    pause_schedule,
    run_schedule,
    set_after_return,
)
from console.context import live_needs
from console.errors import Invalid
from console.jobs import scheduled
from console.models import Schedule
from console.roles import OPERATOR, actor_of
from console.rules.schedules.timetable import zones
from console.schedule_values import after_return_of, last_run_of, preview, runs_of, schedule_or_fail, schedule_value, schedules_of
from console.snapshot.read import Snapshot
from console.views import schedule_form as form
from console.views.support import KNOWN, ask_first, done, explain, is_confirmed, number, page, refused, show

KIND_WORDS = {
    scheduled.ELECTION: "Preferred leader election",
    scheduled.REPORT: "Health report",
    scheduled.ANALYSIS: "Analysis of the samples, by Spark",
    scheduled.MOVES: "Moves of replicas, planned when the time has come",
}
RUNS = 25
"""Of the history, on one page."""
GOALS = (
    ("balance", "Balance the brokers by"),
    ("leaders", "Only spread the preferred leaders; nothing is copied"),
    ("away", "Empty broker"),
    ("factor", "Replicas of each partition:"),
    ("to", "Move to the brokers chosen below"),
)


@page()
def schedules(request: Any) -> HttpResponse:
    return show(request, "schedules", _list(request))


def _list(request: Any) -> dict[str, Any]:
    live_needs(request, jobs="1")
    return {"rows": schedules_of(request.cluster, timezone.now()), "after_return": after_return_of(request.cluster), "most": Schedule.MOST}


@page(query=("before",))
def schedule(request: Any, schedule_id: int) -> HttpResponse:
    return show(request, "schedule", _one(request, schedule_or_fail(request.cluster, schedule_id)))


def _one(request: Any, row: Schedule) -> dict[str, Any]:
    live_needs(request, jobs="1")
    before = number(request, "before") if request.method != "POST" else None
    runs = runs_of(row, before, RUNS)
    return {
        "row": schedule_value(row, timezone.now(), last_run_of(row)),
        "runs": runs,
        "older": runs[-1].id if len(runs) == RUNS else None,
        "before": before,
        **_times(row.cron, row.zone),
        "changes_cluster": scheduled.KINDS[row.kind].changes_cluster,
    }


def _times(cron: str, zone: str) -> dict[str, Any]:
    """The next five, or why there are none."""
    try:
        return {"times": preview(cron, zone, timezone.now()), "zone": zone}
    except Invalid as error:
        return {"times": [], "why": error.detail, "zone": zone}


@page(query=("cron", "zone"))
def schedule_preview(request: Any) -> HttpResponse:
    """The times below the form, while they are typed."""
    return show(request, "schedule_preview", _times(request.GET.get("cron", ""), request.GET.get("zone", "").strip() or "UTC"))


@page("GET", "HEAD", "POST", role=OPERATOR, doing="make schedule")
def schedule_new(request: Any) -> HttpResponse:
    if request.method != "POST":
        actor_of(request).require(OPERATOR, "making a schedule")
        return show(request, "schedule_form", _form(request, form.EMPTY, None))
    values = form.typed(request.POST)
    try:
        asked = {name: values[name] for name in ("name", "kind", "cron", "zone", "paused")}
        made = create_schedule(actor_of(request), request.cluster, params=form.params_of(values), **asked)
    except KNOWN as error:
        return refused(request, "schedule_form", _form(request, values, None), error, "schedule")
    return done(request, reverse("schedule", args=[made.pk]), f"“{made.name}” is kept.")


@page("GET", "HEAD", "POST", role=OPERATOR, doing="change schedule")
def schedule_change(request: Any, schedule_id: int) -> HttpResponse:
    """Of one whose goal says more than the form can hold, all but the goal."""
    row = schedule_or_fail(request.cluster, schedule_id)
    if request.method != "POST":
        actor_of(request).require(OPERATOR, "changing a schedule")
        return show(request, "schedule_form", _form(request, form.values_of(row), row))
    values = form.typed(request.POST) | {"kind": row.kind, "paused": row.paused}
    try:
        changes = {name: values[name] for name in ("name", "cron", "zone")}
        changes |= {"params": form.params_of(values)} if form.says_all(row) else {}
        changed = change_schedule(actor_of(request), row, changes)
    except KNOWN as error:
        return refused(request, "schedule_form", _form(request, values, row), error, "schedule")
    return done(request, reverse("schedule", args=[schedule_id]), f"“{changed.name}” is changed.")


def _form(request: Any, values: dict[str, Any], row: Schedule | None) -> dict[str, Any]:
    return {
        "values": values,
        "changing": row,
        "says_all": row is None or form.says_all(row),
        "does": row and scheduled.told(row.kind, row.params),
        "kinds": list(KIND_WORDS.items()),
        "kind_words": KIND_WORDS.get(values["kind"], ""),
        "goals": GOALS,
        "zones": zones(),
        "brokers": Snapshot(request.cluster.pk).brokers(),
        **_times(values["cron"], values["zone"]),
    }


@page("POST", role=OPERATOR, doing="pause schedule")
def schedule_pause(request: Any, schedule_id: int) -> HttpResponse:
    """`paused=1` pauses it, anything else has it go on."""
    row, paused = schedule_or_fail(request.cluster, schedule_id), request.POST.get("paused") == "1"
    try:
        pause_schedule(actor_of(request), row, paused=paused)
    except KNOWN as error:
        return _not_done(request, row, error)
    return done(request, reverse("schedule", args=[schedule_id]), f"“{row.name}” {'is paused' if paused else 'goes on'}.")


@page("POST", role=OPERATOR, doing="run schedule")
def schedule_run(request: Any, schedule_id: int) -> HttpResponse:
    row = schedule_or_fail(request.cluster, schedule_id)
    if scheduled.KINDS[row.kind].changes_cluster and not is_confirmed(request):
        risks = [f"It begins now, beside its times: {scheduled.told(row.kind, row.params)}"]
        return ask_first(request, f"Run “{row.name}” now?", risks, button="Run it now", back=reverse("schedule", args=[schedule_id]))
    try:
        run = run_schedule(actor_of(request), row)
    except KNOWN as error:
        return _not_done(request, row, error)
    if run.job_id is None:
        return done(request, reverse("schedule", args=[schedule_id]), run.said)
    return done(request, reverse("job", args=[run.job_id]), f"Job {run.job_id} is queued.")


@page("POST", role=OPERATOR, doing="delete schedule")
def schedule_delete(request: Any, schedule_id: int) -> HttpResponse:
    row = schedule_or_fail(request.cluster, schedule_id)
    if not is_confirmed(request):
        risks = ["It begins nothing any more, and its history goes with it. A job that it has begun goes on. A pause keeps both."]
        return ask_first(request, f"Delete “{row.name}”?", risks, button="Delete it", back=reverse("schedule", args=[schedule_id]))
    try:
        delete_schedule(actor_of(request), row)
    except KNOWN as error:
        return _not_done(request, row, error)
    return done(request, reverse("schedules"), f"“{row.name}” is deleted.")


def _not_done(request: Any, row: Schedule, error: Exception) -> HttpResponse:
    status, shown = explain(error)
    return show(request, "schedule", {**_one(request, row), "form_error": shown}, status)


@page("POST", role=OPERATOR, doing="elect after a return")
def schedules_after_return(request: Any) -> HttpResponse:
    """`on=1` has leaders go back by themselves, anything else leaves them."""
    is_on = request.POST.get("on") == "1"
    try:
        set_after_return(actor_of(request), request.cluster, is_on=is_on)
    except KNOWN as error:
        status, shown = explain(error)
        return show(request, "schedules", {**_list(request), "form_error": shown}, status)
    return done(request, reverse("schedules"), after_return_of(request.cluster).sentence)
