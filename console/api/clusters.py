"""Clusters and their events."""

from __future__ import annotations

from typing import Any

from ninja import Router

from broker_core.contract import live
from broker_core.contract.sentences import KeptEvent
from console import queries
from console.api.answers import Cluster as ClusterAnswer
from console.api.answers import Listed, read
from console.api.described import answers
from console.api.shapes import Limit, listed, number_cursor, text_cursor
from console.models import Cluster

router = Router(tags=["clusters"])


@router.get("/clusters")
@answers(Listed[ClusterAnswer])
def clusters(request: Any, limit: Limit = 100, cursor: str | None = None) -> Listed[ClusterAnswer]:
    found = Cluster.objects.filter(pk__gt=text_cursor(cursor)).order_by("pk")[: limit + 1]
    return listed([_answer(one) for one in found], limit, lambda one: one.id)


@router.get("/clusters/{cluster_id}")
@answers(ClusterAnswer)
def cluster(request: Any, cluster_id: str) -> ClusterAnswer:
    return _answer(queries.cluster_of(cluster_id))


def _answer(cluster: Cluster) -> ClusterAnswer:
    """With what is known of it live; the figures are null while nothing was ever seen."""
    seen, as_of = queries.seen(cluster)
    own: dict[str, Any] = {"name": cluster.name, "bootstrap_servers": cluster.bootstrap_servers, "is_local": cluster.is_local}
    return read(ClusterAnswer, seen or live.Cluster(id=cluster.pk), **own, as_of=as_of)


@router.get("/clusters/{cluster_id}/events")
@answers(Listed[KeptEvent])
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
) -> Listed[KeptEvent]:
    """Newest first."""
    where = queries.cluster_of(cluster_id)
    queries.known_choice("kind", kind, queries.event_kinds(where) if kind else ())
    found = queries.events(where, kind=kind, topic=topic, broker=broker, group=group, before=number_cursor(cursor), count=limit + 1)
    return listed(found, limit, lambda e: str(e.id))
