"""What is taken from a group: members that are made to leave, and committed offsets that are forgotten. Told first, then the name typed."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from django.urls import reverse

from console.actions.group_members import delete_offsets, plan_offset_deletion, plan_removal, remove_members
from console.actions.groups import What
from console.actions.offsets import parse_partitions
from console.errors import Invalid, Unconfirmed
from console.roles import ADMIN, OPERATOR, actor_of
from console.rules.words import counted
from console.views.group import group_context, refused_change
from console.views.support import KNOWN, done, page, refused_again, show


@page("POST", role=OPERATOR, doing="remove members")
def group_members(request: Any, group_id: str) -> HttpResponse:
    """`member` are ids; `all=1`: whoever is there."""
    ids = None if request.POST.get("all") == "1" else request.POST.getlist("member")
    try:
        if ids is not None and not ids:
            raise Invalid("", "Choose a member.")
        if request.POST.get("preview") == "1":
            return show(request, "group", _removal(request, group_id, ids))
        found = remove_members(actor_of(request), request.cluster, group_id, ids, confirm=request.POST.get("confirm", "").strip())
    except Unconfirmed as error:
        return refused_again(request, "group", lambda: _removal(request, group_id, ids), error, "remove-members")
    except KNOWN as error:
        return refused_change(request, group_id, error, "")
    gone = sum(one.error is None for one in found.members)
    refused = "".join(f" {one.client_id or one.member_id}: {one.error}" for one in found.members if one.error)
    return done(request, reverse("group", args=[group_id]), f"{counted(gone, 'member')} left {group_id}.{refused[:500]}")


def _removal(request: Any, group_id: str, ids: list[str] | None) -> dict[str, Any]:
    plan = plan_removal(request.cluster, group_id, ids)
    return {**group_context(request, group_id), "removal": plan, "removing_all": ids is None}


@page("POST", role=ADMIN, doing="delete offsets")
def group_forget(request: Any, group_id: str) -> HttpResponse:
    try:
        what = _what(request)
        if request.POST.get("preview") == "1":
            return show(request, "group", _forgets(request, group_id, what))
        confirm = request.POST.get("confirm", "").strip()
        plan, change = delete_offsets(actor_of(request), request.cluster, group_id, what, confirm=confirm)
    except Unconfirmed as error:
        return refused_again(request, "group", lambda: _forgets(request, group_id, what), error, "delete-offsets")
    except KNOWN as error:
        return refused_change(request, group_id, error, "delete-offsets")
    said = f"{counted(len(plan.moves), 'offset')} of {group_id} forgotten. Change {change.pk}: it can be put back."
    return done(request, reverse("offset_change", args=[change.pk]), said)


def _what(request: Any) -> What:
    topic = request.POST.get("topic", "").strip()
    if not topic:
        raise Invalid("topic", "Name the topic whose offsets are to be forgotten.")
    return [(topic, parse_partitions(request.POST.get("partition", "")))]


def _forgets(request: Any, group_id: str, what: What) -> dict[str, Any]:
    plan = plan_offset_deletion(request.cluster, group_id, what)
    return {**group_context(request, group_id), "forgets": plan, "asked": request.POST.dict()}
