"""One group: members, and committed, end and lag of each partition."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from django.urls import reverse

from console import queries
from console.actions.groups import delete_group, plan_offsets, set_offsets
from console.actions.offsets import parse_partitions
from console.context import encoded, live_needs
from console.errors import Invalid
from console.roles import ADMIN, OPERATOR, actor_of
from console.rules.words import counted
from console.snapshot.read import Snapshot
from console.views.support import KNOWN, done, page, refused_again, show


def _context(request: Any, group_id: str) -> dict[str, Any]:
    snapshot = Snapshot(request.cluster.snapshot_id)
    found = queries.group_or_fail(snapshot, group_id)
    live_needs(request, groups=encoded([group_id]), events="1")
    events = queries.events(request.cluster, queries.EventQuery(group=group_id), count=20)
    return {"group": found, "rows": snapshot.lag_rows(group_id), "members": found.members, "events": events}


@page()
def group(request: Any, group_id: str) -> HttpResponse:
    return show(request, "group", _context(request, group_id))


@page("POST", role=OPERATOR, doing="move offsets")
def group_offsets(request: Any, group_id: str) -> HttpResponse:
    """`preview=1` shows where each offset would go."""
    topic, to = request.POST.get("topic", "").strip(), request.POST.get("to", "").strip()
    try:
        if not topic:
            raise Invalid("topic", "Name the topic whose offsets are to move.")
        asked: dict[str, Any] = {"topic": topic, "spans": parse_partitions(request.POST.get("partition", "")), "to": to}
        if request.POST.get("preview") == "1":
            plan = plan_offsets(request.cluster, group_id, **asked)
            beyond = any(row["note"] for row in plan)
            return show(request, "group", {**_context(request, group_id), "plan": plan, "beyond": beyond, "asked": request.POST.dict()})
        plan = set_offsets(actor_of(request), request.cluster, group_id, **asked, confirm=request.POST.get("confirm") == "yes")
    except KNOWN as error:
        return _refused(request, group_id, error, "set-offsets")
    return done(request, reverse("group", args=[group_id]), f"{counted(len(plan), 'offset')} of {group_id} on {topic} moved.")


@page("POST", role=ADMIN, doing="delete group")
def group_delete(request: Any, group_id: str) -> HttpResponse:
    try:
        delete_group(actor_of(request), request.cluster, group_id, confirm=request.POST.get("confirm", ""))
    except KNOWN as error:
        return _refused(request, group_id, error, "delete-group")
    return done(request, reverse("groups"), f"Group {group_id} is deleted.")


def _refused(request: Any, group_id: str, error: Exception, form: str) -> HttpResponse:
    return refused_again(request, "group", lambda: _context(request, group_id), error, form)
