"""Schedules of jobs: make, change, pause, delete, run one now; and whether leaders go back to a broker that has returned."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from console.actions.audit import audited
from console.actions.jobs import refuse_unknown
from console.actions.schedule_runs import Turn, begin
from console.errors import Conflict, Invalid
from console.jobs import scheduled
from console.models import Cluster, Event, ReturnElection, Schedule, ScheduleRun
from console.roles import OPERATOR, Actor
from console.rules.schedules.timetable import Timetable

NAME_MAX = 100
PARTS = ("name", "kind", "params", "cron", "zone", "paused")
REPORT_NAME, REPORT_HOUR = "Daily health report", 6


def create_schedule(
    actor: Actor, cluster: Cluster, *, name: str, kind: str, params: Mapping[str, Any], cron: str, zone: str, paused: bool = False
) -> Schedule:
    """The row; `Invalid` names what of it cannot be."""
    asked = {"name": name, "kind": kind, "params": dict(params), "cron": cron, "zone": zone, "paused": paused}
    with audited(actor, OPERATOR, "make schedule", name, cluster=cluster, changes_cluster=_changes(kind), after=asked) as entry:
        parts = entry.after = _checked(cluster, asked)
        with transaction.atomic():
            Cluster.objects.select_for_update().get(pk=cluster.pk)
            if Schedule.objects.filter(cluster=cluster).count() >= Schedule.MOST:
                raise Conflict(f"There are {Schedule.MOST} schedules: delete one first.")
            _refuse_taken(cluster, parts["name"])
            return Schedule.objects.create(cluster=cluster, created_by=actor.name, next_at=_next(parts), **parts)


def change_schedule(actor: Actor, schedule: Schedule, changes: Mapping[str, Any]) -> Schedule:
    """What is given, of `PARTS`; all else stays. A time that was due and not begun yet is left out."""
    before = {part: getattr(schedule, part) for part in PARTS}
    asked = before | dict(changes)
    is_other_kind = asked["kind"] != schedule.kind
    about, cluster = _changes(schedule.kind) or _changes(asked["kind"]), schedule.cluster
    with audited(actor, OPERATOR, "change schedule", schedule.name, cluster=cluster, changes_cluster=about, before=before) as entry:
        if is_other_kind and "params" not in changes:
            asked["params"] = {}
        parts = entry.after = _checked(cluster, asked)
        with transaction.atomic():
            row = _locked(schedule)
            _refuse_taken(cluster, parts["name"], but=row.pk)
            return _saved(actor, row, parts)


def pause_schedule(actor: Actor, schedule: Schedule, *, paused: bool) -> Schedule:
    """Has it begin nothing more, or go on with the next time from now; the same again changes nothing. A pause changes no cluster."""
    action, about = ("pause" if paused else "resume") + " schedule", not paused and _changes(schedule.kind)
    before = {"paused": schedule.paused}
    with audited(actor, OPERATOR, action, schedule.name, cluster=schedule.cluster, changes_cluster=about, before=before) as entry:
        entry.after = {"paused": paused}
        with transaction.atomic():
            row = _locked(schedule)
            return row if row.paused == paused else _saved(actor, row, {part: getattr(row, part) for part in PARTS} | {"paused": paused})


def delete_schedule(actor: Actor, schedule: Schedule) -> None:
    """With its history; jobs that it has begun go on."""
    before = {part: getattr(schedule, part) for part in PARTS}
    with audited(actor, OPERATOR, "delete schedule", schedule.name, cluster=schedule.cluster, changes_cluster=False, before=before):
        schedule.delete()


def run_schedule(actor: Actor, schedule: Schedule) -> ScheduleRun:
    """Begins its job now, whatever its times are, also while it is paused. `Conflict` where something under way stands in its way; what
    there is nothing to do for is kept in its history and begins nothing."""
    about = _changes(schedule.kind)
    with audited(actor, OPERATOR, "run schedule", schedule.name, cluster=schedule.cluster, changes_cluster=about) as entry:
        run = begin(Turn(actor, schedule, timezone.now(), None))
        entry.after = {"outcome": run.outcome, "job": run.job_id}
        return run


def set_after_return(actor: Actor, cluster: Cluster, *, is_on: bool) -> ReturnElection:
    """From now on: a return that was before is not looked at."""
    with audited(actor, OPERATOR, "elect after a return", "on" if is_on else "off", cluster=cluster, changes_cluster=is_on) as entry:
        with transaction.atomic():
            row, _ = ReturnElection.objects.select_for_update().get_or_create(cluster=cluster)
            entry.before = {"is_on": row.is_on}
            if row.is_on != is_on:
                newest = Event.objects.filter(cluster=cluster).order_by("-id").values_list("id", flat=True).first()
                row.is_on, row.seen_event, row.waiting = is_on, newest or 0, {}
                row.set_by, row.set_at = actor.name, timezone.now()
                row.save()
        return row


def first_schedules(cluster: Cluster) -> None:
    """Those that a cluster has from its beginning, to be changed or paused like others: a health report a day."""
    hour = settings.REPORT_HOUR
    parts = {"cron": f"0 {REPORT_HOUR if hour is None else hour} * * *", "zone": "UTC", "paused": hour is None}
    made = {"kind": scheduled.REPORT, "created_by": "console", "next_at": _next(parts), **parts}
    Schedule.objects.get_or_create(cluster=cluster, name=REPORT_NAME, defaults=made)


def _changes(kind: str) -> bool:
    return kind not in scheduled.KINDS or scheduled.KINDS[kind].changes_cluster


def _locked(schedule: Schedule) -> Schedule:
    row = Schedule.objects.select_for_update().select_related("cluster").filter(pk=schedule.pk).first()
    if row is None:
        raise Conflict(f"Schedule {schedule.pk} was deleted meanwhile.")
    return row


def _saved(actor: Actor, row: Schedule, parts: Mapping[str, Any]) -> Schedule:
    for part, value in parts.items():
        setattr(row, part, value)
    row.next_at, row.lease_until = _next(parts), None
    row.changed_by, row.changed_at = actor.name, timezone.now()
    row.save()
    return row


def _next(parts: Mapping[str, Any]) -> datetime | None:
    return None if parts["paused"] else Timetable(parts["cron"], parts["zone"]).after(timezone.now())


def _checked(cluster: Cluster, asked: Mapping[str, Any]) -> dict[str, Any]:
    """As it is kept. What is named has to be there now; whether it is when the time has come is looked at then."""
    name, kind = " ".join(str(asked["name"]).split()), scheduled.kind_of(asked["kind"])
    if not 1 <= len(name) <= NAME_MAX:
        raise Invalid("name", f"Give it a name of 1 to {NAME_MAX} characters, by which people tell schedules apart.")
    if kind.of_own_cluster and cluster.pk != settings.LOCAL_CLUSTER:
        raise Invalid("kind", f"This is not available from {cluster.name}: samples are taken of this system's own cluster only.")
    params = scheduled.checked(kind.name, asked["params"])
    table = Timetable(asked["cron"], asked["zone"])
    if kind.name != scheduled.MOVES:
        refuse_unknown(cluster, kind, params)
    return {
        "name": name,
        "kind": kind.name,
        "params": params,
        "cron": table.expression,
        "zone": asked["zone"],
        "paused": bool(asked["paused"]),
    }


def _refuse_taken(cluster: Cluster, name: str, but: int = 0) -> None:
    if Schedule.objects.filter(cluster=cluster, name__iexact=name).exclude(pk=but).exists():
        raise Invalid("name", f"Another schedule is called {name}: people could not tell them apart.")
