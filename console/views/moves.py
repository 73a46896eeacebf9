"""Moving data: pick what, pick where to, look at the plan, strike out and edit, start it as a job. Until then nothing happens."""

from __future__ import annotations

import json
from typing import Any

from django.http import HttpResponse
from django.urls import reverse

from console.actions.jobs import create_job
from console.context import live_needs
from console.errors import Invalid
from console.jobs.reassignment import ASSIGNMENTS_LIMIT, fastest, of_pace, parse_throttle
from console.listing import Wanted, page_of_names
from console.move_plans import as_chosen, planned, reassignment_json, standing_at
from console.planning.model import Move, Plan
from console.planning.words import plan_words
from console.queries import page_of
from console.roles import OPERATOR, actor_of
from console.rules.throttle import least_seconds
from console.snapshot.placed import Place
from console.snapshot.read import Snapshot
from console.views import move_form as form
from console.views.support import KNOWN, done, explain, is_htmx, number, page, show

FOUND_ROWS, PLAN_ROWS, CHIPS, PARTITIONS_SHOWN, UNMET_SHOWN = 10, 50, 20, 200, 8
"""Of the search, of the plan's table, of the chosen topics, of a topic's partitions to pick from, and of what a balance does not reach."""


@page("GET", "POST", role=OPERATOR, doing="plan moves", query=("topic", "goal", "q", "page", "partition", "to", "away"))
def moves(request: Any) -> HttpResponse:
    """A POST's button says what is wanted: `plan`, `read` (what was pasted), `start`, `json`, one of the plan's rows, or more topics."""
    live_needs(request)
    context: dict[str, Any] = {}
    try:
        rows = _rows(request)
        context = {} if rows is None else {"plan": _shown_plan(request, rows)}
        if rows and ("start" in request.POST or "json" in request.POST):
            kept = _kept(request, rows)
            return _start(request, kept) if "start" in request.POST else _download(request, kept)
    except KNOWN as error:
        context |= _said(error)
    return _show(request, context)


def _said(error: Exception) -> dict[str, Any]:
    status, shown = explain(error)
    return {"form_error": {**shown, "form": "moves"}, "status": status}


def _show(request: Any, context: dict[str, Any]) -> HttpResponse:
    try:
        context = _picking(request, form.chosen_of(request)) | context
    except Invalid as error:
        context = _picking(request, form.NOTHING) | context | _said(error)
    return show(request, "moves", context, context.get("status", 200))


def _rows(request: Any) -> list[form.Assignment] | None:
    """The plan that is asked for now, or that was made before; None where there is none."""
    sent = request.POST
    if "plan" in sent:
        chosen = form.chosen_of(request)
        places = chosen.places()
        found = planned(Snapshot(request.cluster.pk), [] if places else chosen.topics, places, chosen.goal())
        request.move_plan = found
        return [{"topic": move.topic, "partition": move.partition, "replicas": list(move.replicas)} for move in found.moves]
    if "read" in sent:
        return form.uploaded(request)
    if sent.get("planned") and not is_htmx(request):
        return form.edited(form.checked(sent["planned"]), request)
    return None


def _kept(request: Any, rows: list[form.Assignment]) -> list[form.Assignment]:
    struck = form.struck_of(request)
    kept = [row for row in rows if Place(row["topic"], row["partition"]) not in struck]
    if not kept:
        raise Invalid("plan", "All rows are struck out: there is nothing to move.")
    return kept


def _start(request: Any, rows: list[form.Assignment]) -> HttpResponse:
    made = create_job(actor_of(request), request.cluster, "reassignment", {"assignments": rows} | of_pace(request.POST))
    return done(request, reverse("job", args=[made.pk]), f"Job {made.pk} is queued.")


def _download(request: Any, rows: list[form.Assignment]) -> HttpResponse:
    found = as_chosen(Snapshot(request.cluster.pk), rows)
    answer = HttpResponse(json.dumps(reassignment_json(found.moves), indent=1), content_type="application/json")
    answer["Content-Disposition"] = f'attachment; filename="reassignment-{request.cluster.pk}.json"'
    return answer


# --- the plan's table


