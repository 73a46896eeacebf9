"""What a schedule begins when its time has come, or when somebody runs it by hand.

A due time is decided of once: the row of its history, the job, and the schedule's next time are written in one transaction, which finds
the schedule as it was taken or writes nothing. Who is killed before it leaves the time due, and the lease on the row ends by itself.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.db import IntegrityError, transaction
from django.db.models import Q

from console.actions.jobs import create_job
from console.errors import Conflict, Invalid, ReadOnly
from console.gateway.errors import GatewayError
from console.jobs import scheduled
from console.jobs.reassignment import ASSIGNMENTS_LIMIT
from console.models import Job, Schedule, ScheduleRun, trim
from console.move_plans import planned
from console.planning.words import plan_words
from console.roles import BEAT, Actor, Refused
from console.rules.schedules.due import Due, decide, missed_words
from console.rules.schedules.timetable import Timetable
from console.rules.schedules.words import local
from console.rules.words import duration, size
from console.snapshot.read import Snapshot, SnapshotUnavailable

log = logging.getLogger(__name__)
LEASE = timedelta(seconds=130)
"""Longer than a task that plans may take (`workers/tasks/schedules.py`)."""
AT_A_LOOK = 100
LATE_SAID = timedelta(minutes=1)


class Turn(NamedTuple):
    """One time of a schedule; `due` is what is decided of the times until then, None where somebody runs it by hand."""

    actor: Actor
    schedule: Schedule
    at: datetime
    due: Due | None


class Overtaken(Conflict):
    """The schedule was changed, paused, deleted or begun by somebody else meanwhile."""


class Nothing(Exception):
    """There is nothing to do; the message says why."""


def due_schedules(now: datetime) -> list[int]:
    """Those whose time has come and that nobody decides of."""
    free = Q(lease_until=None) | Q(lease_until__lt=now)
    return list(Schedule.objects.filter(free, next_at__lte=now).order_by("next_at").values_list("id", flat=True)[:AT_A_LOOK])


def begin_due(schedule_id: int, now: datetime) -> ScheduleRun | None:
    """Decides of what is due. None where somebody else does, or it is due no more."""
    free = Q(lease_until=None) | Q(lease_until__lt=now)
    if not Schedule.objects.filter(free, pk=schedule_id, next_at__lte=now).update(lease_until=now + LEASE):
        return None
    row = Schedule.objects.select_related("cluster").get(pk=schedule_id)
    if row.next_at is None:
        return None
    try:
        due = decide(Timetable(row.cron, row.zone), row.next_at, now)
    except Invalid as error:  # a machine with other time zones
        due = Due(row.next_at, None, 0, None)
        return _kept(Turn(BEAT, row, row.next_at, due), ScheduleRun.REFUSED, f"It is due no more: {error} Change it.")
    turn = Turn(BEAT, row, due.run or row.next_at, due)
    if due.run is None:
        return _kept(turn, ScheduleRun.MISSED, missed_words(due.missed_count, now - row.next_at))
    return _begun_or_why(turn, now)


def _begun_or_why(turn: Turn, now: datetime) -> ScheduleRun | None:
    try:
        return begin(turn, late=now - turn.at)
    except Overtaken:
        return None
    except ReadOnly as error:
        return _kept(turn, ScheduleRun.REFUSED, str(error))
    except Conflict as error:
        return _kept(turn, ScheduleRun.SKIPPED, str(error))
    except (Invalid, Refused, GatewayError, SnapshotUnavailable) as error:
        return _kept(turn, ScheduleRun.REFUSED, str(error))
    except Exception as error:
        log.exception("schedule %d could not begin", turn.schedule.pk)
        return _kept(turn, ScheduleRun.REFUSED, f"An error of ours: {type(error).__name__}: {error}")


def begin(turn: Turn, late: timedelta = timedelta()) -> ScheduleRun:
    """The history's row, with the job where there is something to do."""
    row, cluster = turn.schedule, turn.schedule.cluster
    running = Job.objects.filter(schedulerun__schedule=row, state__in=Job.ACTIVE).order_by("id").first()
    if running is not None:
        raise Conflict(f"Job {running.pk}, which this schedule began before, is {running.state} still.")
    try:
        params, said = _job_params(row)
    except Nothing as why:
        return _written(turn, ScheduleRun.NOTHING, str(why))
    made: list[ScheduleRun] = []

    def beside(job: Job) -> None:
        made.append(_written(turn, ScheduleRun.BEGUN, " ".join(filter(None, (f"Job {job.pk} was begun.", said))), job))

    create_job(turn.actor, cluster, row.kind, params, why=_why(turn, late), beside=beside)
    return made[0]


