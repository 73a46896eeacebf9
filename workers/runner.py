"""Takes one step of a job under a lease. What a step does is its kind's affair (`workers/kinds/`).

The lease is a row update that only one worker can win; its result is written only while the lease is still ours. A worker that dies
leaves a lease that ends by itself, and the beat sends the job again.
"""

from __future__ import annotations

import logging
import secrets
from datetime import timedelta
from types import ModuleType

from django.db.models import Q
from django.utils import timezone

from console.gateway.errors import GatewayError
from console.models import Job, job_value
from console.snapshot.jobs import publish_job
from console.snapshot.read import SnapshotUnavailable
from workers.kinds import analytics, election, health, reassignment
from workers.kinds.step import Step

log = logging.getLogger(__name__)
LEASE_S = 25
PATIENCE_S = 1800
LOG_KEPT = 200
KINDS: dict[str, ModuleType] = {
    "preferred_leader_election": election,
    "reassignment": reassignment,
    "health_report": health,
    "analytics": analytics,
}


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
    step = _step(job)
    _write(job, step, owner)
    return step.again and not step.state


def _take(job_id: int, owner: str) -> Job | None:
    now = timezone.now()
    free = Q(lease_until=None) | Q(lease_until__lt=now)
    won = Job.objects.filter(free, pk=job_id, state__in=Job.ACTIVE).update(lease_owner=owner, lease_until=now + timedelta(seconds=LEASE_S))
    return Job.objects.select_related("cluster").get(pk=job_id) if won else None


def _step(job: Job) -> Step:
    kind = KINDS[job.kind]
    try:
        return kind.cancel(job) if job.cancel_requested else kind.advance(job)  # type: ignore[no-any-return]
    except (GatewayError, SnapshotUnavailable) as error:
        return _after(job, error)
    except Exception as error:
        log.exception("job %d failed", job.pk)
        said = f"An error of ours: {type(error).__name__}: {error}"
        return Step(job.step, job.plan, job.done, job.total, job.unit, said[:1000], said[:300], Job.FAILED)


def _after(job: Job, error: Exception) -> Step:
    """A cluster that does not answer is waited for; one that refuses ends the job."""
    age_s = (timezone.now() - job.created_at).total_seconds()
    if getattr(error, "retriable", True) and age_s < PATIENCE_S:
        return Step(job.step, job.plan, job.done, job.total, job.unit, f"Waiting: {error}"[:1000])
    return Step(job.step, job.plan, job.done, job.total, job.unit, str(error)[:1000], str(error)[:300], Job.FAILED)


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
