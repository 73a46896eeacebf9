"""Members that leave, and groups that are deleted or handed over to another coordinator. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from broker_core.errors import ErrorCode
from broker_core.groups.group import Group
from broker_core.groups.messages import UNKNOWN_MEMBER, Effect, JoinResult, LeaveResult, LeavingMember, SyncResult
from broker_core.groups.states import GroupState


def leave(group: Group, leaving: Sequence[LeavingMember], now_ms: int) -> tuple[list[LeaveResult], list[Effect]]:
    """Removes the members one by one; each has its own outcome."""
    results = [LeaveResult(one.member_id, one.instance_id, _leave_one(group, one, now_ms)) for one in leaving]
    return results, group.take_effects()


def _leave_one(group: Group, leaving: LeavingMember, now_ms: int) -> ErrorCode:
    if group.state is GroupState.DEAD:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    member_id: str | None = leaving.member_id
    if member_id == UNKNOWN_MEMBER:
        member_id = group.members.static_id(leaving.instance_id)
        if member_id is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
    elif member_id not in group.members.pending:
        error = group.member_error(leaving.member_id, leaving.instance_id)
        if error is not ErrorCode.NONE:
            return error
    drop(group, member_id or UNKNOWN_MEMBER, now_ms, f"member {member_id} leaves" + (f" ({leaving.reason})" if leaving.reason else ""))
    return ErrorCode.NONE


def drop(group: Group, member_id: str, now_ms: int, reason: str) -> None:
    """Removes a member or a pending id; a group that has lost a member rebalances."""
    was_member = member_id in group.members
    group.remove_member(member_id)
    if was_member and group.state in (GroupState.STABLE, GroupState.COMPLETING_REBALANCE):
        group.prepare_rebalance(now_ms, reason)
    else:
        group.complete_join_if_all_joined(now_ms)


def unload(group: Group, now_ms: int) -> list[Effect]:
    """The group now belongs to another coordinator: everything parked is sent there, all timers stop."""
    for member in group.members.all():
        group.reply_join(member, JoinResult(ErrorCode.NOT_COORDINATOR, member.member_id))
        group.reply_sync(member, SyncResult(ErrorCode.NOT_COORDINATOR))
    return die(group, now_ms, "handed over")


def die(group: Group, now_ms: int, reason: str) -> list[Effect]:
    """The end of a group that is empty, or whose requests have been answered."""
    group.move_to(GroupState.DEAD, now_ms, reason)
    for key in list(group.timers):
        group.stop_timer(key)
    return group.take_effects()
