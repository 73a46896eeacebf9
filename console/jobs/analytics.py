"""An analysis of the samples by Spark."""

from __future__ import annotations

from console.jobs.kind import JobKind


class Analytics(JobKind):
    name = "analytics"
    queue = "analytics"
    changes_cluster = False
    of_own_cluster = True
    cancel_means = "The running Spark driver is ended; what it has not written yet is read again next time."
