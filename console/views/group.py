"""One group: members, and committed, end and lag of each partition."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from django.urls import reverse

from console import queries
from console.actions.audit import Invalid
from console.actions.groups import delete_group, plan_offsets, set_offsets
from console.context import encoded, live_needs
from console.queries import NotFound
from console.roles import ADMIN, OPERATOR, actor_of
from console.snapshot.read import Snapshot
from console.views.support import KNOWN, done, explain, number, page, show
from workers.rules.words import counted


def _context(request: Any, group_id: str) -> dict[str, Any]:
    snapshot = Snapshot(request.cluster.pk)
    found = queries.group_or_fail(snapshot, group_id)
    live_needs(request, groups=encoded([group_id]), events="1")
    events = queries.events(request.cluster, group=group_id, count=20)
    return {"group": found, "rows": snapshot.lag_rows(group_id), "members": found["members"], "events": events}


@page()
def group(request: Any, group_id: str) -> HttpResponse:
    return show(request, "group", _context(request, group_id))


@page("POST", role=OPERATOR, doing="move offsets")
def group_offsets(request: Any, group_id: str) -> HttpResponse:
    topic, to = request.POST.get("topic", "").strip(), request.POST.get("to", "").strip()
    partition = number(request, "partition")
    try:
        if not topic:
            raise Invalid("topic", "Name the topic whose offsets are to move.")
        if request.POST.get("preview") == "1":
            plan = plan_offsets(request.cluster, group_id, topic, partition, to)
            return show(request, "group", {**_context(request, group_id), "plan": plan, "asked": request.POST.dict()})
        plan = set_offsets(actor_of(request), request.cluster, group_id, topic=topic, partition=partition, to=to)
    except KNOWN as error:
        return _refused(request, group_id, error)
    return done(request, reverse("group", args=[group_id]), f"{counted(len(plan), 'offset')} of {group_id} on {topic} moved.")


@page("POST", role=ADMIN, doing="delete group")
def group_delete(request: Any, group_id: str) -> HttpResponse:
    try:
        delete_group(actor_of(request), request.cluster, group_id, confirm=request.POST.get("confirm", ""))
    except KNOWN as error:
        return _refused(request, group_id, error)
    return done(request, reverse("groups"), f"Group {group_id} is deleted.")


def _refused(request: Any, group_id: str, error: Exception) -> HttpResponse:
    status, shown = explain(error)
    try:
        context = _context(request, group_id)
    except NotFound:
        raise error from None
    return show(request, "group", {**context, "form_error": shown, "asked": request.POST.dict()}, status)
