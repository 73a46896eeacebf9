"""Schedules of jobs, their history, and elections after a broker's return."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from django.http import HttpResponse
from django.utils import timezone
from msgspec import Struct
from ninja import Router, Status
from pydantic import Field

from console import queries
from console.actions.schedules import (
    change_schedule,
    create_schedule,
    delete_schedule,
    pause_schedule,
    run_schedule,
    set_after_return,
)
from console.api.answers import Listed
from console.api.bearer import Bearer
from console.api.described import answers
from console.api.shapes import Limit, Strict, example, listed, number_cursor, text_cursor
from console.jobs.scheduled import ScheduledParameters
from console.models import Schedule
from console.roles import OPERATOR
from console.rules.schedules.timetable import EXPRESSION_MAX, ZONE_MAX
from console.schedule_values import (
    AfterReturn,
    Run,
    ScheduleSeen,
    Time,
    after_return_of,
    last_run_of,
    preview,
    run_value,
    runs_of,
    schedule_or_fail,
    schedule_value,
    schedules_of,
)

router = Router(tags=["schedules"])
ALL = "/clusters/{cluster_id}/schedules"
ONE = ALL + "/{int:schedule_id}"
AFTER_RETURN = "/clusters/{cluster_id}/election-after-return"

Cron = Annotated[str, Field(max_length=EXPRESSION_MAX, description="minute, hour, day of month, month, day of week, as cron has them")]
Zone = Annotated[str, Field(max_length=ZONE_MAX, description="an IANA name, as Europe/Berlin, or UTC")]
Called = Annotated[str, Field(min_length=1, max_length=100)]
Kind = Literal["preferred_leader_election", "health_report", "analytics", "reassignment"]


class NewSchedule(Strict):
    model_config = example(
        name="Balance at night",
        kind="reassignment",
        cron="0 2 * * 1-5",
        zone="Europe/Berlin",
        params={"goal": {"balance": ["racks", "replicas", "leaders"]}, "moves_max": 50, "throttle": 10_485_760},
    )

    name: Called
    kind: Kind
    cron: Cron
    zone: Zone = "UTC"
    paused: Annotated[bool, Field(strict=True)] = False
    params: ScheduledParameters | None = None


class ScheduleChange(Strict):
    """What is left out stays; `params` are taken as a whole."""

    model_config = example(cron="30 3 * * *", zone="Europe/Berlin")

    name: Called | None = None
    cron: Cron | None = None
    zone: Zone | None = None
    params: ScheduledParameters | None = None


class Times(Struct):
    """The next five."""

    times: list[Time]


class AfterReturnAsked(Strict):
    model_config = example(is_on=True)

    is_on: Annotated[bool, Field(strict=True)]


def _value(row: Schedule) -> ScheduleSeen:
    return schedule_value(row, timezone.now(), last_run_of(row))


def _row(cluster_id: str, schedule_id: int) -> Schedule:
    return schedule_or_fail(queries.cluster_of(cluster_id), schedule_id)


def _params(asked: ScheduledParameters | None) -> dict[str, Any]:
    return {} if asked is None else asked.model_dump(exclude_unset=True)


@router.get(ALL)
@answers(Listed[ScheduleSeen])
def schedules(request: Any, cluster_id: str, limit: Limit = 100, cursor: str | None = None) -> Listed[ScheduleSeen]:
    """By name; a cluster has 100 at most."""
    after = text_cursor(cursor)
    found = [one for one in schedules_of(queries.cluster_of(cluster_id), timezone.now()) if one.name > after]
    return listed(found, limit, lambda one: one.name)


@router.post(ALL, auth=Bearer(OPERATOR, "make a schedule"), response={201: Any})
@answers(s201=ScheduleSeen)
def create(request: Any, cluster_id: str, payload: NewSchedule) -> Status[Any]:
    """A local time that a change of clocks skips is due once after the gap, one that comes twice the first time; expressions for every
    hour go by the hours that pass."""
    asked = {**payload.dict(exclude={"params"}), "params": _params(payload.params)}
    return Status(201, _value(create_schedule(request.auth, queries.cluster_of(cluster_id), **asked)))


@router.get(ALL + "/preview")
@answers(Times)
def look(request: Any, cluster_id: str, cron: Cron, zone: Zone = "UTC") -> Times:
    """When a schedule would be due; nothing is kept."""
    queries.cluster_of(cluster_id)
    return Times(preview(cron, zone, timezone.now()))


@router.get(ONE)
@answers(ScheduleSeen)
def schedule(request: Any, cluster_id: str, schedule_id: int) -> ScheduleSeen:
    return _value(_row(cluster_id, schedule_id))


@router.patch(ONE, auth=Bearer(OPERATOR, "change a schedule"))
@answers(ScheduleSeen)
def change(request: Any, cluster_id: str, schedule_id: int, payload: ScheduleChange) -> ScheduleSeen:
    """It goes by its new times from now on; a job that it has begun goes on."""
    changes = {name: value for name, value in payload.dict(exclude={"params"}).items() if value is not None}
    if payload.params is not None:
        changes["params"] = _params(payload.params)
    return _value(change_schedule(request.auth, _row(cluster_id, schedule_id), changes))


@router.delete(ONE, auth=Bearer(OPERATOR, "delete a schedule"), response={204: None})
@answers(s204=None)
def remove(request: Any, cluster_id: str, schedule_id: int) -> HttpResponse:
    """With its history; a job that it has begun goes on."""
    delete_schedule(request.auth, _row(cluster_id, schedule_id))
    return HttpResponse(status=204)


@router.post(ONE + "/pause", auth=Bearer(OPERATOR, "pause a schedule"))
@answers(ScheduleSeen)
def pause(request: Any, cluster_id: str, schedule_id: int) -> ScheduleSeen:
    """Has it begin nothing more."""
    return _value(pause_schedule(request.auth, _row(cluster_id, schedule_id), paused=True))


@router.post(ONE + "/resume", auth=Bearer(OPERATOR, "resume a schedule"))
@answers(ScheduleSeen)
def resume(request: Any, cluster_id: str, schedule_id: int) -> ScheduleSeen:
    """Has it go on with its next time; those that passed meanwhile are not made up."""
    return _value(pause_schedule(request.auth, _row(cluster_id, schedule_id), paused=False))


@router.post(ONE + "/run", auth=Bearer(OPERATOR, "run a schedule"))
@answers(Run)
def run(request: Any, cluster_id: str, schedule_id: int) -> Run:
    """Begins its job now, also while it is paused. 409 where something under way stands in its way."""
    return run_value(run_schedule(request.auth, _row(cluster_id, schedule_id)))


@router.get(ONE + "/runs")
@answers(Listed[Run])
def runs(request: Any, cluster_id: str, schedule_id: int, limit: Limit = 50, cursor: str | None = None) -> Listed[Run]:
    """What became of its times, newest first: the last 200 are kept."""
    found = runs_of(_row(cluster_id, schedule_id), number_cursor(cursor), limit + 1)
    return listed(found, limit, lambda one: str(one.id))


@router.get(AFTER_RETURN)
@answers(AfterReturn)
def after_return(request: Any, cluster_id: str) -> AfterReturn:
    """Whether leaders go back by themselves to a broker that was down, once it is back and no partition that it hosts lacks a copy."""
    return after_return_of(queries.cluster_of(cluster_id))


@router.put(AFTER_RETURN, auth=Bearer(OPERATOR, "elect after a broker's return"))
@answers(AfterReturn)
def put_after_return(request: Any, cluster_id: str, payload: AfterReturnAsked) -> AfterReturn:
    """Of returns from now on."""
    cluster = queries.cluster_of(cluster_id)
    set_after_return(request.auth, cluster, is_on=payload.is_on)
    return after_return_of(cluster)
