"""The first page: is data in danger, where, and what happened last."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse

from console import queries
from console.context import encoded, live_needs
from console.snapshot.read import Snapshot
from console.views.support import page, show


@page()
def overview(request: Any) -> HttpResponse:
    snapshot = Snapshot(request.cluster.snapshot_id)
    trouble, more = queries.trouble(snapshot)
    behind = queries.groups_behind(snapshot)
    live_needs(request, brokers="1", events="1", jobs="1", group_rows=encoded([g.group for g in behind]))
    return show(
        request,
        "overview",
        {
            "brokers": snapshot.brokers(),
            "trouble": trouble,
            "trouble_more": more,
            "groups_behind": behind,
            "events": queries.last_events(request.cluster, snapshot, 20),
            "jobs_active": queries.active_jobs(request.cluster),
            "series": queries.series(snapshot),
        },
    )
