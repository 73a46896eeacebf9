"""The list of topics."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from django.urls import reverse

from console import queries
from console.actions.favourites import favourites
from console.context import live_needs
from console.listing import PAGE_ROWS, page_of_names
from console.queries import NAME_MAX
from console.snapshot.moments import HistoryUnavailable, NotRecorded
from console.snapshot.read import Snapshot
from console.sparklines import HEIGHT, WIDTH, sparkline
from console.views.lists import LIST_QUERY, Head, elsewhere, list_context, wanted_of
from console.views.support import (
    number,
    page,
    show,
    switches,
)

CONFIG = "config."
"""What the fields of a new topic's settings begin with."""
LATELY_MINUTES, SPARK_SAMPLES = 15, 30
HEADS = (
    Head("name", "Topic", is_number=False),
    Head("state", "State", is_number=False),
    Head("partitions", "Partitions"),
    Head("replication_factor", "Replicas"),
    Head("out_of_sync_replicas", "Out of sync"),
    Head("under_min_isr", "Under min ISR"),
    Head("offline", "Offline"),
    Head("messages", "Records"),
    Head("messages_per_s", "Per second"),
    Head("size_bytes", "On disk"),
    Head("groups", "Groups"),
    Head("lag", "Their lag"),
    Head("leader_skew", "Leader skew"),
)


@page(query=("topic",))
def lately(request: Any) -> HttpResponse:
    """Of the topics that are named: what the list shows beside their rates."""
    names = [name for name in request.GET.getlist("topic")[:PAGE_ROWS] if name and len(name) <= NAME_MAX]
    try:
        found = queries.tracks(request.cluster, "topic", names, minutes=LATELY_MINUTES, most=SPARK_SAMPLES)
    except (HistoryUnavailable, NotRecorded) as error:
        return show(request, "topics_lately", {"why_not": str(error), "minutes": LATELY_MINUTES})
    lines = [sparkline(name, "topic", "messages_per_s", track) for name, track in zip(names, found, strict=False)]
    return show(request, "topics_lately", {"lines": lines, "minutes": LATELY_MINUTES, "width": WIDTH, "height": HEIGHT})


@page(query=LIST_QUERY)
def topics(request: Any) -> HttpResponse:
    """What is searched for, filtered and sorted by stays in the address; who asks for nothing gets what they chose last."""
    wanted = wanted_of(request, "topic")
    if led := elsewhere(request, wanted):
        return led
    snapshot = Snapshot(request.cluster.snapshot_id)
    stars = favourites(request.user, request.cluster, "topic")
    found = page_of_names(snapshot, wanted, number(request, "page", 1, least=1) or 1, favourites=stars)
    rows, troubled = snapshot.topics(found.names), bool(wanted.troubled)
    live_needs(request, topic_rows=",".join(row.topic for row in rows))
    views = switches(request, reverse("topics"), troubled, snapshot.troubled_topics_count(), "cluster")
    context = list_context(request, wanted, HEADS, found, stars)
    return show(request, "topics", {**context, "rows": rows, "troubled": troubled, "views": views})
