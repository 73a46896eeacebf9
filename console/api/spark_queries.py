"""Spark's queries by their checkpoints."""

from __future__ import annotations

from typing import Any

from ninja import Router

from console import queries
from console.api.answers import ListedLive
from console.api.described import answers
from console.api.shapes import Limit, listed, listed_live, text_cursor
from console.checkpoints import SparkQuery, spark_queries
from console.clock import now_ms
from console.snapshot.read import Snapshot

router = Router(tags=["groups"])


@router.get("/clusters/{cluster_id}/spark-queries")
@answers(ListedLive[SparkQuery])
def checkpoints(request: Any, cluster_id: str, limit: Limit = 100, cursor: str | None = None) -> ListedLive[SparkQuery]:
    """Queries of Spark's Structured Streaming, whose offsets are in checkpoint folders and in no group: where they stand, what came since.
    The folders are those of `HIGHWATER_SPARK_CHECKPOINTS`, and that of the console's own analysis."""
    snapshot = Snapshot(queries.cluster_at(cluster_id).snapshot_id)
    found = spark_queries(queries.cluster_of(cluster_id).pk, snapshot, now_ms())
    after = text_cursor(cursor)
    rest = [query for query in found if query.name > after]
    return listed_live(listed(rest[: limit + 1], limit, lambda query: query.name), snapshot)
