"""Jobs: the list, asking for one, one, pausing and cancelling it."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from django.urls import reverse

from console import queries
from console.actions.jobs import cancel_job, create_job, pause_job, refuse_unknown
from console.actions.throttle import preview_throttle
from console.clock import now_ms
from console.context import live_needs
from console.errors import Invalid
from console.jobs.kind import JobKind
from console.jobs.reassignment import Reassignment, fastest, slowest
from console.jobs.registry import ON_REQUEST
from console.models import Job, job_value
from console.roles import OPERATOR, actor_of
from console.rules.copy_pace import left_s
from console.rules.moves import copy_figures, plan_sentence, planned
from console.rules.throttle import least_seconds
from console.snapshot.read import Snapshot
from console.views.support import KNOWN, ask_first, done, explain, is_confirmed, number, page, pages, refused, show

REASSIGNMENT = Reassignment()


def _context(request: Any) -> dict[str, Any]:
    found = queries.jobs(request.cluster, (number(request, "page", 1, least=1) or 1) if request.method == "GET" else 1)
    live_needs(request, jobs="1")
    snapshot = Snapshot(request.cluster.pk)
    return {
        "rows": found.rows,
        "forms": [kind.form for kind in ON_REQUEST.values() if kind.form],
        "brokers": snapshot.brokers(),
        "pages": pages(request, found.page, found.last, found.total),
    }


@page(query=("page",))
def jobs(request: Any) -> HttpResponse:
    return show(request, "jobs", _context(request))


@page()
def job_form(request: Any, name: str) -> HttpResponse:
    """The form of a kind on a page of its own, for who has no script that opens its dialog."""
    found = next((kind.form for kind in ON_REQUEST.values() if kind.form and kind.form.name == name), None)
    if found is None:
        raise queries.NotFound(f"There is no form {name!r} for a job.")
    return show(request, "job_form", {"form": found, "brokers": Snapshot(request.cluster.pk).brokers()})


@page("POST", role=OPERATOR, doing="start a job")
def job_create(request: Any) -> HttpResponse:
    """`preview=1` shows what a reassignment would do, and starts nothing."""
    name = request.POST.get("kind", "")
    kind = ON_REQUEST.get(name, JobKind())
    try:
        if request.POST.get("preview") == "1":
            plan = _planned(request)
            return show(request, "jobs", {**_context(request), "plan": plan, "values": request.POST.dict()})
        params = kind.of_form(request.POST)
        if kind.question and not is_confirmed(request):
            return _ask(request, kind, kind.checked(params))
        made = create_job(actor_of(request), request.cluster, name, params)
    except KNOWN as error:
        form = kind.form.name if kind.form else ""
        return refused(request, "jobs", {**_context(request), "values": request.POST.dict()}, error, form)
    return done(request, reverse("job", args=[made.pk]), f"Job {made.pk} is queued.")


def _ask(request: Any, kind: JobKind, params: dict[str, Any]) -> HttpResponse:
    refuse_unknown(request.cluster, kind, params)
    risks = kind.risks(params, Snapshot(request.cluster.pk).cluster())
    return ask_first(request, kind.question, risks, button=kind.question.rstrip("?"), back=reverse("jobs"))


def _planned(request: Any) -> dict[str, Any]:
    """The sentence, and a row a partition with a cell for each broker: stays, copies, goes or nothing."""
    snapshot = Snapshot(request.cluster.pk)
    rows = []
    params = REASSIGNMENT.checked(REASSIGNMENT.of_form(request.POST))
    for asked in params["assignments"]:
        now = snapshot.partition(asked["topic"], asked["partition"])
        if now is None:
            raise Invalid("assignments", f"There is no partition {asked['topic']}-{asked['partition']}.")
        rows.append(planned(now, asked["replicas"]))
    known = {b.broker_id: b.state for b in snapshot.brokers()}
    named = sorted(known.keys() | {b for row in rows for b in (*row["from"], *row["to"])})
    for row in rows:
        row["cells"] = [_cell(row, broker) for broker in named]
    away = [b for b in named if known.get(b) != "online" and any(b in row["to"] for row in rows)]
    return {"sentence": plan_sentence(rows), "rows": rows, "brokers": named, "away": away, "throttle": _throttled(request, rows, params)}


def _throttled(request: Any, rows: list[dict[str, Any]], params: dict[str, Any]) -> dict[str, Any] | None:
    """The settings that the throttle changes, and the least time that the copying takes with it."""
    rate = params.get("throttle")
    if rate is None:
        return None
    most, first = fastest(rate), slowest(rate)
    diff = preview_throttle(request.cluster, rows, first)
    return {"rate": most, "floor": None if first == most else first, "least_s": least_seconds(rows, most), "diff": diff}


def _cell(row: dict[str, Any], broker: int) -> dict[str, Any]:
    fate = "copies" if broker in row["adding"] else "goes" if broker in row["removing"] else "stays" if broker in row["to"] else ""
    return {
        "broker": broker,
        "fate": fate,
        "leads": broker == row["leader_then"],
        "first": broker == row["to"][0],
        "led": broker == row["leader"],
    }


def _job_context(request: Any, found: Job) -> dict[str, Any]:
    live_needs(request, jobs=str(found.pk))
    context = {"job": job_value(found), "detail": found.plan.get("detail", []), "steps": found.log}
    return {**context, **_copying(found)} if found.kind == REASSIGNMENT.name else context


def _copying(found: Job) -> dict[str, Any]:
    """How far the copies of a reassignment are, each and together, and its throttle as it is now; the time that is left of a row that moves
    is put into it."""
    rows, at_ms = found.plan.get("detail") or [], now_ms()
    for row in rows:
        row["left_s"] = left_s(row.get("pace", []), row["bytes"], row.get("bytes_total"), at_ms) if "bytes" in row else None
    figures = copy_figures(rows, found.plan.get("pace", []), at_ms)
    return {"copying": figures if figures["total"] else None, "throttle": found.plan.get("throttle")}


@page()
def job(request: Any, job_id: int) -> HttpResponse:
    return show(request, "job", _job_context(request, queries.job_or_fail(job_id, request.cluster)))


@page("POST", role=OPERATOR, doing="cancel a job")
def job_cancel(request: Any, job_id: int) -> HttpResponse:
    found = queries.job_or_fail(job_id, request.cluster)
    if found.active and not is_confirmed(request):
        risks = [job_value(found).cancel_means]
        return ask_first(request, f"Cancel job {job_id}?", risks, button="Cancel this job", back=reverse("job", args=[job_id]))
    try:
        cancel_job(actor_of(request), found)
    except KNOWN as error:
        status, shown = explain(error)
        return show(request, "job", {**_job_context(request, found), "form_error": shown}, status)
    return done(request, reverse("job", args=[job_id]), f"Job {job_id} is being cancelled.")


@page("POST", role=OPERATOR, doing="pause a job")
def job_pause(request: Any, job_id: int) -> HttpResponse:
    """`paused=1` pauses it, anything else has it go on."""
    found, paused = queries.job_or_fail(job_id, request.cluster), request.POST.get("paused") == "1"
    try:
        pause_job(actor_of(request), found, paused=paused)
    except KNOWN as error:
        status, shown = explain(error)
        return show(request, "job", {**_job_context(request, found), "form_error": shown}, status)
    return done(request, reverse("job", args=[job_id]), f"Job {job_id} {'is paused' if paused else 'goes on'}.")
