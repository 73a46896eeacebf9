"""JoinGroup: new and known members, dynamic and static ones (spec G2, KIP-345, KIP-394, KIP-814). Pure."""

from __future__ import annotations

from broker_core.errors import ErrorCode
from broker_core.groups.group import Group
from broker_core.groups.member import Member
from broker_core.groups.messages import (
    UNKNOWN_MEMBER,
    Effect,
    GroupRules,
    JoinRequest,
    JoinResult,
    StaticMemberStored,
    SyncResult,
    Ticket,
    TimerKey,
    TimerKind,
)
from broker_core.groups.states import GroupState

NEW_MEMBER_JOIN_TIMEOUT_MS = 5 * 60 * 1000
"""How long a new member's join may be parked: its connection is not read meanwhile, so a dead client would not be noticed."""


def join(group: Group, request: JoinRequest, ticket: Ticket, new_member_id: str, *, rules: GroupRules, now_ms: int) -> list[Effect]:
    """A member joins, or joins again. `new_member_id` is a fresh id, used if the request has none."""
    group.initial_delay_ms = rules.initial_delay_ms
    error = _refusal(group, request, rules)
    if error is not ErrorCode.NONE:
        forgotten = error is ErrorCode.GROUP_MAX_SIZE_REACHED
        group.answer_join(ticket, JoinResult(error, UNKNOWN_MEMBER if forgotten else request.member_id))
    elif request.member_id == UNKNOWN_MEMBER:
        _join_new(group, request, ticket, new_member_id, now_ms)
    else:
        _join_known(group, request, ticket, now_ms)
    group.complete_join_if_all_joined(now_ms)
    return group.take_effects()


def _refusal(group: Group, request: JoinRequest, rules: GroupRules) -> ErrorCode:
    if group.state is GroupState.DEAD:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    if not _has_room(group, request, rules):
        group.remove_member(request.member_id)
        return ErrorCode.GROUP_MAX_SIZE_REACHED
    if not _fits(group, request):
        return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    return ErrorCode.NONE


def _has_room(group: Group, request: JoinRequest, rules: GroupRules) -> bool:
    """While a rebalance is prepared those count that have joined it, so that a group that is too large loses the latest."""
    members, member_id = group.members, request.member_id
    if member_id == UNKNOWN_MEMBER and request.requires_member_id and len(members.pending) >= rules.max_pending:
        return False
    if group.state is GroupState.EMPTY:
        return True
    if group.state is GroupState.PREPARING_REBALANCE:
        return (member_id in members and members[member_id].awaits_join) or members.awaiting_count < rules.max_size
    return member_id in members or len(members) < rules.max_size


def _fits(group: Group, request: JoinRequest) -> bool:
    """The first member decides on the protocol type; later ones need it, and a protocol that all members support."""
    if group.state is GroupState.EMPTY:
        return bool(request.protocol_type and request.protocols)
    return request.protocol_type == group.protocol_type and group.members.supported_by_all(request.protocols)


def _join_new(group: Group, request: JoinRequest, ticket: Ticket, member_id: str, now_ms: int) -> None:
    if request.instance_id is not None and group.members.static_id(request.instance_id) is not None:
        _replace_static(group, request, ticket, member_id, now_ms)
    elif request.instance_id is None and request.requires_member_id:
        group.members.pending[member_id] = None
        group.start_timer(TimerKey(TimerKind.PENDING, member_id), request.session_timeout_ms)
        group.answer_join(ticket, JoinResult(ErrorCode.MEMBER_ID_REQUIRED, member_id))
    else:
        _add(group, request, ticket, member_id, now_ms)


def _add(group: Group, request: JoinRequest, ticket: Ticket, member_id: str, now_ms: int) -> None:
    member = Member(
        member_id,
        request.instance_id,
        request.client_id,
        request.client_host,
        request.session_timeout_ms,
        request.rebalance_timeout_ms,
        request.protocols,
        is_new=True,
    )
    if not group.members:
        group.protocol_type = request.protocol_type
    if group.state is GroupState.PREPARING_REBALANCE and group.generation == 0:
        group.member_arrived = True
    group.members.add(member)
    group.members.park_join(member, ticket)
    group.stop_timer(TimerKey(TimerKind.PENDING, member_id))
    group.start_timer(TimerKey(TimerKind.SESSION, member_id), NEW_MEMBER_JOIN_TIMEOUT_MS)
    group.rebalance_if_possible(now_ms, _because(f"member {member_id} joins", request))


