"""Jobs: ask, look, pause, cancel."""

from __future__ import annotations

from typing import Any

from ninja import Router, Status

from broker_core.contract.jobs import Job as JobValue
from console import queries
from console.actions.jobs import cancel_job, create_job, pause_job
from console.api.answers import Job as JobAnswer
from console.api.answers import Listed
from console.api.bearer import Bearer
from console.api.described import answers
from console.api.shapes import Limit, NewJob, listed, number_cursor
from console.errors import Invalid
from console.jobs.registry import asked_for
from console.models import Job, job_value
from console.roles import OPERATOR

router = Router(tags=["jobs"])


@router.get("/jobs")
@answers(Listed[JobAnswer])
def jobs(request: Any, limit: Limit = 100, cursor: str | None = None, cluster: str = "", state: str = "") -> Listed[JobValue]:
    """Newest first."""
    rows = Job.objects.order_by("-id")
    before = number_cursor(cursor)
    rows = rows.filter(id__lt=before) if before is not None else rows
    if cluster:
        rows = rows.filter(cluster_id=queries.known_choice("cluster", cluster, queries.cluster_ids()))
    if state:
        rows = rows.filter(state=queries.known_choice("state", state, Job.STATES))
    return listed([job_value(job) for job in rows[: limit + 1]], limit, lambda j: str(j.id))


@router.post("/jobs", auth=Bearer(OPERATOR, "start a job"), response={202: Any})
@answers(s202=JobAnswer)
def create(request: Any, payload: NewJob) -> Status[Any]:
    """409 where an active job already does this."""
    params = {name: value for name, value in payload.dict(exclude={"cluster", "kind"}).items() if value is not None}
    takes = asked_for(payload.kind).parameters
    for name in params.keys() - (takes.model_fields.keys() if takes else ()):
        raise Invalid(name, f"A job of kind {payload.kind} takes no {name}.")
    return Status(202, job_value(create_job(request.auth, queries.cluster_of(payload.cluster), payload.kind, params)))


@router.get("/jobs/{int:job_id}")
@answers(JobAnswer)
def job(request: Any, job_id: int) -> JobValue:
    return job_value(queries.job_or_fail(job_id))


@router.delete("/jobs/{int:job_id}", auth=Bearer(OPERATOR, "cancel a job"), response={202: Any})
@answers(s202=JobAnswer)
def cancel(request: Any, job_id: int) -> Status[Any]:
    """Asks for the end; the job is `cancelling` until the cluster has let go. 409 when it is over."""
    return Status(202, job_value(cancel_job(request.auth, queries.job_or_fail(job_id))))


@router.post("/jobs/{int:job_id}/pause", auth=Bearer(OPERATOR, "pause a job"), response={202: Any})
@answers(s202=JobAnswer)
def pause(request: Any, job_id: int) -> Status[Any]:
    """Has it begin nothing more; `pause_means` says what goes on. 409 when it is over or has no pause."""
    return Status(202, job_value(pause_job(request.auth, queries.job_or_fail(job_id), paused=True)))


@router.post("/jobs/{int:job_id}/resume", auth=Bearer(OPERATOR, "resume a job"), response={202: Any})
@answers(s202=JobAnswer)
def resume(request: Any, job_id: int) -> Status[Any]:
    """Has a paused job go on."""
    return Status(202, job_value(pause_job(request.auth, queries.job_or_fail(job_id), paused=False)))
