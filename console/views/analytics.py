"""What the analyses say, question by question, and their tables as files."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.conf import settings
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.utils import timezone

from broker_core.contract.jobs import Job as JobValue
from console import analyses
from console.context import live_needs
from console.figures import figure
from console.gateway import spark
from console.models import Job
from console.queries import last_job
from console.rules.analysis.resident import level
from console.rules.analysis.resident import sentence as said_of
from console.rules.spark import sentence, share
from console.searches.files import attachment
from console.views.support import number, page, show

RANGES = ((1, "1 h"), (6, "6 h"), (24, "24 h"), (168, "7 days"))
"""Hours that analytics can show."""
LINES_MAX = 12
"""Lines of a chart; the tables have all."""
WHAT = {
    "bytes": "Bytes a second",
    "records": "Records a second",
    "brokers": "Bytes a second written to what brokers lead",
    "lag": "Records not read yet",
}


@page(query=("hours",))
def analytics(request: Any) -> HttpResponse:
    live_needs(request, jobs="1")
    hours = number(request, "hours", 6, least=1, most=24 * 7) or 6
    until = timezone.now()
    since = until - timedelta(hours=hours)
    last = last_job(request.cluster, "analytics")
    answers, at = analyses.analysis_answers(request.cluster)
    charts = _charts(request.cluster, since, until)
    return show(
        request,
        "analytics",
        {
            "sampled": request.cluster.pk == settings.LOCAL_CLUSTER,
            "answers": [(answer, charts.get(answer.id, ())) for answer in answers],
            "answered_at": at,
            "reason": _why_nothing(last),
            "lines_max": LINES_MAX,
            "hours": hours,
            "ranges": RANGES,
            "job_last": last,
            "cost_s": _cost_s(request),
            "due": analyses.analytics_due(request.cluster),
            "resident": _resident(request),
            "spark": _spark_install(),
        },
    )


@page()
def analytics_table(request: Any, name: str, kind: str) -> HttpResponseBase:
    path, size = analyses.table_file(request.cluster, name, kind)
    return attachment(path, size, analyses.KINDS[kind], f"{name}.{kind}")


def _charts(cluster: Any, since: Any, until: Any) -> dict[str, list[dict[str, Any]]]:
    """By the question that they belong to: each figure with its unit, and how many lines it leaves out."""
    topics, windows_ms = analyses.throughput_series(cluster, since), analyses.window_seconds(since) * 1000
    drawn = (
        ("topics", "bytes", topics, "bytes_per_s", "B/s", windows_ms),
        ("topics", "records", topics, "messages_per_s", "/s", windows_ms),
        ("brokers", "brokers", analyses.broker_series(cluster, since), "bytes_per_s", "B/s", analyses.LONG_MS),
        ("lag", "lag", analyses.lag_series(cluster, since), "lag", "records", windows_ms),
    )
    found: dict[str, list[dict[str, Any]]] = {}
    for question, name, series, field, unit, window_ms in drawn:
        shown = _largest(series, field)
        if shown:
            made = figure(shown, field, unit, since, until, window_ms=window_ms)
            chart = {
                "id": f"figure-{name}",
                "figure": made,
                "unit": unit,
                "label": f"{WHAT[name]} of {len(shown)}",
                "left_out": len(series) - len(shown),
            }
            found.setdefault(question, []).append(chart)
    return found


def _largest(series: analyses.Series, field: str) -> analyses.Series:
    sums = {name: sum(value or 0 for value in line[field]) for name, line in series.items()}
    return {name: series[name] for name in sorted(sums, key=lambda name: (-sums[name], name))[:LINES_MAX]}


def _cost_s(request: Any) -> float | None:
    """How long the last analysis that found something took."""
    done = Job.objects.filter(cluster=request.cluster, kind="analytics", state=Job.SUCCEEDED).order_by("-id")[:10]
    ran = next((job for job in done if (job.result or {}).get("new") and job.started_at and job.ended_at), None)
    return None if ran is None or ran.started_at is None or ran.ended_at is None else (ran.ended_at - ran.started_at).total_seconds()


def _resident(request: Any) -> dict[str, str] | None:
    """What is said of the driver that stays; None where none is to."""
    found, now = analyses.resident_of(request.cluster), timezone.now()
    return None if found is None else {"level": level(found, now), "sentence": said_of(found, now)}


def _spark_install() -> dict[str, Any]:
    found = spark.install()
    return {"state": found.state, "sentence": sentence(found, timezone.now()), "share": share(found)}


def _why_nothing(last: JobValue | None) -> str:
    if last is None:
        return "No analysis has run yet. Samples are taken every 10 s; start an analysis once some are there."
    if last.state == Job.FAILED:
        return f"The last analysis failed: {last.message}"
    if last.state in Job.ACTIVE:
        return "An analysis is under way."
    if last.state == Job.CANCELLED:
        return "The last analysis was cancelled."
    return "There are no samples in this span of time."
