"""Analytics."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.conf import settings
from django.http import HttpResponse
from django.utils import timezone

from broker_core.contract.jobs import Job as JobValue
from console import queries
from console.context import live_needs
from console.figures import figure
from console.gateway import spark
from console.models import Job
from console.queries import last_job
from console.rules.spark import sentence, share
from console.views.support import number, page, show

RANGES = ((1, "1 h"), (6, "6 h"), (24, "24 h"), (168, "7 days"))
"""Hours that analytics can show."""


@page(query=("hours",))
def analytics(request: Any) -> HttpResponse:
    live_needs(request, jobs="1")
    hours = number(request, "hours", 6, least=1, most=24 * 7) or 6
    until = timezone.now()
    since = until - timedelta(hours=hours)
    last = last_job(request.cluster, "analytics")
    throughput, lag = queries.throughput_series(request.cluster, since), queries.lag_series(request.cluster, since)
    return show(
        request,
        "analytics",
        {
            "sampled": request.cluster.pk == settings.LOCAL_CLUSTER,
            "available": bool(throughput or lag),
            "reason": _why_nothing(request, last),
            "throughput": throughput,
            "lag": lag,
            "figures": {
                "bytes": figure(throughput, "bytes_per_s", "B/s", since, until),
                "records": figure(throughput, "messages_per_s", "/s", since, until),
                "lag": figure(lag, "lag", "records", since, until),
            },
            "summaries": [
                *_summaries("bytes", throughput, "bytes_per_s", "B/s"),
                *_summaries("records", throughput, "messages_per_s", "/s"),
                *_summaries("lag", lag, "lag", "records"),
            ],
            "hours": hours,
            "ranges": RANGES,
            "job_last": last,
            "due": queries.analytics_due(request.cluster),
            "spark": _spark_install(),
        },
    )


def _spark_install() -> dict[str, Any]:
    found = spark.install()
    return {"state": found.state, "sentence": sentence(found, timezone.now()), "share": share(found)}


def _summaries(what: str, series: Any, field: str, unit: str) -> list[dict[str, Any]]:
    """Mean and highest of each line over the span shown; nothing for a line that is unknown throughout."""
    rows = []
    for name, line in sorted(series.items()):
        known = [value for value in line[field] if value is not None]
        if known:
            mean = sum(known) / len(known)
            rows.append({"what": what, "name": name, "mean": mean, "max": max(known), "unit": unit, "samples": len(known)})
    return rows


def _why_nothing(request: Any, last: JobValue | None) -> str:
    if last is None:
        return "No analysis has run yet. Samples are taken every 10 s; start an analysis once some are there."
    if last.state == Job.FAILED:
        return f"The last analysis failed: {last.message}"
    if last.state in Job.ACTIVE:
        return "An analysis is under way."
    if last.state == Job.CANCELLED:
        return "The last analysis was cancelled."
    return "There are no samples in this span of time."
