"""One group: members, and committed, end and lag of each partition; its offsets moved, deleted with it."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from django.urls import reverse

from console import queries
from console.actions.groups import delete_group, plan_offsets, set_offsets, words_of
from console.actions.offset_texts import write_csv
from console.context import encoded, live_needs
from console.errors import Outdated
from console.lagging import losses
from console.roles import ADMIN, OPERATOR, actor_of
from console.rules.words import counted
from console.snapshot.read import Snapshot
from console.views.offset_form import HOWS, asked_of, local_words, sure_of
from console.views.support import KNOWN, done, page, refused_again, show

PLAN_SHOWN = 500
CHANGES_SHOWN = 10


def group_context(request: Any, group_id: str) -> dict[str, Any]:
    snapshot = Snapshot(request.cluster.snapshot_id)
    found = queries.group_or_fail(snapshot, group_id)
    live_needs(request, groups=encoded([group_id]), events="1")
    events = queries.events(request.cluster, queries.EventQuery(group=group_id), count=20)
    changes = queries.offset_changes(request.cluster, group_id, count=CHANGES_SHOWN)
    more = {"members": found.members, "events": events, "hows": HOWS, "changes": changes}
    rows = snapshot.lag_rows(group_id)
    return {"group": found, "rows": rows, "losses": losses(snapshot, rows), **more}


@page()
def group(request: Any, group_id: str) -> HttpResponse:
    return show(request, "group", group_context(request, group_id))


@page("POST", role=OPERATOR, doing="move offsets")
def group_offsets(request: Any, group_id: str) -> HttpResponse:
    """`preview=1` shows where each offset would go; what is then sent is done only where nothing was committed since."""
    if request.POST.get("preview") == "1":
        return _preview(request, group_id)
    try:
        what, to = asked_of(request, group_id)
        seen = [request.POST["seen"]] if request.POST.get("seen") else []
        confirm = request.POST.get("confirm") == "yes"
        plan, change = set_offsets(actor_of(request), request.cluster, group_id, what, to, seen=seen, confirm=confirm)
    except Outdated as error:
        return _preview(request, group_id, str(error))
    except KNOWN as error:
        return refused_change(request, group_id, error, "set-offsets")
    said = f"{counted(len(plan.moves), 'offset')} of {group_id} moved {words_of(to)}. Change {change.pk}: it can be put back."
    return done(request, reverse("group", args=[group_id]), said)


def _preview(request: Any, group_id: str, outdated: str = "") -> HttpResponse:
    try:
        what, to = asked_of(request, group_id)
        plan = plan_offsets(request.cluster, group_id, what, to)
        csv = write_csv((move.topic, move.partition, move.after) for move in plan.moves if move.after is not None)
        shown = {"plan": plan, "moves": plan.moves[:PLAN_SHOWN], "more": len(plan.moves) - PLAN_SHOWN, "csv": csv}
        shown |= {
            "asked": request.POST.dict(),
            "sure": sure_of(request, to, plan.at),
            "words": words_of(to),
            "local": local_words(request),
            "outdated": outdated,
        }
        return show(request, "group", {**group_context(request, group_id), **shown}, 412 if outdated else 200)
    except KNOWN as error:
        return refused_change(request, group_id, error, "set-offsets")


@page(query=())
def group_export(request: Any, group_id: str) -> HttpResponse:
    """What is committed, as Kafka's tool exports it and reads it again."""
    rows = Snapshot(request.cluster.snapshot_id).lag_rows(group_id)
    queries.group_or_fail(Snapshot(request.cluster.snapshot_id), group_id)
    text = write_csv((row.topic, row.partition, row.committed) for row in rows if row.committed is not None)
    return HttpResponse(text, content_type="text/csv; charset=utf-8", headers={"Content-Disposition": 'attachment; filename="offsets.csv"'})


@page("POST", role=ADMIN, doing="delete group")
def group_delete(request: Any, group_id: str) -> HttpResponse:
    try:
        change = delete_group(actor_of(request), request.cluster, group_id, confirm=request.POST.get("confirm", ""))
    except KNOWN as error:
        return refused_change(request, group_id, error, "delete-group")
    if change is None:
        return done(request, reverse("groups"), f"Group {group_id} is deleted.")
    said = f"Group {group_id} is deleted. Its {counted(change.partitions, 'offset')} are kept as change {change.pk} and can be put back."
    return done(request, reverse("offset_change", args=[change.pk]), said)


def refused_change(request: Any, group_id: str, error: Exception, form: str) -> HttpResponse:
    return refused_again(request, "group", lambda: group_context(request, group_id), error, form)
