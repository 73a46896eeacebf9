"""Whether a job that is under way has a worker: what is said of it is as of its last step. Pure."""

from __future__ import annotations

from datetime import datetime

from broker_core.contract.jobs import Job
from console.rules.words import duration

SILENT_S = 60
"""A step ends within 25 s, and the next one begins within some seconds of that."""


def silence(job: Job, now: datetime) -> str:
    """The sentence of a job under way that nobody goes on with, else empty."""
    last = job.stepped_at or job.started_at
    silent_s = (now - datetime.fromisoformat(last or job.created_at)).total_seconds()
    if job.ended_at is not None or silent_s < SILENT_S:
        return ""
    if last is None:
        return f"It has waited for a worker for {duration(silent_s)}."
    return (
        f"No step of it has been written for {duration(silent_s)}: no worker runs, or the database takes nothing."
        f" What is said of it is as of {datetime.fromisoformat(last):%H:%M:%S} UTC."
    )
