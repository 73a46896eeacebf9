"""What the analyses have found."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Any

from django.conf import settings
from django.utils import timezone
from ninja import Router
from pydantic import Field

from console import queries
from console.api.answers import Job as JobAnswer
from console.api.answers import read
from console.api.described import answers
from console.api.record_answers import Analytics, GroupLag, LagWindow, ThroughputWindow, TopicThroughput
from console.gateway import spark
from console.models import Job, job_value

router = Router(tags=["records"])
Hours = Annotated[int, Field(ge=1, le=24 * 7)]


@router.get("/clusters/{cluster_id}/analytics")
@answers(Analytics)
def analytics(request: Any, cluster_id: str, hours: Hours = 6) -> Analytics:
    """Throughput of each topic and lag of each group over the last hours. `POST /jobs` with the kind `analytics` starts an analysis."""
    cluster = queries.cluster_of(cluster_id)
    until = timezone.now()
    since = until - timedelta(hours=hours)
    last = Job.objects.filter(cluster=cluster, kind="analytics").order_by("-id").first()
    return Analytics(
        since_ms=round(since.timestamp() * 1000),
        until_ms=round(until.timestamp() * 1000),
        sampled=cluster.pk == settings.LOCAL_CLUSTER,
        last_job=read(JobAnswer, job_value(last)) if last else None,
        due=queries.analytics_due(cluster),
        spark=spark.install().state,
        throughput=[
            TopicThroughput(topic, list(map(ThroughputWindow, line["t"], line["bytes_per_s"], line["messages_per_s"])))
            for topic, line in sorted(queries.throughput_series(cluster, since).items())
        ],
        lag=[
            GroupLag(group, list(map(LagWindow, line["t"], line["lag"])))
            for group, line in sorted(queries.lag_series(cluster, since).items())
        ],
    )
