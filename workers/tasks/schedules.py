"""Queue `health`: begins what is due, each schedule in a task of its own, and looks for brokers that have returned."""

from __future__ import annotations

from django.utils import timezone

from console.actions.return_elections import look_for_returns
from console.actions.schedule_runs import begin_due, due_schedules
from workers.app import app

QUEUE = "health"
EXPIRES_S = 30
"""A task that waits longer has been sent anew."""


@app.task(name="workers.tasks.schedules.look", soft_time_limit=20, time_limit=30)
def look() -> None:
    """Where nothing is due, one query along an index."""
    for schedule_id in due_schedules(timezone.now()):
        begin.apply_async(args=(schedule_id,), queue=QUEUE, expires=EXPIRES_S)


@app.task(name="workers.tasks.schedules.begin", soft_time_limit=110, time_limit=120)
def begin(schedule_id: int) -> None:
    """Safe to run twice: a due time is decided of once. A plan for a large cluster may take a minute."""
    begin_due(schedule_id, timezone.now())


@app.task(name="workers.tasks.schedules.look_for_returned_brokers", soft_time_limit=50, time_limit=60)
def look_for_returned_brokers() -> None:
    look_for_returns()
