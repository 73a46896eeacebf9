"""Sends tasks by name, after the transaction that they are about; the console needs nothing else of the workers."""

from __future__ import annotations

import logging

from kombu.exceptions import OperationalError

log = logging.getLogger(__name__)
QUEUES = {
    "preferred_leader_election": "jobs",
    "reassignment": "jobs",
    "topic_creation": "jobs",
    "topic_growth": "jobs",
    "topic_deletion": "jobs",
    "health_report": "health",
    "analytics": "analytics",
}
ADVANCE = "workers.tasks.jobs.advance_job"


def enqueue_job(job_id: int, kind: str) -> None:
    """One step of the job, soon. If the queue cannot be had the beat sends it again within seconds of its return."""
    from workers.app import app

    try:
        app.send_task(ADVANCE, args=[job_id], queue=QUEUES[kind], ignore_result=True, retry=False)
    except (OperationalError, OSError) as error:
        log.warning("job %d waits for the queue: %s", job_id, error)