def _why(turn: Turn, late: timedelta) -> str:
    row = turn.schedule
    if turn.due is None:
        return f"Schedule “{row.name}” was run by hand by {turn.actor.name}."
    rest = f", and is made up {duration(late.total_seconds())} later" if late >= LATE_SAID else ""
    return f"Schedule “{row.name}” was due {local(turn.at, row.zone)} {row.zone}{rest}."


def _job_params(row: Schedule) -> tuple[Mapping[str, Any], str]:
    """Those of the job, and what is to be said of them."""
    if row.kind != scheduled.MOVES:
        return row.params, ""
    snapshot, params = Snapshot(row.cluster_id), row.params
    known = snapshot.as_of()
    if known.stale:
        age = "nothing live is known" if known.age_ms is None else f"what is known is {duration(known.age_ms / 1000)} old"
        raise Invalid("cluster", f"Nothing is planned, as {age}: it may be otherwise now.")
    found = planned(snapshot, params.get("topics") or [], [], scheduled.goal_of(params), params.get("moves_max") or ASSIGNMENTS_LIMIT)
    if not found.moves:
        raise Nothing(plan_words(found))
    _refuse_much(found.copy_bytes, params.get("copy_bytes_max"))
    rows = [{"topic": move.topic, "partition": move.partition, "replicas": list(move.replicas)} for move in found.moves]
    pace = {name: params[name] for name in ("throttle", "at_once") if params.get(name) is not None}
    return {"assignments": rows} | pace, plan_words(found)


def _refuse_much(copied: int | None, most: int | None) -> None:
    if most is None or (copied is not None and copied <= most):
        return
    amount = "it is not known how much" if copied is None else size(copied)
    raise Invalid("copy_bytes_max", f"The plan copies more than this schedule may ({size(most)}): {amount}.")


def _kept(turn: Turn, outcome: str, said: str) -> ScheduleRun | None:
    try:
        return _written(turn, outcome, said)
    except Overtaken:
        return None


def _written(turn: Turn, outcome: str, said: str, job: Job | None = None) -> ScheduleRun:
    """`Overtaken` where the time was decided of before, or the schedule is not as it was taken."""
    row, due = turn.schedule, turn.due
    try:
        with transaction.atomic():
            now = Schedule.objects.select_for_update().filter(pk=row.pk).first()
            if now is None or (due is not None and now.next_at != row.next_at):
                raise Overtaken(f"Schedule “{row.name}” was changed or begun by somebody else meanwhile.")
            if due is not None:
                Schedule.objects.filter(pk=row.pk).update(next_at=due.next_at, lease_until=None)
                ScheduleRun.objects.bulk_create(_missed(turn, due))
            run = ScheduleRun.objects.create(schedule=row, due_at=turn.at, by=turn.actor.name, outcome=outcome, said=said[:1000], job=job)
            trim(ScheduleRun.objects.filter(schedule=row), ScheduleRun.KEEP)
            return run
    except IntegrityError as error:
        raise Overtaken(f"Schedule “{row.name}” was begun by somebody else meanwhile.") from error


def _missed(turn: Turn, due: Due) -> Iterable[ScheduleRun]:
    """What passed before a time that is made up: one row of all of it."""
    if due.run is not None and due.missed is not None:
        said = missed_words(due.missed_count, due.run - due.missed)
        yield ScheduleRun(schedule=turn.schedule, due_at=due.missed, by=turn.actor.name, outcome=ScheduleRun.MISSED, said=said)