def _join_known(group: Group, request: JoinRequest, ticket: Ticket, now_ms: int) -> None:
    if request.member_id in group.members.pending:
        if request.instance_id is not None:
            group.answer_join(ticket, JoinResult(ErrorCode.UNKNOWN_MEMBER_ID, request.member_id))
        else:
            _add(group, request, ticket, request.member_id, now_ms)
        return
    error = group.member_error(request.member_id, request.instance_id)
    if error is not ErrorCode.NONE:
        group.answer_join(ticket, JoinResult(error, request.member_id))
        return
    member = group.members[request.member_id]
    reason = _reason_to_rebalance(group, member, request)
    if reason is None:
        group.answer_join(ticket, group.joined_result(member))
    else:
        _park(group, member, request, ticket)
        group.rebalance_if_possible(now_ms, _because(reason, request))


def _reason_to_rebalance(group: Group, member: Member, request: JoinRequest) -> str | None:
    """None when the member only needs to be told the present generation: its answer may have been lost."""
    if group.state is GroupState.PREPARING_REBALANCE:
        return f"member {member.member_id} joins the rebalance"
    if group.state is GroupState.STABLE and group.members.leader == member.member_id:
        return f"leader {member.member_id} joins again"
    if member.protocols != request.protocols:
        return f"member {member.member_id} has new metadata"
    return None


def _park(group: Group, member: Member, request: JoinRequest, ticket: Ticket) -> None:
    """Parks the join with the member's new metadata; a join parked before is superseded by this retry of it."""
    group.reply_join(member, JoinResult(ErrorCode.REBALANCE_IN_PROGRESS, member.member_id))
    group.members.update(member, request.protocols, request.session_timeout_ms, request.rebalance_timeout_ms)
    group.members.park_join(member, ticket)


def _replace_static(group: Group, request: JoinRequest, ticket: Ticket, member_id: str, now_ms: int) -> None:
    """A static member came back without its id: it takes its old place under a new id, and the old id is fenced."""
    assert request.instance_id is not None
    old_leader = group.members.leader or UNKNOWN_MEMBER
    old_member_id = group.members.static_id(request.instance_id) or UNKNOWN_MEMBER
    member = group.members[old_member_id]
    token = StaticMemberStored(
        group.generation,
        request.instance_id,
        old_member_id,
        member_id,
        old_leader,
        member.protocols,
        member.session_timeout_ms,
        member.rebalance_timeout_ms,
        request.can_skip_assignment,
        ticket,
    )
    rename_static(group, request.instance_id, member_id, ErrorCode.FENCED_INSTANCE_ID)
    _park(group, member, request, ticket)
    group.start_session(member)
    if group.state is GroupState.COMPLETING_REBALANCE:
        group.prepare_rebalance(now_ms, _because(f"static member {request.instance_id} came back as {member_id}", request))
    elif group.state is GroupState.STABLE:
        if group.members.select_protocol() == group.protocol_name:
            group.store(token, group.assignment())
        else:
            group.prepare_rebalance(now_ms, _because(f"static member {request.instance_id} changes the protocol", request))


def rename_static(group: Group, instance_id: str, new_member_id: str, error: ErrorCode) -> Member:
    """Gives a static member another id; whatever the old id has parked is answered with `error`."""
    old_member_id = group.members.static_id(instance_id)
    assert old_member_id is not None
    member = group.members[old_member_id]
    group.reply_join(member, JoinResult(error, old_member_id))
    group.reply_sync(member, SyncResult(error))
    group.stop_timer(TimerKey(TimerKind.SESSION, old_member_id))
    return group.members.rename_static(instance_id, new_member_id)


def _because(what: str, request: JoinRequest) -> str:
    return f"{what} ({request.reason})" if request.reason else what