def _shown_plan(request: Any, rows: list[form.Assignment]) -> dict[str, Any]:
    """The page of rows; the sentence and the bars are of those that are not struck out."""
    snapshot, struck = Snapshot(request.cluster.pk), form.struck_of(request) if "plan" not in request.POST else set()
    every = as_chosen(snapshot, rows)
    kept = as_chosen(snapshot, [row for row in rows if Place(row["topic"], row["partition"]) not in struck])
    first: Plan = getattr(request, "move_plan", every)
    by_place = {Place(move.topic, move.partition): move for move in [*every.moves, *first.moves]}
    shown, page_number, last = page_of(rows, number(request, "rows", 1, least=1) or 1, PLAN_ROWS)
    absent = len(rows) - len(every.moves) - every.unchanged
    return {
        "sentence": plan_words(kept if struck else first if first.moves or not every.moves else every),
        "absent": absent,
        "rows": [_row(request, row, by_place, struck) for row in shown],
        "text": form.plan_text(rows),
        "struck": "\n".join(f"{place.topic}/{place.partition}" for place in sorted(struck)),
        "struck_count": len(struck),
        "kept_count": len(kept.moves),
        "bars": _bars(kept),
        "unmet": first.unmet[:UNMET_SHOWN],
        "more_unmet": len(first.unmet) - UNMET_SHOWN,
        "page": page_number,
        "last": last,
        "least_s": _least_s(request, snapshot, kept),
    }


def _row(request: Any, row: form.Assignment, moves_by: dict[Place, Move], struck: set[Place]) -> dict[str, Any]:
    at = Place(row["topic"], row["partition"])
    move, snapshot = moves_by.get(at), Snapshot(request.cluster.pk)
    return {
        "topic": at.topic,
        "partition": at.partition,
        "name": f"{at.topic}/{at.partition}",
        "replicas": row["replicas"],
        "move": move,
        "before": move.before if move else next((now.replicas for now in standing_at(snapshot, [at])), ()),
        "struck": at in struck,
        "edited": form.edited_place(request) == at,
    }


def _bars(plan: Plan) -> list[dict[str, Any]]:
    """Each broker before and after, as shares of the most."""
    most = max((n for one in plan.brokers for n in (one.replicas_before, one.replicas_after)), default=0) or 1
    return [{"tally": one, "before": 100 * one.replicas_before // most, "after": 100 * one.replicas_after // most} for one in plan.brokers]


def _least_s(request: Any, snapshot: Snapshot, kept: Plan) -> float | None:
    try:
        throttle = parse_throttle(request.POST.get("throttle", ""))
    except Invalid:
        return None
    if throttle is None:
        return None
    places = [Place(move.topic, move.partition) for move in kept.moves]
    leaders = {Place(now.topic, now.partition): now.leader for now in standing_at(snapshot, places)}
    rows = [{"copy_bytes": m.copy_bytes, "adding": m.adding, "leader": leaders.get(at)} for at, m in zip(places, kept.moves, strict=True)]
    return least_seconds(rows, fastest(throttle))


# --- picking


def _picking(request: Any, chosen: form.Chosen) -> dict[str, Any]:
    snapshot, sent = Snapshot(request.cluster.pk), request.POST if request.method == "POST" else request.GET
    q = sent.get("q", "")[:249]
    if "all" in sent:
        chosen = chosen._replace(topics=sorted({*chosen.topics, *form.matching(snapshot, q)}))
    found = page_of_names(snapshot, Wanted(kind="topic", q=q), number(request, "page", 1, least=1) or 1, FOUND_ROWS)
    return {
        "chosen": chosen,
        "chips": chosen.topics[:CHIPS],
        "more_chips": len(chosen.topics) - CHIPS,
        "chosen_text": "\n".join(chosen.topics),
        "numbers": _numbers(snapshot, chosen),
        "q": q,
        "found": snapshot.topics(found.names),
        "found_page": found,
        "brokers": snapshot.brokers(),
        "limit": ASSIGNMENTS_LIMIT,
        "typed_throttle": sent.get("throttle", ""),
        "typed_at_once": sent.get("at_once", ""),
        "pasted": sent.get("assignments", ""),
    }


def _numbers(snapshot: Snapshot, chosen: form.Chosen) -> range:
    """The partitions to pick from: of one topic, where they are not too many to look at."""
    topics = snapshot.topics(chosen.topics) if len(chosen.topics) == 1 else []
    count = topics[0].partitions or 0 if topics else 0
    return range(count if count <= PARTITIONS_SHOWN else 0)
