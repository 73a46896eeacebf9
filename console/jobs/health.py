"""A health report: the live snapshot, judged by the rules (`console/rules/report/`)."""

from __future__ import annotations

from console.jobs.kind import JobKind


class Health(JobKind):
    name = "health_report"
    queue = "health"
    changes_cluster = False
    cancel_means = "No report is written."
