"""Takes one step of a job under a lease. What a step does is its kind's affair (`workers/kinds/`, by the file that
declares the kind in `console/jobs/`).

The lease is a row update that only one worker can win; its result is written only while the lease is still ours. A worker that dies
leaves a lease that ends by itself, and the beat sends the job again.
"""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Callable
from datetime import timedelta
from importlib import import_module
from types import ModuleType

from django.db.models import Q
from django.utils import timezone

from console.gateway.errors import GatewayError
from console.jobs.registry import KINDS
from console.models import Job, job_value
from console.snapshot.asking import ask_now
from console.snapshot.jobs import publish_job
from console.snapshot.read import SnapshotUnavailable
from console.snapshot.steps import note_step
from workers.kinds.step import Step

log = logging.getLogger(__name__)
LEASE_S = 25
PATIENCE_S = 1800
AWAY_SINCE = "away_since"
"""In a plan: when the cluster was found away that has not answered since, seconds since 1970."""
LOG_KEPT = 200
STEPS: dict[str, ModuleType] = {kind.name: import_module(f"workers.kinds.{kind.file}") for kind in KINDS.values()}


def unfinished() -> list[tuple[int, str]]:
    """(id, kind) of jobs that want a step and nobody holds."""
    free = Q(lease_until=None) | Q(lease_until__lt=timezone.now())
    return list(Job.objects.filter(free, state__in=Job.ACTIVE).order_by("id").values_list("id", "kind")[:100])


def advance(job_id: int) -> bool:
    """One step; True if the next one should follow at once. False also where somebody else has the job or it is over."""
    owner = secrets.token_hex(8)
    job = _take(job_id, owner)
    if job is None:
        return False
    begun = time.perf_counter()
    step = _step(job)
    note_step(job.kind, _outcome(step), time.perf_counter() - begun)
    _write(job, step, owner)
    return step.again and not step.state


def _take(job_id: int, owner: str) -> Job | None:
    now = timezone.now()
    free = Q(lease_until=None) | Q(lease_until__lt=now)
    won = Job.objects.filter(free, pk=job_id, state__in=Job.ACTIVE).update(lease_owner=owner, lease_until=now + timedelta(seconds=LEASE_S))
    return Job.objects.select_related("cluster").get(pk=job_id) if won else None


def _step(job: Job) -> Step:
    kind = STEPS[job.kind]
    away_since = job.plan.pop(AWAY_SINCE, timezone.now().timestamp())
    try:
        return kind.cancel(job) if job.cancel_requested else kind.advance(job)  # type: ignore[no-any-return]
    except (GatewayError, SnapshotUnavailable) as error:
        return _after(job, kind, error, away_since)
    except Exception as error:
        log.exception("job %d failed", job.pk)
        said = f"An error of ours: {type(error).__name__}: {error}"
        return _failed(job, kind, said)


def _outcome(step: Step) -> str:
    return step.state or ("waiting" if AWAY_SINCE in step.plan else "unfinished")


def _failed(job: Job, kind: ModuleType, said: str) -> Step:
    """The end of the job, unless its kind has something to clear away first (`failing`)."""
    step = Step(job.step, job.plan, job.done, job.total, job.unit, said[:1000], said[:300], Job.FAILED)
    clear_away: Callable[[Job, Step], Step] = getattr(kind, "failing", lambda _job, step: step)
    return clear_away(job, step)


def _after(job: Job, kind: ModuleType, error: Exception, away_since: float) -> Step:
    """A cluster that does not answer is waited for, counted from the first time; one that refuses ends the job."""
    if getattr(error, "retriable", True) and timezone.now().timestamp() - away_since < PATIENCE_S:
        return Step(job.step, {**job.plan, AWAY_SINCE: away_since}, job.done, job.total, job.unit, f"Waiting: {error}"[:1000])
    return _failed(job, kind, str(error))


def _write(job: Job, step: Step, owner: str) -> None:
    """The step's outcome, unless the lease was lost meanwhile. A cancel asked for meanwhile stays asked for."""
    now = timezone.now()
    log_rows = [*job.log, {"at": now.isoformat(timespec="seconds"), "text": step.said}][-LOG_KEPT:] if step.said else job.log
    changes = {
        "step": step.step,
        "plan": step.plan,
        "done": step.done,
        "total": step.total,
        "unit": step.unit,
        "message": step.message[:1000],
        "log": log_rows,
        "lease_owner": "",
        "lease_until": None,
        "started_at": job.started_at or now,
        "stepped_at": now,
    }
    if step.state:
        changes |= {"state": step.state, "ended_at": now, "result": step.result}
    mine = Job.objects.filter(pk=job.pk, lease_owner=owner)
    if not mine.update(**changes):
        log.warning("job %d: the lease was lost, the step is not kept", job.pk)
        return
    if not step.state:
        Job.objects.filter(pk=job.pk, state=Job.QUEUED).update(state=Job.RUNNING)
    publish_job(job.cluster_id, job_value(Job.objects.get(pk=job.pk)))
    if step.state:
        ask_now(job.cluster_id, "metadata")
