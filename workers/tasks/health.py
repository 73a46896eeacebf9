"""Queue `health`: the daily report of every cluster."""

from __future__ import annotations

import logging

from console.actions.jobs import create_job
from console.errors import Conflict
from console.models import Cluster
from console.roles import OPERATOR, Actor
from workers.app import app

log = logging.getLogger(__name__)
BEAT = Actor("beat", OPERATOR, "job")


@app.task(name="workers.tasks.health.daily", soft_time_limit=20, time_limit=30)
def daily() -> None:
    """Asks for a report of each cluster; one that is under way already is enough."""
    for cluster in Cluster.objects.all():
        try:
            create_job(BEAT, cluster, "health_report", {})
        except Conflict as error:
            log.info("no second report: %s", error)
