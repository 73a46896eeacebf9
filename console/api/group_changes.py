"""What is taken from a group (members, committed offsets), and what of that is put back."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from msgspec import Meta, Struct
from ninja import Path, Router

from console import queries
from console.actions.group_members import Removal, delete_offsets, plan_offset_deletion, plan_removal, remove_members
from console.actions.offset_undo import plan_undo, undo
from console.api.answers import Listed
from console.api.bearer import Bearer
from console.api.described import answers, matching
from console.api.groups import ONE, OffsetsMoved, moved, spans_of
from console.api.settings import tags_of
from console.api.shapes import Limit, MemberRemoval, OffsetDeletion, OffsetUndo, listed, number_cursor
from console.errors import Invalid
from console.models import OffsetChange
from console.roles import ADMIN, OPERATOR

router = Router(tags=["groups"])
ChangeId = Annotated[int, Path(ge=1, lt=2**63)]


class KeptChange(Struct):
    """`kind` is reset, put back, delete offsets or delete group; `outcome` is begun, done or failed."""

    id: int
    group: str
    at: datetime
    actor: str
    kind: str
    how: str
    partitions: int
    outcome: str
    undone_by: Annotated[int | None, Meta(description="the change that put it back")]


def _kept(row: OffsetChange) -> KeptChange:
    return KeptChange(row.pk, row.group, row.at, row.actor, row.kind, row.how, row.partitions, row.outcome, row.undone_by)


@router.get(ONE + "/offset-changes")
@answers(Listed[KeptChange])
def offset_changes(request: Any, cluster_id: str, group_id: str, limit: Limit = 100, cursor: str | None = None) -> Listed[KeptChange]:
    """Of this console, newest first; the last 500 of all groups are kept. Also of a group that is gone."""
    cluster = queries.cluster_of(cluster_id)
    rows = queries.offset_changes(cluster, group_id, number_cursor(cursor), limit + 1)
    return listed([_kept(row) for row in rows], limit, lambda row: str(row.id))


@router.post(ONE + "/offset-changes/{change_id}/undo", auth=Bearer(OPERATOR, "put offsets back"))
@matching
@answers(OffsetsMoved)
def undo_change(request: Any, cluster_id: str, group_id: str, change_id: ChangeId, payload: OffsetUndo) -> OffsetsMoved:
    """Commits what was committed before the change. Where the group has moved since (`drift`), or its log no longer has an offset, it wants
    `confirm`."""
    cluster = queries.cluster_of(cluster_id)
    change = queries.offset_change_or_fail(cluster, change_id, group_id)
    if payload.dry_run:
        return moved(request, plan_undo(cluster, change), None)
    return moved(request, *undo(request.auth, cluster, change, seen=tags_of(request), confirm=payload.confirm))


@router.post(ONE + "/offsets/deletion", auth=Bearer(ADMIN, "delete offsets"))
@answers(OffsetsMoved)
def forget_offsets(request: Any, cluster_id: str, group_id: str, payload: OffsetDeletion) -> OffsetsMoved:
    """Forgets what is committed on a topic, which no member may be subscribed to; it is kept here, see `offset-changes`."""
    cluster = queries.cluster_of(cluster_id)
    what = [(payload.topic, spans_of(payload.partitions))]
    if payload.dry_run:
        return moved(request, plan_offset_deletion(cluster, group_id, what), None)
    return moved(request, *delete_offsets(request.auth, cluster, group_id, what, confirm=True))


@router.post(ONE + "/members/removal", auth=Bearer(OPERATOR, "remove members"))
@answers(Removal)
def remove(request: Any, cluster_id: str, group_id: str, payload: MemberRemoval) -> Removal:
    """Members leave as if they had said so themselves; a client that still runs joins again."""
    if (payload.members is None) != payload.all:
        raise Invalid("members", "Name members, or say all.")
    cluster = queries.cluster_of(cluster_id)
    if payload.dry_run:
        return plan_removal(cluster, group_id, payload.members)
    return remove_members(request.auth, cluster, group_id, payload.members, confirm=True)
