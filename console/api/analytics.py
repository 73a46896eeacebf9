"""What the analyses have found."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Any

from django.conf import settings
from django.http.response import HttpResponseBase
from django.utils import timezone
from ninja import Router
from pydantic import Field

from console import analyses, queries
from console.api.answers import Job as JobAnswer
from console.api.answers import read
from console.api.described import File, answers
from console.api.record_answers import Analytics, GroupLag, LagWindow, ThroughputWindow, TopicThroughput
from console.gateway import spark
from console.models import Job, job_value
from console.searches.files import attachment

router = Router(tags=["records"])
Hours = Annotated[int, Field(ge=1, le=24 * 7)]


@router.get("/clusters/{cluster_id}/analytics")
@answers(Analytics)
def analytics(request: Any, cluster_id: str, hours: Hours = 6) -> Analytics:
    """What the last analysis says, question by question, and throughput of each topic and lag of each group over the last hours: by windows
    of a minute, of more than six hours by windows of ten minutes. Its tables whole: `…/analytics/tables/{name}.csv` and `.parquet`.
    `POST /jobs` with the kind `analytics` starts an analysis."""
    cluster = queries.cluster_of(cluster_id)
    until = timezone.now()
    since = until - timedelta(hours=hours)
    said, answered_at = analyses.analysis_answers(cluster)
    last = Job.objects.filter(cluster=cluster, kind="analytics").order_by("-id").first()
    return Analytics(
        since_ms=round(since.timestamp() * 1000),
        until_ms=round(until.timestamp() * 1000),
        sampled=cluster.pk == settings.LOCAL_CLUSTER,
        last_job=read(JobAnswer, job_value(last)) if last else None,
        due=analyses.analytics_due(cluster),
        spark=spark.install().state,
        resident=analyses.resident_of(cluster),
        answered_at=answered_at,
        answers=said,
        throughput=[
            TopicThroughput(topic, list(map(ThroughputWindow, line["t"], line["bytes_per_s"], line["messages_per_s"])))
            for topic, line in sorted(analyses.throughput_series(cluster, since).items())
        ],
        lag=[
            GroupLag(group, list(map(LagWindow, line["t"], line["lag"])))
            for group, line in sorted(analyses.lag_series(cluster, since).items())
        ],
    )


@router.get("/clusters/{cluster_id}/analytics/tables/{name}.csv")
@answers(File(("text/csv",)))
def table_as_csv(request: Any, cluster_id: str, name: str) -> HttpResponseBase:
    """A table of the last analysis, whole; `answers` name them. A text that begins like a formula has an apostrophe before it."""
    return _table(cluster_id, name, "csv")


@router.get("/clusters/{cluster_id}/analytics/tables/{name}.parquet")
@answers(File(("application/vnd.apache.parquet",)))
def table_as_parquet(request: Any, cluster_id: str, name: str) -> HttpResponseBase:
    """The same as Parquet."""
    return _table(cluster_id, name, "parquet")


def _table(cluster_id: str, name: str, kind: str) -> HttpResponseBase:
    path, size = analyses.table_file(queries.cluster_of(cluster_id), name, kind)
    return attachment(path, size, analyses.KINDS[kind], f"{name}.{kind}")
