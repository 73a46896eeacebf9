"""What happened and who changed what: events and audit."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from console import queries
from console.context import live_needs
from console.models import Event
from console.queries import ALL_EVENTS, EventQuery
from console.roles import ADMIN, actor_of
from console.rules.records.query import WrongQuery, milliseconds
from console.views.support import choice, note_query, number, page, show

SHOWN = 50
TEXT_MAX = 200
COUNTED_MAX = 1000
LEVELS = {"bad": "serious", "warn": "warnings", "notice": "notices", "ok": "good news"}


def _next_url(request: HttpRequest, rows: list[Any], last_id: int | None) -> dict[str, Any]:
    if len(rows) < SHOWN or last_id is None:
        return {"next_url": None}
    query = request.GET.copy()
    query["before"] = str(last_id)
    return {"next_url": f"?{query.urlencode()}"}


def _time(request: Any, name: str) -> int | None:
    """A time of the address, UTC; of what is none the page says that it was not looked at."""
    text = request.GET.get(name, "").strip()
    try:
        return milliseconds(name, text) if text else None
    except WrongQuery as error:
        note_query(request, f"{error} It was not looked at.")
        return None


def _asked(request: Any, kinds: list[str]) -> EventQuery:
    return EventQuery(
        text=request.GET.get("text", "").strip()[:TEXT_MAX],
        kind=choice(request, "kind", kinds),
        level=choice(request, "level", Event.LEVELS),
        topic=request.GET.get("topic", "").strip()[:255],
        partition=number(request, "partition", most=2**31 - 1),
        broker=number(request, "broker", most=2**31 - 1),
        group=request.GET.get("group", "")[:255],
        from_ms=_time(request, "from"),
        until_ms=_time(request, "until"),
    )


@page(query=("text", "kind", "level", "topic", "partition", "group", "broker", "from", "until", "before"))
def events(request: Any) -> HttpResponse:
    """All that is asked for stands in the address; what comes while one looks is added where nothing is left out."""
    kinds = queries.event_kinds(request.cluster)
    query, before = _asked(request, kinds), number(request, "before")
    rows = queries.events(request.cluster, query, before=before, count=SHOWN)
    is_all = query == ALL_EVENTS
    if before is None and is_all:
        live_needs(request, events="1")
    context = {
        "rows": rows,
        "kinds": kinds,
        "levels": LEVELS,
        "query": query,
        "times": {name: request.GET.get(name, "")[:40] for name in ("from", "until")},
        "matching": None if is_all else queries.events_counted(request.cluster, query, COUNTED_MAX + 1),
        "counted_max": COUNTED_MAX,
        "kept_max": Event.KEEP,
        "pages": _next_url(request, rows, rows[-1].id if rows else None),
    }
    return show(request, "events", context)


@page(query=("before",))
def audit(request: Any) -> HttpResponse:
    """At the own cluster's address all that is kept, at another's what concerns that."""
    actor_of(request).require(ADMIN, "reading the audit")
    of_all = request.cluster.pk == settings.LOCAL_CLUSTER
    rows = queries.audit(number(request, "before"), SHOWN, "" if of_all else request.cluster.pk)
    return show(request, "audit", {"rows": rows, "of_all": of_all, "pages": _next_url(request, rows, rows[-1].pk if rows else None)})
