"""One kept change of a group's offsets: what it did, and what putting it back would do."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from django.urls import reverse

from console import queries
from console.actions.offset_undo import kept_of, plan_undo, risks_of, undo
from console.errors import Outdated
from console.roles import OPERATOR, actor_of
from console.rules.words import counted
from console.views.support import KNOWN, done, explain, page, show

ROWS_SHOWN = 500


@page("GET", "HEAD", "POST", role=OPERATOR, doing="put offsets back")
def offset_change(request: Any, change_id: int) -> HttpResponse:
    """Its preview is made by the offsets of this moment; what is sent is done only where nothing was committed since."""
    change = queries.offset_change_or_fail(request.cluster, change_id)
    if request.method != "POST":
        return _show(request, change)
    try:
        seen = [request.POST["seen"]] if request.POST.get("seen") else []
        plan, made = undo(actor_of(request), request.cluster, change, seen=seen, confirm=request.POST.get("confirm") == "yes")
    except (*KNOWN, Outdated) as error:
        status, shown = explain(error)
        return _show(request, change, status, form_error=shown)
    said = f"{counted(len(plan.moves), 'offset')} of {change.group} put back as before change {change.pk}. This is change {made.pk}."
    return done(request, reverse("group", args=[change.group]), said)


def _show(request: Any, change: Any, status: int = 200, **more: Any) -> HttpResponse:
    """Without the preview where the cluster does not tell: then there is why."""
    kept = [(topic, number, *rows) for (topic, number), rows in kept_of(change).items()]
    context: dict[str, Any] = {"change": change, "kept": kept[:ROWS_SHOWN], "more": len(kept) - ROWS_SHOWN}
    if not change.undone_by and not request.cluster.read_only:
        try:
            plan = plan_undo(request.cluster, change)
            context |= {"plan": plan, "moves": plan.moves[:ROWS_SHOWN], "risks": risks_of(plan)}
        except KNOWN as error:
            context["unknown"] = explain(error)[1]["detail"]
    return show(request, "offset_change", {**context, **more}, status)
