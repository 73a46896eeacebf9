"""Moves of replicas that are under way in the cluster, jobs of this console and all others. New ones are begun as jobs."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Struct
from ninja import Router
from pydantic import Field

from console import queries
from console.actions.left_throttles import ClearedThrottle, LeftThrottle, clear_left, throttles_set
from console.actions.reassignments import (
    PLACES_MAX,
    Ended,
    Move,
    adopt_moves,
    adoption,
    cancel_moves,
    moves_under_way,
    plan_cancellation,
)
from console.api.answers import Job as JobAnswer
from console.api.answers import Listed, read
from console.api.bearer import Bearer
from console.api.described import answers
from console.api.shapes import DryRun, Limit, Strict, example, listed, number_cursor
from console.jobs.kind import Id, Name
from console.jobs.reassignment import AtOnce, Throttle
from console.models import job_value
from console.roles import OPERATOR

router = Router(tags=["jobs"])
ALL = "/clusters/{cluster_id}/reassignments"


class Moved(Strict):
    topic: Name
    partition: Id


class Cancellation(Strict):
    model_config = example(partitions=[{"topic": "orders", "partition": 0}], dry_run=True)

    partitions: Annotated[list[Moved], Field(min_length=1, max_length=PLACES_MAX)]
    dry_run: DryRun = False


class Cancelled(Struct):
    """`moves` are those that end, or would; `failed` those that go on."""

    moves: list[Move]
    failed: list[Ended]


@router.get(ALL)
@answers(Listed[Move])
def reassignments(request: Any, cluster_id: str, limit: Limit = 100, cursor: str | None = None) -> Listed[Move]:
    """By topic and partition, as the controller says now. A cursor counts moves: some that end meanwhile may hide others from a walk."""
    found = moves_under_way(queries.cluster_of(cluster_id))
    first = number_cursor(cursor) or 0
    numbered = list(enumerate(found, 1))[first : first + limit + 1]
    page = listed(numbered, limit, lambda row: str(row[0]))
    return Listed([move for _, move in page.items], page.next)


@router.post(ALL + "/cancellation", auth=Bearer(OPERATOR, "cancel moves"))
@answers(Cancelled)
def cancel(request: Any, cluster_id: str, payload: Cancellation) -> Cancelled:
    """Replicas being added are dropped again and each partition keeps those it had. What a job of this console moves is ended by
    cancelling the job: 409 names it."""
    cluster = queries.cluster_of(cluster_id)
    places = [(one.topic, one.partition) for one in payload.partitions]
    moves = plan_cancellation(cluster, places)
    if payload.dry_run:
        return Cancelled(moves, [])
    ended = cancel_moves(request.auth, cluster, places)
    failed = [one for one in ended if one.error]
    kept = {(one.topic, one.partition) for one in failed}
    return Cancelled([move for move in moves if move.place not in kept], failed)


class Adoption(Strict):
    model_config = example(partitions=None, dry_run=True)

    partitions: Annotated[
        list[Moved] | None, Field(min_length=1, max_length=PLACES_MAX, description="null: all that somebody else began, 1000 at most")
    ] = None
    throttle: Throttle = None
    at_once: AtOnce = None
    dry_run: DryRun = False


class Adopted(Struct):
    """`moves` are those that the job has, or would have; `job` is null in a dry run."""

    moves: list[Move]
    job: JobAnswer | None


@router.post(ALL + "/adoption", auth=Bearer(OPERATOR, "take over moves"))
@answers(Adopted)
def adopt(request: Any, cluster_id: str, payload: Adoption) -> Adopted:
    """Has a job see to moves that somebody else began: they go on as they are, with progress and a cancel that takes them back. 409 where
    there is none, or a job of this console is at one."""
    cluster = queries.cluster_of(cluster_id)
    places = None if payload.partitions is None else [(one.topic, one.partition) for one in payload.partitions]
    moves = adoption(cluster, places)
    if payload.dry_run:
        return Adopted(moves, None)
    pace = {name: value for name, value in (("throttle", payload.throttle), ("at_once", payload.at_once)) if value is not None}
    job = adopt_moves(request.auth, cluster, moves, pace)
    return Adopted(moves, read(JobAnswer, job_value(job)))


@router.get("/clusters/{cluster_id}/throttles")
@answers(Listed[LeftThrottle])
def throttles(request: Any, cluster_id: str, limit: Limit = 100, cursor: str | None = None) -> Listed[LeftThrottle]:
    """Throttles of replication that are set now for single brokers and topics, and what uses each. A cursor counts them."""
    found = throttles_set(queries.cluster_of(cluster_id))
    first = number_cursor(cursor) or 0
    numbered = list(enumerate(found, 1))[first : first + limit + 1]
    page = listed(numbered, limit, lambda row: str(row[0]))
    return Listed([one for _, one in page.items], page.next)


class Cleared(Struct):
    throttles: list[ClearedThrottle]


@router.delete("/clusters/{cluster_id}/throttles", auth=Bearer(OPERATOR, "clear throttles left behind"))
@answers(Cleared)
def clear_throttles(request: Any, cluster_id: str) -> Cleared:
    """Takes back those that no job and no move under way uses, 200 at most, and tells the values that they had."""
    return Cleared(clear_left(request.auth, queries.cluster_of(cluster_id)))
