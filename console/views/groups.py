"""The groups."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse

from console.actions.favourites import favourites
from console.checkpoints import spark_queries
from console.clock import now_ms
from console.context import encoded, live_needs
from console.listing import page_of_names
from console.snapshot.read import Snapshot
from console.views.lists import LIST_QUERY, Head, elsewhere, list_context, wanted_of
from console.views.support import number, page, show

HEADS = (
    Head("name", "Group", is_number=False),
    Head("state", "State", is_number=False),
    Head("protocol", "Assignor", is_number=False),
    Head("members", "Members"),
    Head("topics", "Topics"),
    Head("trend", "Trend", is_number=False),
    Head("lag", "Lag, records"),
    Head("lag_s", "Lag, time"),
    Head("coordinator", "Coordinator"),
)


@page(query=LIST_QUERY)
def groups(request: Any) -> HttpResponse:
    """As `topics`."""
    wanted = wanted_of(request, "group")
    if led := elsewhere(request, wanted):
        return led
    snapshot = Snapshot(request.cluster.snapshot_id)
    stars = favourites(request.user, request.cluster, "group")
    found = page_of_names(snapshot, wanted, number(request, "page", 1, least=1) or 1, favourites=stars)
    rows = snapshot.groups(found.names)
    live_needs(request, group_rows=encoded([row.group for row in rows]))
    at_ms = now_ms()
    queries = [] if request.cluster.moment_ms is not None else spark_queries(request.cluster.pk, snapshot, at_ms)
    more = {"rows": rows, "queries": queries, "queries_at": at_ms}
    return show(request, "groups", {**list_context(request, wanted, HEADS, found, stars), **more})
