"""Groups, their lag and their offsets."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from django.http import HttpResponse
from ninja import Query, Router

from broker_core.contract.groups import Group, Lag
from console import queries
from console.actions.groups import delete_group, plan_offsets, set_offsets
from console.actions.offsets import AtTime, Shift, Where
from console.api.answers import Listed, ListedLive, ReadGroup, read
from console.api.bearer import Bearer
from console.api.described import answers
from console.api.shapes import GroupQuery, Limit, OffsetMove, listed, listed_live, number_cursor
from console.api.topic_answers import OffsetMoved
from console.errors import Invalid
from console.listing import Wanted, names_after
from console.roles import ADMIN, OPERATOR
from console.snapshot.read import Snapshot

router = Router(tags=["groups"])
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
ONE = "/clusters/{cluster_id}/groups/{path:group_id}"


@router.get("/clusters/{cluster_id}/groups")
@answers(ListedLive[Group])
def groups(request: Any, cluster_id: str, query: Query[GroupQuery], limit: Limit = 100, cursor: str | None = None) -> ListedLive[Group]:
    """By name or by `sort`; cursors as of topics."""
    snapshot = Snapshot(queries.cluster_at(cluster_id).snapshot_id)
    names, after = names_after(snapshot, Wanted(kind="group", **query.dict()).checked(), cursor, limit)
    return listed_live(Listed(snapshot.groups(names), after), snapshot)


@router.get(ONE + "/offsets")
@answers(ListedLive[Lag])
def offsets(request: Any, cluster_id: str, group_id: str, limit: Limit = 100, cursor: str | None = None) -> ListedLive[Lag]:
    """Committed, end and lag of each partition."""
    snapshot = Snapshot(queries.cluster_at(cluster_id).snapshot_id)
    queries.group_or_fail(snapshot, group_id)
    start = number_cursor(cursor) or 0
    rows = list(enumerate(snapshot.lag_rows(group_id)))[start : start + limit + 1]
    page = listed(rows, limit, lambda row: str(row[0] + 1))
    return listed_live(Listed([row for _, row in page.items], page.next), snapshot)


@router.post(ONE + "/offsets", auth=Bearer(OPERATOR, "move offsets"))
@answers(Listed[OffsetMoved])
def move_offsets(request: Any, cluster_id: str, group_id: str, payload: OffsetMove) -> Listed[dict[str, Any]]:
    """Moves committed offsets of a group without members; `dry_run` only tells where they would go. An offset beyond the log's ends is
    refused, unless `confirm` says that its end will do."""
    cluster = queries.cluster_of(cluster_id)
    spans, to = _spans(payload), _where(payload)
    if payload.dry_run:
        return Listed(plan_offsets(cluster, group_id, payload.topic, spans, to), None)
    return Listed(set_offsets(request.auth, cluster, group_id, topic=payload.topic, spans=spans, to=to, confirm=payload.confirm), None)


def _spans(payload: OffsetMove) -> list[tuple[int, int]] | None:
    if payload.partition is not None and payload.partitions is not None:
        raise Invalid("partitions", "Give partition or partitions, not both.")
    numbers = payload.partitions if payload.partition is None else [payload.partition]
    return None if numbers is None else [(number, number) for number in numbers]


def _where(payload: OffsetMove) -> Where:
    if sum(value is not None for value in (payload.to, payload.time, payload.shift)) != 1:
        raise Invalid("to", "Say where to by one of to, time and shift.")
    if payload.shift is not None:
        return Shift(payload.shift)
    if payload.time is None:
        return str(payload.to)
    if payload.time < EPOCH:
        raise Invalid("time", "Give a time after 1970.")
    return AtTime((payload.time - EPOCH) // timedelta(milliseconds=1))


@router.get(ONE)
@answers(ReadGroup)
def group(request: Any, cluster_id: str, group_id: str) -> ReadGroup:
    snapshot = Snapshot(queries.cluster_at(cluster_id).snapshot_id)
    return read(ReadGroup, queries.group_or_fail(snapshot, group_id), as_of=snapshot.as_of())


@router.delete(ONE, auth=Bearer(ADMIN, "delete group"), response={204: None})
@answers(s204=None)
def delete(request: Any, cluster_id: str, group_id: str) -> HttpResponse:
    delete_group(request.auth, queries.cluster_of(cluster_id), group_id, confirm=group_id)
    return HttpResponse(status=204)
