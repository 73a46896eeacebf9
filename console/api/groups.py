"""Groups, their lag and their offsets."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

from django.http import HttpResponse
from msgspec import Meta, Struct
from ninja import Query, Router

from broker_core.contract.groups import Group, Lag
from console import queries
from console.actions.groups import What, delete_group, plan_offsets, set_offsets
from console.actions.offset_moves import Move, Plan
from console.actions.offset_texts import back_ms, read_csv
from console.actions.offsets import AtTime, Lines, Shift, Where
from console.api.answers import Listed, ListedLive, ReadGroup, read
from console.api.bearer import Bearer
from console.api.described import answers, matching
from console.api.settings import tags_of
from console.api.shapes import GroupQuery, Limit, OffsetMove, listed, listed_live, number_cursor
from console.clock import now_ms
from console.errors import Invalid
from console.listing import Wanted, names_after
from console.models import OffsetChange
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


class OffsetsMoved(Struct):
    """`items` are all of it: such a list has one page. `time` is what `time` or `back` meant; `change` can be put back."""

    items: list[Move]
    next: None
    skipped: Annotated[int, Meta(description="offsets that are never read, of all partitions")]
    again: Annotated[int, Meta(description="offsets that are read a second time")]
    sentence: str
    members: Annotated[Sequence[str], Meta(description="who stands in the way: with one the offsets are not moved")]
    time: str | None
    seen: Annotated[str, Meta(description="stands for what was committed: the ETag of a dry run, for `If-Match`")]
    drift: Annotated[Sequence[str], Meta(description="of putting back: where the group has moved since the change")]
    gone: Annotated[Sequence[str], Meta(description="of putting back: partitions that are no longer there")]
    change: Annotated[int | None, Meta(description="what was committed before is kept under this number; null of a dry run")]


def moved(request: Any, plan: Plan, change: OffsetChange | None) -> OffsetsMoved:
    """A plan's ETag is that of what is committed now: sent as `If-Match` the same is done only where that is still so."""
    if change is None:
        request.etag = plan.seen
    told = (plan.skipped, plan.again, plan.sentence, plan.members, plan.at, plan.seen, plan.drift, plan.gone)
    return OffsetsMoved(plan.moves, None, *told, None if change is None else change.pk)


@router.post(ONE + "/offsets", auth=Bearer(OPERATOR, "move offsets"))
@matching
@answers(OffsetsMoved)
def move_offsets(request: Any, cluster_id: str, group_id: str, payload: OffsetMove) -> OffsetsMoved:
    """Moves committed offsets of a group without members; `dry_run` only tells where they would go. An offset beyond the log's ends is
    refused, unless `confirm` says that its end will do. What was committed before is kept, see `offset-changes`."""
    cluster = queries.cluster_of(cluster_id)
    what, to = _what(payload), _where(payload, group_id)
    if payload.dry_run:
        return moved(request, plan_offsets(cluster, group_id, what, to), None)
    done = set_offsets(request.auth, cluster, group_id, what, to, seen=tags_of(request), confirm=payload.confirm)
    return moved(request, *done)


def _what(payload: OffsetMove) -> What:
    if payload.partition is not None and payload.partitions is not None:
        raise Invalid("partitions", "Give partition or partitions, not both.")
    if payload.topics is not None and (payload.topic, payload.partition, payload.partitions) != (None, None, None):
        raise Invalid("topics", "Give topic or topics, not both.")
    if payload.topics is not None:
        return [(one.topic, spans_of(one.partitions)) for one in payload.topics]
    numbers = payload.partitions if payload.partition is None else [payload.partition]
    if payload.topic is None:
        if numbers is not None:
            raise Invalid("topic", "Name the topic that the partitions are of.")
        return None
    return [(payload.topic, spans_of(numbers))]


def spans_of(numbers: Sequence[int] | None) -> list[tuple[int, int]] | None:
    return None if numbers is None else [(number, number) for number in numbers]


def _where(payload: OffsetMove, group: str) -> Where:
    given = (payload.to, payload.time, payload.shift, payload.back, payload.offsets, payload.csv)
    if sum(value is not None for value in given) != 1:
        raise Invalid("to", "Say where to by one of to, time, shift, back, offsets and csv.")
    if payload.offsets is not None or payload.csv is not None:
        return _lines(payload, group)
    if payload.shift is not None:
        return Shift(payload.shift)
    if payload.back is not None:
        return AtTime(max(now_ms() - back_ms(payload.back), 0))
    if payload.time is None:
        return str(payload.to)
    if payload.time < EPOCH:
        raise Invalid("time", "Give a time after 1970.")
    return AtTime((payload.time - EPOCH) // timedelta(milliseconds=1))


def _lines(payload: OffsetMove, group: str) -> Lines:
    if (payload.topic, payload.topics) != (None, None):
        raise Invalid("topic", "The rows name their topics: leave it out.")
    if payload.offsets is None:
        return Lines(read_csv(payload.csv or "", group))
    found = {(one.topic, one.partition): one.offset for one in payload.offsets}
    if len(found) < len(payload.offsets):
        raise Invalid("offsets", "A partition stands there twice.")
    return Lines(found, "offsets")


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
