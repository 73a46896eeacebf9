"""Jobs: the list, asking for one, one, and cancelling it."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from django.urls import reverse

from console import queries
from console.actions.audit import Invalid
from console.actions.jobs import cancel_job, check_params, create_job, parse_assignments, parse_rate, refuse_unknown
from console.actions.throttle import preview_throttle
from console.context import live_needs
from console.models import Job, job_value
from console.roles import OPERATOR, actor_of
from console.rules.moves import plan_sentence, planned
from console.rules.throttle import least_seconds
from console.rules.words import counted
from console.snapshot.read import Snapshot
from console.views.support import KNOWN, ask_first, done, explain, is_confirmed, number, page, pages, refused, show


def _context(request: Any) -> dict[str, Any]:
    found = queries.jobs(request.cluster, (number(request, "page", 1, least=1) or 1) if request.method == "GET" else 1)
    live_needs(request, jobs="1")
    snapshot = Snapshot(request.cluster.pk)
    return {
        "rows": found.rows,
        "kinds": Job.KINDS,
        "brokers": snapshot.brokers(),
        "topics": snapshot.topic_names()[:1000],
        "pages": pages(request, found.page, found.last, found.total),
    }


@page(query=("page",))
def jobs(request: Any) -> HttpResponse:
    return show(request, "jobs", _context(request))


@page("POST", role=OPERATOR, doing="start a job")
def job_create(request: Any) -> HttpResponse:
    """`preview=1` shows what a reassignment would do, and starts nothing."""
    try:
        if request.POST.get("preview") == "1":
            plan = _planned(request)
            return show(request, "jobs", {**_context(request), "plan": plan, "values": request.POST.dict()})
        kind, params = request.POST.get("kind", ""), _params(request)
        if kind == "preferred_leader_election" and not is_confirmed(request):
            return _ask_election(request, check_params(kind, params).get("topics"))
        made = create_job(actor_of(request), request.cluster, kind, params)
    except KNOWN as error:
        form = "elect" if request.POST.get("kind") == "preferred_leader_election" else "move"
        return refused(request, "jobs", {**_context(request), "values": request.POST.dict()}, error, form)
    return done(request, reverse("job", args=[made.pk]), f"Job {made.pk} is queued.")


def _ask_election(request: Any, topics: list[str] | None) -> HttpResponse:
    """How many leaders would move is known of the whole cluster only."""
    refuse_unknown(request.cluster, "preferred_leader_election", {"topics": topics or []})
    away = (Snapshot(request.cluster.pk).cluster() or {}).get("not_preferred")
    where = f" of {', '.join(topics)}" if topics else ""
    count = (
        "" if away is None else f" In the whole cluster {counted(away, 'partition')} {'has' if away == 1 else 'have'} another leader now."
    )
    risks = [
        f"Each partition{where} goes back to the first replica of its assignment, where that one is alive and in sync.{count}",
        "Clients of a partition whose leader moves wait a moment; nothing is lost.",
    ]
    return ask_first(request, "Elect preferred leaders?", risks, button="Elect preferred leaders", back=reverse("jobs"))


def _planned(request: Any) -> dict[str, Any]:
    """The sentence, and a row a partition with a cell for each broker: stays, copies, goes or nothing."""
    snapshot = Snapshot(request.cluster.pk)
    rows = []
    params = check_params("reassignment", _params(request))
    for asked in params["assignments"]:
        now = snapshot.partition(asked["topic"], asked["partition"])
        if now is None:
            raise Invalid("assignments", f"There is no partition {asked['topic']}-{asked['partition']}.")
        rows.append(planned(now, asked["replicas"]))
    known = {b["broker_id"]: b["state"] for b in snapshot.brokers()}
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
    return {"rate": rate, "least_s": least_seconds(rows, rate), "diff": preview_throttle(request.cluster, rows, rate)}


def _cell(row: dict[str, Any], broker: int) -> dict[str, Any]:
    fate = "copies" if broker in row["adding"] else "goes" if broker in row["removing"] else "stays" if broker in row["to"] else ""
    return {
        "broker": broker,
        "fate": fate,
        "leads": broker == row["leader_then"],
        "first": broker == row["to"][0],
        "led": broker == row["leader"],
    }


def _params(request: Any) -> dict[str, Any]:
    if request.POST.get("kind") == "reassignment":
        params = {"assignments": parse_assignments(request.POST.get("assignments", ""))}
        rate = parse_rate(request.POST.get("throttle", ""))
        return params if rate is None else {**params, "throttle": rate}
    topics = [t for t in request.POST.get("topics", "").replace(",", " ").split() if t]
    return {"topics": topics} if topics else {}


def _job_context(request: Any, found: Job) -> dict[str, Any]:
    live_needs(request, jobs=str(found.pk))
    return {"job": {**job_value(found), "detail": found.plan.get("detail", [])}, "steps": found.log}


@page()
def job(request: Any, job_id: int) -> HttpResponse:
    return show(request, "job", _job_context(request, queries.job_or_fail(job_id)))


@page("POST", role=OPERATOR, doing="cancel a job")
def job_cancel(request: Any, job_id: int) -> HttpResponse:
    found = queries.job_or_fail(job_id)
    if found.active and not is_confirmed(request):
        risks = [job_value(found)["cancel_means"]]
        return ask_first(request, f"Cancel job {job_id}?", risks, button="Cancel this job", back=reverse("job", args=[job_id]))
    try:
        cancel_job(actor_of(request), found)
    except KNOWN as error:
        status, shown = explain(error)
        return show(request, "job", {**_job_context(request, found), "form_error": shown}, status)
    return done(request, reverse("job", args=[job_id]), f"Job {job_id} is being cancelled.")
