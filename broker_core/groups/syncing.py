"""SyncGroup, and what follows when the group's record is in the log or could not be written. Pure."""

from __future__ import annotations

from broker_core.errors import ErrorCode
from broker_core.groups.group import SYNC_TIMER, Group
from broker_core.groups.joining import rename_static
from broker_core.groups.member import Member
from broker_core.groups.messages import (
    UNKNOWN_MEMBER,
    AssignmentStored,
    Effect,
    JoinResult,
    StaticMemberStored,
    StoreToken,
    SyncRequest,
    SyncResult,
    Ticket,
)
from broker_core.groups.states import GroupState


def sync(group: Group, request: SyncRequest, ticket: Ticket, now_ms: int) -> list[Effect]:
    """A member asks for its assignment; the leader's request brings everybody's."""
    error = _sync_error(group, request)
    if error is not ErrorCode.NONE:
        group.answer_sync(ticket, SyncResult(error))
    else:
        member = group.members[request.member_id]
        _synced(group, member)
        if group.state is GroupState.STABLE:
            group.answer_sync(ticket, group.sync_result(member))
            group.start_session(member)
        else:
            _await_assignment(group, member, request, ticket)
    return group.take_effects()


def _sync_error(group: Group, request: SyncRequest) -> ErrorCode:
    if group.state is GroupState.DEAD:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    error = group.member_error(request.member_id, request.instance_id)
    if error is not ErrorCode.NONE:
        return error
    if request.generation != group.generation:
        return ErrorCode.ILLEGAL_GENERATION
    if request.protocol_type not in (None, group.protocol_type) or request.protocol_name not in (None, group.protocol_name):
        return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    return ErrorCode.REBALANCE_IN_PROGRESS if group.state is GroupState.PREPARING_REBALANCE else ErrorCode.NONE


def _synced(group: Group, member: Member) -> None:
    group.members.unsynced.pop(member.member_id, None)
    if not group.members.unsynced:
        group.stop_timer(SYNC_TIMER)


def _await_assignment(group: Group, member: Member, request: SyncRequest, ticket: Ticket) -> None:
    """Parks the sync. The leader's first one of a generation is stored; members it leaves out get an empty assignment."""
    group.reply_sync(member, SyncResult(ErrorCode.REBALANCE_IN_PROGRESS))
    member.sync_ticket = ticket
    if group.members.leader == member.member_id and group.storing_generation != group.generation:
        assignment = dict(request.assignments)
        complete = {known.member_id: assignment.get(known.member_id, b"") for known in group.members.all()}
        group.storing_generation = group.generation
        group.store(AssignmentStored(group.generation, tuple(complete.items())), complete)


def stored(group: Group, token: StoreToken, error: ErrorCode, now_ms: int) -> list[Effect]:
    """The outcome of a `Store`. It only counts if the group still is where it was when the write began."""
    if isinstance(token, StaticMemberStored):
        _static_stored(group, token, error)
    elif group.state is GroupState.COMPLETING_REBALANCE and group.generation == token.generation:
        _assignment_stored(group, token, error, now_ms)
    return group.take_effects()


def _assignment_stored(group: Group, token: AssignmentStored, error: ErrorCode, now_ms: int) -> None:
    if error is ErrorCode.NONE:
        group.set_assignment(dict(token.assignment))
        group.move_to(GroupState.STABLE, now_ms, f"generation {group.generation} is assigned")
    else:
        group.fail_assignment(error)
        group.prepare_rebalance(now_ms, f"the assignment could not be stored: {error.name}")


def _static_stored(group: Group, token: StaticMemberStored, error: ErrorCode) -> None:
    """Answers the join that waits for the write, or takes the replacement back. If a rebalance has begun, that one answers it."""
    same_generation = group.state is GroupState.STABLE and group.generation == token.generation
    if not same_generation or group.members.static_id(token.instance_id) != token.new_member_id:
        return
    member = group.members[token.new_member_id]
    if member.join_ticket is not token.ticket:
        return
    if error is ErrorCode.NONE:
        group.reply_join(member, _replaced_result(group, member, token))
    else:
        _take_back(group, member, token, error)
    group.start_session(member)


def _replaced_result(group: Group, member: Member, token: StaticMemberStored) -> JoinResult:
    """A leader that came back may skip the assignment (v9); older ones are shown the old leader's id so that they do not assign."""
    leads = group.members.leader == member.member_id
    result = group.joined_result(member, skip_assignment=leads and token.can_skip_assignment)
    if token.can_skip_assignment:
        return result
    return JoinResult(result.error, result.member_id, result.generation, result.protocol_type, result.protocol_name, token.old_leader)


def _take_back(group: Group, member: Member, token: StaticMemberStored, error: ErrorCode) -> None:
    refused = JoinResult(error, UNKNOWN_MEMBER, group.generation, group.protocol_type, group.protocol_name, token.old_leader)
    group.reply_join(member, refused)
    group.members.update(member, token.old_protocols, token.old_session_timeout_ms, token.old_rebalance_timeout_ms)
    rename_static(group, token.instance_id, token.old_member_id, error)
