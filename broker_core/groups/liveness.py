"""Heartbeats, commits as signs of life, and everything that happens because time has passed. Pure."""

from __future__ import annotations

from broker_core.errors import ErrorCode
from broker_core.groups.group import JOIN_TIMER, SYNC_TIMER, Group
from broker_core.groups.leaving import drop
from broker_core.groups.messages import NO_GENERATION, UNKNOWN_MEMBER, Effect, GroupRules, TimerKey, TimerKind
from broker_core.groups.states import GroupState


def heartbeat(group: Group, member_id: str, instance_id: str | None, generation: int) -> tuple[ErrorCode, list[Effect]]:
    """REBALANCE_IN_PROGRESS tells a live member to join again."""
    if group.state is GroupState.DEAD:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE, []
    error = group.member_error(member_id, instance_id)
    if error is ErrorCode.NONE and generation != group.generation:
        error = ErrorCode.ILLEGAL_GENERATION
    if error is not ErrorCode.NONE:
        return error, []
    group.start_session(group.members[member_id])
    preparing = group.state is GroupState.PREPARING_REBALANCE
    return ErrorCode.REBALANCE_IN_PROGRESS if preparing else ErrorCode.NONE, group.take_effects()


def admit_commit(group: Group, member_id: str, instance_id: str | None, generation: int) -> tuple[ErrorCode, list[Effect]]:
    """Whether offsets may be committed now; a member that does so is alive.

    A commit without a generation comes from a consumer that assigns itself, or from a tool: the group must have no members.
    """
    if group.state is GroupState.DEAD:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE, []
    if generation <= NO_GENERATION and group.state is GroupState.EMPTY:
        return ErrorCode.NONE, []
    error = group.member_error(member_id, instance_id)
    if error is ErrorCode.NONE and generation != group.generation:
        error = ErrorCode.ILLEGAL_GENERATION
    if error is ErrorCode.NONE and group.state is GroupState.COMPLETING_REBALANCE:
        error = ErrorCode.REBALANCE_IN_PROGRESS
    if error is not ErrorCode.NONE:
        return error, []
    group.start_session(group.members[member_id])
    return ErrorCode.NONE, group.take_effects()


def admit_transactional_commit(group: Group, member_id: str, instance_id: str | None, generation: int) -> tuple[ErrorCode, list[Effect]]:
    """Whether a transaction may commit offsets now. Its producer may say which member it writes for, and in which generation (KIP-447);
    one of before that does not, and is not asked. A rebalance keeps nobody from it: who commits late is fenced by the generation.
    """
    if group.state is GroupState.DEAD:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE, []
    if generation <= NO_GENERATION and (group.state is GroupState.EMPTY or (member_id == UNKNOWN_MEMBER and instance_id is None)):
        return ErrorCode.NONE, []
    error = group.member_error(member_id, instance_id)
    if error is ErrorCode.NONE and generation != group.generation:
        error = ErrorCode.ILLEGAL_GENERATION
    return error, []


def loaded(group: Group, rules: GroupRules, now_ms: int) -> list[Effect]:
    """The group has come from the log: its members have one session timeout to show that they are alive.

    Those that were heard of, or have joined, since it can be asked have a timer of their own by now.
    """
    if group.state is GroupState.STABLE and len(group.members) > rules.max_size:
        group.prepare_rebalance(now_ms, f"{len(group.members)} members were loaded, {rules.max_size} are allowed")
    for member in group.members.all():
        if TimerKey(TimerKind.SESSION, member.member_id) not in group.timers:
            group.start_session(member)
    return group.take_effects()


def is_due(group: Group, key: TimerKey, serial: int) -> bool:
    """Whether this timer still runs: it was neither stopped nor started anew."""
    return group.timers.get(key) == serial


def on_timer(group: Group, key: TimerKey, serial: int, now_ms: int) -> list[Effect]:
    """A timer other than retention's rang; one that no longer runs is ignored."""
    if not is_due(group, key, serial):
        return []
    del group.timers[key]
    if key == JOIN_TIMER:
        _on_join_timer(group, now_ms)
    elif key == SYNC_TIMER:
        _on_sync_timer(group, now_ms)
    elif key.kind is TimerKind.PENDING:
        drop(group, key.member_id, now_ms, f"pending member {key.member_id} did not join")
    else:
        _on_session_timer(group, key.member_id, now_ms)
    return group.take_effects()


def _on_join_timer(group: Group, now_ms: int) -> None:
    """The initial delay is extended while members arrive, up to the rebalance timeout; otherwise those here go on."""
    left_ms = group.arrivals_left_ms
    if left_ms and group.member_arrived:
        delay_ms = min(group.initial_delay_ms, left_ms)
        group.member_arrived = False
        group.arrivals_left_ms = left_ms - delay_ms
        group.start_timer(JOIN_TIMER, delay_ms)
    else:
        group.complete_join(now_ms)


def _on_sync_timer(group: Group, now_ms: int) -> None:
    """Members that joined the generation but never asked for their assignment would hold it up for ever (KAFKA-12890)."""
    missing = list(group.members.unsynced)
    for member_id in missing:
        group.remove_member(member_id)
    group.prepare_rebalance(now_ms, f"{len(missing)} members did not sync in time: {', '.join(missing[:10])}")


def _on_session_timer(group: Group, member_id: str, now_ms: int) -> None:
    """A member that is parked here has nothing to prove; its session starts anew when it is answered."""
    if not group.members[member_id].is_waiting:
        drop(group, member_id, now_ms, f"member {member_id or UNKNOWN_MEMBER} was not heard of in its session timeout")
