"""The queue between console and workers: Celery over Redis. The console sends steps of jobs by the task's name, after the transaction
that they are about; what tasks there are, and which come by the clock, is the workers' affair (`workers/app.py`)."""

from __future__ import annotations

import logging
from functools import cache
from typing import TYPE_CHECKING

from django.conf import settings
from kombu.exceptions import OperationalError

from console.jobs.registry import KINDS

if TYPE_CHECKING:
    from celery import Celery

log = logging.getLogger(__name__)
ADVANCE = "workers.tasks.jobs.advance_job"
PREFIX = "highwater-queue:"
"""Of the queues' keys in Redis, which are lists of this and the queue's name."""
QUEUES = tuple(sorted({kind.queue for kind in KINDS.values()}))
UNACKNOWLEDGED = f"{PREFIX}unacked"
"""The hash of what workers have taken and not begun."""


@cache
def queue() -> Celery:
    """JSON only, no result backend: a task takes ids and may be sent again. Made at first use, for Celery is slow to import."""
    from celery import Celery

    app = Celery("highwater")
    app.conf.update(
        broker_url=settings.REDIS_URL,
        broker_connection_retry_on_startup=True,
        broker_transport_options={"global_keyprefix": PREFIX, "socket_timeout": 5, "socket_connect_timeout": 3},
        task_serializer="json",
        accept_content=["json"],
        task_ignore_result=True,
        result_backend=None,
        task_default_queue="jobs",
    )
    return app


def enqueue_job(job_id: int, kind: str) -> None:
    """One step of the job, soon. If the queue cannot be had the beat sends it again within seconds of its return."""
    try:
        queue().send_task(ADVANCE, args=[job_id], queue=KINDS[kind].queue, ignore_result=True, retry=False)
    except (OperationalError, OSError) as error:
        log.warning("job %d waits for the queue: %s", job_id, error)
