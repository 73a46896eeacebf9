"""Health reports: the last one, any other, as files, and what differs between two."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from django.urls import reverse

from console import reports
from console.actions.jobs import create_job
from console.addressing import base_of
from console.context import live_needs
from console.models import HealthReport, Job
from console.queries import BadQuery, NotFound, last_job
from console.report_files import MEDIA, answer
from console.roles import OPERATOR, actor_of
from console.rules.report import told
from console.views.support import KNOWN, done, explain, number, page, show

EARLIER = 30
CHOICES = 100
"""Reports that the page of differences offers."""


def _told(value: dict[str, Any]) -> dict[str, Any]:
    """A report in the order in which it is read."""
    return {
        **value,
        "findings": told.findings(value),
        "left_out": told.left_out(value),
        "unknown": told.unknown(value),
        "clean": told.clean(value),
        "changes": _changes(value["changed"]),
    }


def _changes(differences: dict[str, Any]) -> list[dict[str, Any]]:
    return [{**change._asdict(), "more": told.more_words(change)} for change in told.changed(differences)]


def _context(request: Any) -> dict[str, Any]:
    live_needs(request, jobs="1")
    last = last_job(request.cluster, "health_report")  # before what it makes: the page hangs on its state
    found = reports.kept(request.cluster, EARLIER)
    running = last if last and last.state in Job.ACTIVE else None
    return {
        "report": _told(found[0]) if found else None,
        "reports": [{**old, "news": told.summary(old["changed"])} for old in found[1:]],
        "job_running": running,
    }


@page()
def health(request: Any) -> HttpResponse:
    return show(request, "health", _context(request))


@page("POST", role=OPERATOR, doing="start health_report")
def health_run(request: Any) -> HttpResponse:
    try:
        create_job(actor_of(request), request.cluster, "health_report", {})
    except KNOWN as error:
        status, shown = explain(error)
        return show(request, "health", {**_context(request), "form_error": shown}, status)
    return done(request, reverse("health"), "The report is being made.")


@page()
def health_report(request: Any, report_id: int) -> HttpResponse:
    row = reports.report_of(request.cluster, report_id)
    return show(request, "health_report", {"report": _told(reports.value_of(row))})


@page()
def health_file(request: Any, report_id: int, kind: str) -> HttpResponse:
    """The report to be kept."""
    if kind not in MEDIA:
        raise NotFound(f"A report can be had as {', '.join(MEDIA)}.")
    row = reports.report_of(request.cluster, report_id)
    return answer(row, request.cluster, kind, request.build_absolute_uri("/").rstrip("/") + base_of(request.cluster.pk))


@page(query=("since", "report"))
def health_compare(request: Any) -> HttpResponse:
    """Any two, by default the last two."""
    rows = HealthReport.objects.filter(cluster=request.cluster).order_by("-id")
    choices = list(rows.values("id", "at", "level")[:CHOICES])
    ids = [one["id"] for one in choices]
    after = number(request, "report", ids[0] if ids else 0, least=1, most=2**62)
    before = number(request, "since", ids[1] if len(ids) > 1 else 0, least=1, most=2**62)
    context: dict[str, Any] = {"choices": choices, "since": before, "chosen": after, "changes": None, "error": ""}
    if len(ids) > 1 and before and after:
        old, new = reports.report_of(request.cluster, before), reports.report_of(request.cluster, after)
        context |= {"before": old, "after": new}
        try:
            context["changes"] = _changes(reports.compared(old, new))
        except BadQuery as error:
            context["error"] = str(error)
    return show(request, "health_compare", context)
