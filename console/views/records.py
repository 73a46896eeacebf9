"""What happened and who changed what: events and audit."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse

from console import queries
from console.context import live_needs
from console.models import Event
from console.roles import ADMIN, actor_of
from console.views.support import number, page, show

SHOWN = 50


def _next_url(request: HttpRequest, rows: list[Any], last_id: int | None) -> dict[str, Any]:
    if len(rows) < SHOWN or last_id is None:
        return {"next_url": None}
    query = request.GET.copy()
    query["before"] = str(last_id)
    return {"next_url": f"?{query.urlencode()}"}


@page()
def events(request: Any) -> HttpResponse:
    chosen = {name: request.GET.get(name, "")[:255] for name in ("kind", "topic", "group")}
    before = number(request, "before")
    rows = queries.events(request.cluster, **chosen, broker=number(request, "broker"), before=before, count=SHOWN)
    if before is None and not any(chosen.values()) and number(request, "broker") is None:
        live_needs(request, events="1")
    kinds = sorted(Event.objects.filter(cluster=request.cluster).values_list("kind", flat=True).distinct())
    last_id = rows[-1]["id"] if rows else None
    context = {"rows": rows, "kinds": kinds, "chosen": {**chosen, "broker": request.GET.get("broker", "")}}
    return show(request, "events", {**context, "pages": _next_url(request, rows, last_id)})


@page()
def audit(request: Any) -> HttpResponse:
    actor_of(request).require(ADMIN, "reading the audit")
    rows = queries.audit(number(request, "before"), SHOWN)
    return show(request, "audit", {"rows": rows, "pages": _next_url(request, rows, rows[-1].pk if rows else None)})
