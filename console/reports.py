"""Health reports that are kept, as pages, REST and files have them."""

from __future__ import annotations

from typing import Any

from console.models import Cluster, HealthReport
from console.queries import BadQuery, NotFound
from console.rules.report import FORMAT, changes


def value_of(report: HealthReport) -> dict[str, Any]:
    return {
        "id": report.pk,
        "at": report.at,
        "level": report.level,
        "sentence": report.sentence,
        "checks": report.checks,
        "changed": report.changed,
        "compared": report.compared,
    }


def kept(cluster: Cluster, count: int = 20) -> list[dict[str, Any]]:
    return [value_of(r) for r in HealthReport.objects.filter(cluster=cluster).order_by("-id")[:count]]


def report_of(cluster: Cluster, report_id: int) -> HealthReport:
    found = HealthReport.objects.filter(cluster=cluster, pk=report_id).first() if report_id < 2**63 else None
    if found is None:
        raise NotFound(f"There is no report {report_id} of {cluster.pk}.")
    return found


def compared(before: HealthReport, after: HealthReport) -> dict[str, Any]:
    """By kind what differs; `BadQuery` where they were not made in the same way."""
    if (before.format, before.basis) != (after.format, after.basis) or after.format != FORMAT:
        raise BadQuery("since", f"Reports {before.pk} and {after.pk} cannot be compared: they were not made in the same way.")
    return changes({"checks": before.checks}, {"checks": after.checks})
