"""What happened and who changed what: events and audit."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from console import queries
from console.context import live_needs
from console.roles import ADMIN, actor_of
from console.views.support import choice, number, page, show

SHOWN = 50


def _next_url(request: HttpRequest, rows: list[Any], last_id: int | None) -> dict[str, Any]:
    if len(rows) < SHOWN or last_id is None:
        return {"next_url": None}
    query = request.GET.copy()
    query["before"] = str(last_id)
    return {"next_url": f"?{query.urlencode()}"}


@page(query=("kind", "topic", "group", "broker", "before"))
def events(request: Any) -> HttpResponse:
    kinds = queries.event_kinds(request.cluster)
    chosen = {"kind": choice(request, "kind", kinds), **{name: request.GET.get(name, "")[:255] for name in ("topic", "group")}}
    before, broker = number(request, "before"), number(request, "broker", most=2**31 - 1)
    rows = queries.events(request.cluster, **chosen, broker=broker, before=before, count=SHOWN)
    if before is None and not any(chosen.values()) and broker is None:
        live_needs(request, events="1")
    last_id = rows[-1].id if rows else None
    context = {"rows": rows, "kinds": kinds, "chosen": {**chosen, "broker": request.GET.get("broker", "")}}
    return show(request, "events", {**context, "pages": _next_url(request, rows, last_id)})


@page(query=("before",))
def audit(request: Any) -> HttpResponse:
    """At the own cluster's address all that is kept, at another's what concerns that."""
    actor_of(request).require(ADMIN, "reading the audit")
    of_all = request.cluster.pk == settings.LOCAL_CLUSTER
    rows = queries.audit(number(request, "before"), SHOWN, "" if of_all else request.cluster.pk)
    return show(request, "audit", {"rows": rows, "of_all": of_all, "pages": _next_url(request, rows, rows[-1].pk if rows else None)})
