"""Queue `health`: the first report of a cluster; those of each day are a schedule."""

from __future__ import annotations

import logging
from datetime import timedelta

from django.utils import timezone

from console.actions.jobs import create_job
from console.errors import Conflict
from console.models import Cluster, HealthReport, Job
from console.roles import BEAT
from console.snapshot import steady
from console.snapshot.read import SnapshotUnavailable
from workers.app import app

log = logging.getLogger(__name__)
STEADY_MS = 120_000
"""So long live figures are fresh before a cluster's first report: until then what has just started is reported as trouble."""
AGAIN_AFTER = timedelta(minutes=10)
"""After a first report that failed."""


@app.task(name="workers.tasks.health.first", soft_time_limit=20, time_limit=30)
def first() -> None:
    """Asks for a report of each cluster that has none, once it has been watched for a while."""
    without = Cluster.objects.exclude(pk__in=HealthReport.objects.values("cluster"))
    tried = Job.objects.filter(kind="health_report", created_at__gte=timezone.now() - AGAIN_AFTER).values("cluster")
    for cluster in without.exclude(pk__in=tried):
        try:
            if (steady.fresh_for_ms(cluster.pk) or 0) >= STEADY_MS:
                create_job(BEAT, cluster, "health_report", {})
        except Conflict as error:
            log.info("no second report: %s", error)
        except SnapshotUnavailable as error:
            log.info("no first report yet: %s", error)
