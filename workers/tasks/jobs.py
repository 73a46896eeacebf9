"""Queue `jobs`: one step of a job, and the beat's look at unfinished ones."""

from __future__ import annotations

from time import monotonic

from console.queue import ADVANCE, enqueue_job
from workers.app import app
from workers.runner import advance, unfinished

SOFT_S, HARD_S = 20, 30
STEPS_AT_ONCE = 5
BEGIN_WITHIN_S = 8.0
"""No further step is begun later than this: each may take ten seconds, and the limit would fail a job that is only slow."""


@app.task(name=ADVANCE, soft_time_limit=SOFT_S, time_limit=HARD_S)
def advance_job(job_id: int) -> None:
    """Safe to run twice: the lease lets one through, and each step may be repeated."""
    end = monotonic() + BEGIN_WITHIN_S
    for _ in range(STEPS_AT_ONCE):
        if not advance(job_id) or monotonic() >= end:
            return


@app.task(name="workers.tasks.jobs.advance_unfinished", soft_time_limit=SOFT_S, time_limit=HARD_S)
def advance_unfinished() -> None:
    for job_id, kind in unfinished():
        enqueue_job(job_id, kind)
