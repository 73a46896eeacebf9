"""One partition: its replicas, leader epochs, offsets, and who reads it."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse

from console import queries
from console.context import live_needs
from console.rules.epochs import epoch_lines
from console.snapshot.read import Snapshot
from console.views.support import page, show


@page()
def partition(request: Any, name: str, number: int) -> HttpResponse:
    snapshot = Snapshot(request.cluster.snapshot_id)
    found = queries.partition_or_fail(snapshot, name, number)
    topic = queries.topic_or_fail(snapshot, name)
    live_needs(request, topics=f"{name}:{number}-{number}", events="1")
    rows, more = queries.positions(snapshot, name, number)
    context = {
        "name": name,
        "row": found,
        "topic": topic,
        "epochs": epoch_lines(found),
        "positions": rows,
        "more_groups": more,
        "events": queries.events(request.cluster, queries.EventQuery(topic=name, partition=number), count=20),
    }
    return show(request, "partition", context)
