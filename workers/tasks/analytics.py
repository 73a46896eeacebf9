"""Queue `analytics`: asks for an analysis when one is due (`HIGHWATER_ANALYTICS_MINUTES` after the last, whoever asked for that), or looks
after the driver that stays.

The steps are those of any job (`workers/kinds/analytics.py`).
"""

from __future__ import annotations

import logging

from django.conf import settings
from django.utils import timezone

from console.actions.jobs import create_job
from console.analyses import analytics_due, is_continuous
from console.errors import Conflict
from console.gateway import spark
from console.models import Cluster, Job
from console.roles import BEAT
from workers import resident
from workers.app import app
from workers.kinds.analytics import cannot_run

log = logging.getLogger(__name__)


@app.task(name="workers.tasks.analytics.periodic", soft_time_limit=20, time_limit=30)
def periodic() -> None:
    """For the system's own cluster, which holds the samples. Where Spark's parts are missing, one failed job says so, not one each time;
    while they are installed, nobody asks."""
    if is_continuous():
        return
    if spark.install().state == "installing":
        return
    why = cannot_run()
    for cluster in Cluster.objects.filter(pk=settings.LOCAL_CLUSTER):
        due = analytics_due(cluster)
        if due is None or due > timezone.now() or (why and _said(cluster, why)):
            continue
        try:
            create_job(BEAT, cluster, "analytics", {})
        except Conflict as error:
            log.info("no second analysis: %s", error)


@app.task(name="workers.tasks.analytics.stay", soft_time_limit=20, time_limit=30)
def stay() -> None:
    """Starts the driver that stays and takes what it has found, or ends it where none is to stay."""
    if not is_continuous():
        return resident.end()
    if spark.install().state != "installing":
        for cluster in Cluster.objects.filter(pk=settings.LOCAL_CLUSTER):
            resident.keep(cluster)


def _said(cluster: Cluster, why: str) -> bool:
    last = Job.objects.filter(cluster=cluster, kind="analytics").order_by("-id").first()
    return last is not None and last.message == why
