"""Queue `analytics`: asks for an analysis now and then; the steps are those of any job (`workers/kinds/analytics.py`)."""

from __future__ import annotations

import logging

from console.actions.audit import Conflict
from console.actions.jobs import create_job
from console.models import Cluster
from workers.app import app
from workers.kinds.analytics import missing
from workers.tasks.health import BEAT

log = logging.getLogger(__name__)


@app.task(name="workers.tasks.analytics.periodic", soft_time_limit=20, time_limit=30)
def periodic() -> None:
    """Only for the local cluster, which holds the samples; not where Spark's parts are missing."""
    if missing():
        return
    for cluster in Cluster.objects.filter(is_local=True):
        try:
            create_job(BEAT, cluster, "analytics", {})
        except Conflict as error:
            log.info("no second analysis: %s", error)
