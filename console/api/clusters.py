"""Clusters and their events."""

from __future__ import annotations

from typing import Any

from ninja import Router

from console import queries
from console.api.answers import Cluster as ClusterAnswer
from console.api.answers import Event, Listed
from console.api.described import answers
from console.api.shapes import Limit, listed, number_cursor, text_cursor
from console.models import Cluster

router = Router(tags=["clusters"])


@router.get("/clusters")
@answers(Listed[ClusterAnswer])
def clusters(request: Any, limit: Limit = 100, cursor: str | None = None) -> dict[str, Any]:
    found = Cluster.objects.filter(pk__gt=text_cursor(cursor)).order_by("pk")[: limit + 1]
    return listed([queries.cluster_value(c) for c in found], limit, lambda c: c["id"])


@router.get("/clusters/{cluster_id}")
@answers(ClusterAnswer)
def cluster(request: Any, cluster_id: str) -> dict[str, Any]:
    return queries.cluster_value(queries.cluster_of(cluster_id))


@router.get("/clusters/{cluster_id}/events")
@answers(Listed[Event])
def events(
    request: Any,
    cluster_id: str,
    *,
    limit: Limit = 100,
    cursor: str | None = None,
    kind: str = "",
    topic: str = "",
    broker: int | None = None,
    group: str = "",
) -> dict[str, Any]:
    """Newest first."""
    where = queries.cluster_of(cluster_id)
    queries.known_choice("kind", kind, queries.event_kinds(where) if kind else ())
    found = queries.events(where, kind=kind, topic=topic, broker=broker, group=group, before=number_cursor(cursor), count=limit + 1)
    return listed(found, limit, lambda e: str(e["id"]))
