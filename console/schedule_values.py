"""Schedules and what became of their times, as pages and REST show them."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from django.db.models import OuterRef, Subquery
from msgspec import Meta, Struct

from broker_core.contract.jobs import JobState
from console.errors import Invalid
from console.jobs import scheduled
from console.models import Cluster, Job, ReturnElection, Schedule, ScheduleRun, job_value
from console.queries import NotFound
from console.rules.schedules.timetable import Timetable
from console.rules.schedules.words import local, offset, when

RUNS_SHOWN = 50
Outcome = Literal["begun", "nothing_to_do", "skipped", "missed", "refused"]
State = JobState | Literal["nothing_to_do", "skipped", "missed", "refused", "unknown"]


class Time(Struct, frozen=True):
    at: Annotated[str, Meta(description="UTC")]
    local: Annotated[str, Meta(description="on the clocks of the schedule's time zone")]
    offset: Annotated[str, Meta(description="of that zone from UTC, at that time")]


class Run(Struct, frozen=True, kw_only=True):
    """What became of a due time. `state` is that of the job, where one was begun and is kept; else the outcome."""

    id: int
    due_at: str
    at: Annotated[str, Meta(description="when that was decided")]
    by: str
    outcome: Outcome
    state: Annotated[State, Meta(description="unknown: a job was begun, and is kept no longer")]
    sentence: str
    job: Annotated[int | None, Meta(description="null where none was begun, or it is kept no longer")]
    lasted_s: Annotated[float | None, Meta(description="from the job's first step to its end; null while it has none")]


class ScheduleSeen(Struct, frozen=True, kw_only=True):
    id: int
    name: str
    kind: Annotated[str, Meta(extra_json_schema={"enum": list(scheduled.KINDS)})]
    params: dict[str, Any]
    does: Annotated[str, Meta(description="what it begins, in words")]
    cron: str
    zone: str
    is_paused: bool
    next: Annotated[Time | None, Meta(description="null while it is paused")]
    next_words: str
    last: Run | None
    created_by: str
    changed_by: Annotated[str | None, Meta(description="null where nobody has")]


class AfterReturn(Struct, frozen=True, kw_only=True):
    """Whether leaders go back to a broker that was down, once it is back and no partition that it hosts lacks a copy."""

    is_on: bool
    waiting: Annotated[list[int], Meta(description="brokers that are back and not whole yet")]
    sentence: str


def time_of(due: datetime, zone: str) -> Time:
    return Time(_iso(due), local(due, zone), offset(due, zone))


def schedule_or_fail(cluster: Cluster, schedule_id: int) -> Schedule:
    found = Schedule.objects.select_related("cluster").filter(cluster=cluster, pk=schedule_id if schedule_id < 2**63 else -1).first()
    if found is None:
        raise NotFound(f"There is no schedule {schedule_id}.")
    return found


def schedules_of(cluster: Cluster, now: datetime) -> list[ScheduleSeen]:
    """By name, all of a cluster: they are few."""
    newest = ScheduleRun.objects.filter(schedule=OuterRef("pk")).order_by("-id").values("id")[:1]
    rows = list(Schedule.objects.filter(cluster=cluster).annotate(newest=Subquery(newest)))
    last = ScheduleRun.objects.select_related("job").in_bulk([row.newest for row in rows if row.newest is not None])
    return [schedule_value(row, now, last.get(row.newest)) for row in sorted(rows, key=lambda row: row.name)]


def last_run_of(row: Schedule) -> ScheduleRun | None:
    return ScheduleRun.objects.select_related("job").filter(schedule=row).order_by("-id").first()


def schedule_value(row: Schedule, now: datetime, last: ScheduleRun | None) -> ScheduleSeen:
    """A zone that the machine knows no more (its files are gone) leaves the next time in UTC."""
    zone = _known(row)
    return ScheduleSeen(
        id=row.pk,
        name=row.name,
        kind=row.kind,
        params=row.params,
        does=scheduled.told(row.kind, row.params),
        cron=row.cron,
        zone=row.zone,
        is_paused=row.paused,
        next=None if row.next_at is None else time_of(row.next_at, zone),
        next_words=_next_words(row, now, zone),
        last=None if last is None else run_value(last),
        created_by=row.created_by,
        changed_by=row.changed_by or None,
    )


def _known(row: Schedule) -> str:
    try:
        local(row.created_at, row.zone)
    except Invalid:
        return "UTC"
    return row.zone


def _next_words(row: Schedule, now: datetime, zone: str) -> str:
    if row.paused:
        return "Paused."
    return "Never again." if row.next_at is None else when(row.next_at, now, zone)


def runs_of(schedule: Schedule, before: int | None = None, count: int = RUNS_SHOWN) -> list[Run]:
    """Newest first."""
    rows = ScheduleRun.objects.select_related("job").filter(schedule=schedule).order_by("-id")
    return [run_value(row) for row in (rows.filter(id__lt=before) if before is not None else rows)[:count]]


def run_value(row: ScheduleRun) -> Run:
    job = None if row.job is None else job_value(row.job)
    gone = row.outcome == ScheduleRun.BEGUN and job is None
    return Run(
        id=row.pk,
        due_at=_iso(row.due_at),
        at=_iso(row.at),
        by=row.by,
        outcome=row.outcome,  # type: ignore[arg-type]  # as it was written
        state=job.state if job else "unknown" if gone else row.outcome,  # type: ignore[arg-type]
        sentence=job.message if job else f"{row.said} That job is kept no longer." if gone else row.said,
        job=None if job is None else job.id,
        lasted_s=None if row.job is None else _lasted_s(row.job),
    )


def _lasted_s(job: Job) -> float | None:
    return None if job.started_at is None or job.ended_at is None else (job.ended_at - job.started_at).total_seconds()


def preview(cron: str, zone: str, now: datetime, count: int = 5) -> list[Time]:
    """The next times; `Invalid` names `cron` or `zone`."""
    return [time_of(due, zone) for due in Timetable(cron, zone).upcoming(now, count)]


def after_return_of(cluster: Cluster) -> AfterReturn:
    row = ReturnElection.objects.filter(cluster=cluster).first()
    if row is None or not row.is_on:
        return AfterReturn(is_on=False, waiting=[], sentence="Off: leaders stay where they are when a broker returns.")
    waiting = sorted(map(int, row.waiting))
    said = "On: once a broker is back and no partition that it hosts lacks a copy, the leaders that it is preferred for are elected."
    if waiting:
        some = ", ".join(map(str, waiting[:20]))
        one = len(waiting) == 1
        said += f" Broker {some} {'has' if one else 'have'} returned: {'its' if one else 'their'} election comes once no copy is lacking."
    if cluster.read_only:
        said += " This cluster is read-only here: nothing is elected until an admin allows changes."
    return AfterReturn(is_on=True, waiting=waiting, sentence=said)


def _iso(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
