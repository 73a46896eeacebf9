"""A consumer group as a state machine: members, generation, leader, timers and offsets. Pure.

Events are functions of the modules beside this one (`joining`, `syncing`, `leaving`, `liveness`, `retention`): each takes the group,
what happened and `now_ms`, changes the group and returns the effects to carry out, in order. What they share is here: moving from
state to state, the two phases of a rebalance, replies and timers.

A rebalance: `prepare_rebalance` parks joins until all known members have joined or the longest rebalance timeout is over (for a group
that was empty: until the initial delay is over, again and again while members still arrive), then `complete_join` starts the next
generation, answers all joins, and waits for every member's SyncGroup.

A timer is known by its key and serial; one that was stopped or replaced can still ring, and is then ignored by its serial.
"""

from __future__ import annotations

from broker_core.errors import ErrorCode
from broker_core.groups.member import Member, Members
from broker_core.groups.messages import (
    UNKNOWN_MEMBER,
    AssignmentStored,
    Effect,
    JoinResult,
    Moved,
    ReplyJoin,
    ReplySync,
    StartTimer,
    StopTimer,
    Store,
    StoreToken,
    SyncResult,
    TimerKey,
    TimerKind,
)
from broker_core.groups.offsets import GroupOffsets
from broker_core.groups.records import GroupValue, MemberValue
from broker_core.groups.states import TRANSITIONS, GroupState, can_rebalance
from broker_core.groups.subscription import CONSUMER_PROTOCOL_TYPE, subscribed_topics

JOIN_TIMER = TimerKey(TimerKind.JOIN)
SYNC_TIMER = TimerKey(TimerKind.SYNC)
RETENTION_TIMER = TimerKey(TimerKind.RETENTION)


class Group:
    """`state_ms` is when the present state began, None if the record it was loaded from does not say.

    `arrivals_left_ms` is how much longer the initial delay may still be extended; None when this rebalance has no initial delay.
    `subscribed` is None while the topics the members subscribe to are not known. `storing_generation` is the generation whose
    assignment is on its way into the log. `next_look_ms` is when the retention timer rings, while it runs.
    """

    def __init__(self, group_id: str, now_ms: int) -> None:
        self.group_id = group_id
        self.state = GroupState.EMPTY
        self.state_ms: int | None = now_ms
        self.generation = 0
        self.protocol_type: str | None = None
        self.protocol_name: str | None = None
        self.subscribed: frozenset[str] | None = None
        self.members = Members()
        self.offsets = GroupOffsets()
        self.storing_generation: int | None = None
        self.timers: dict[TimerKey, int] = {}
        self.next_look_ms = 0
        self.initial_delay_ms = 0
        self.arrivals_left_ms: int | None = None
        self.member_arrived = False
        self._serial = 0
        self._effects: list[Effect] = []

    # -- what the event modules build on -------------------------------------------------------------------------------

    def take_effects(self) -> list[Effect]:
        effects, self._effects = self._effects, []
        return effects

    def move_to(self, state: GroupState, now_ms: int, reason: str) -> None:
        """A move that the table does not have is our own bug."""
        assert (self.state, state) in TRANSITIONS, f"group {self.group_id!r} cannot move from {self.state} to {state}"
        self._effects.append(Moved(self.state, state, reason))
        self.state = state
        self.state_ms = now_ms

    def start_timer(self, key: TimerKey, delay_ms: int) -> None:
        self._serial += 1
        self.timers[key] = self._serial
        self._effects.append(StartTimer(key, self._serial, delay_ms))

    def stop_timer(self, key: TimerKey) -> None:
        if self.timers.pop(key, None) is not None:
            self._effects.append(StopTimer(key))

    def start_session(self, member: Member) -> None:
        """The member was heard of: it has its whole session timeout again."""
        self.start_timer(TimerKey(TimerKind.SESSION, member.member_id), member.session_timeout_ms)

    def reply_join(self, member: Member, result: JoinResult) -> None:
        ticket = self.members.unpark_join(member)
        if ticket is not None:
            self._effects.append(ReplyJoin(ticket, result))

    def reply_sync(self, member: Member, result: SyncResult) -> bool:
        """Answers a parked sync; whether there was one."""
        ticket, member.sync_ticket = member.sync_ticket, None
        if ticket is not None:
            self._effects.append(ReplySync(ticket, result))
        return ticket is not None

    def answer_join(self, ticket: object, result: JoinResult) -> None:
        self._effects.append(ReplyJoin(ticket, result))

    def answer_sync(self, ticket: object, result: SyncResult) -> None:
        self._effects.append(ReplySync(ticket, result))

    def store(self, token: StoreToken, assignment: dict[str, bytes]) -> None:
        self._effects.append(Store(self.as_value(assignment), token))

    def member_error(self, member_id: str, instance_id: str | None) -> ErrorCode:
        """NONE if this is a present member and, with an instance id, the one that instance id stands for."""
        if instance_id is not None:
            current = self.members.static_id(instance_id)
            if current is None:
                return ErrorCode.UNKNOWN_MEMBER_ID
            if current != member_id:
                return ErrorCode.FENCED_INSTANCE_ID
        return ErrorCode.NONE if member_id in self.members else ErrorCode.UNKNOWN_MEMBER_ID

    def joined_result(self, member: Member, *, skip_assignment: bool = False) -> JoinResult:
        """The present generation as `member` is told of it: its leader gets the members, too."""
        leads = self.members.leader == member.member_id
        return JoinResult(
            ErrorCode.NONE,
            member.member_id,
            self.generation,
            self.protocol_type,
            self.protocol_name,
            self.members.leader or UNKNOWN_MEMBER,
            skip_assignment,
            self.members.as_joined(self.protocol_name) if leads else (),
        )

    # -- the two phases of a rebalance ----------------------------------------------------------------------------------

    def rebalance_if_possible(self, now_ms: int, reason: str) -> None:
        if can_rebalance(self.state):
            self.prepare_rebalance(now_ms, reason)

    def prepare_rebalance(self, now_ms: int, reason: str) -> None:
        """Sends members that wait for an assignment back to joining, and starts to wait for everybody."""
        if self.state is GroupState.COMPLETING_REBALANCE:
            self.fail_assignment(ErrorCode.REBALANCE_IN_PROGRESS)
        self.members.unsynced.clear()
        self.stop_timer(SYNC_TIMER)
        if self.state is GroupState.EMPTY:
            self.arrivals_left_ms = max(self.members.rebalance_timeout_ms - self.initial_delay_ms, 0)
            delay_ms = self.initial_delay_ms
        else:
            self.arrivals_left_ms = None
            delay_ms = self.members.rebalance_timeout_ms
        self.move_to(GroupState.PREPARING_REBALANCE, now_ms, reason)
        self.start_timer(JOIN_TIMER, delay_ms)
        self.complete_join_if_all_joined(now_ms)

    def complete_join_if_all_joined(self, now_ms: int) -> None:
        """Does nothing in the initial delay: more members are expected there."""
        if self.state is GroupState.PREPARING_REBALANCE and self.arrivals_left_ms is None and self.members.all_joined:
            self.complete_join(now_ms)

    def complete_join(self, now_ms: int) -> None:
        """Ends the joining phase with those that have joined; dynamic members that have not are dropped, static ones kept."""
        self.stop_timer(JOIN_TIMER)
        self.arrivals_left_ms = None
        for member in self.members.all():
            if not member.awaits_join and member.instance_id is None:
                self.remove_member(member.member_id)
        if not self.members:
            self._become_empty(now_ms)
        elif self.members.elect_joined_leader():
            self._start_generation(now_ms)
        else:
            self.start_timer(JOIN_TIMER, self.members.rebalance_timeout_ms)

    def _become_empty(self, now_ms: int) -> None:
        self.generation += 1
        self.protocol_name = None
        self.subscribed = self._subscribed_topics()
        self.move_to(GroupState.EMPTY, now_ms, "no members left")
        self.store(AssignmentStored(self.generation, ()), {})

    def _start_generation(self, now_ms: int) -> None:
        self.generation += 1
        self.protocol_name = self.members.select_protocol()
        self.subscribed = self._subscribed_topics()
        self.move_to(GroupState.COMPLETING_REBALANCE, now_ms, f"generation {self.generation} with {len(self.members)} members")
        self.members.unsynced.clear()
        for member in self.members.all():
            self.reply_join(member, self.joined_result(member))
            self.start_session(member)
            member.is_new = False
            self.members.unsynced[member.member_id] = None
        self.start_timer(SYNC_TIMER, self.members.rebalance_timeout_ms)

    def remove_member(self, member_id: str) -> None:
        """Forgets a member or pending id; whatever it has parked is told that it is unknown, so that it may join anew."""
        if member_id in self.members:
            member = self.members[member_id]
            self.reply_join(member, JoinResult(ErrorCode.UNKNOWN_MEMBER_ID, UNKNOWN_MEMBER))
            self.reply_sync(member, SyncResult(ErrorCode.UNKNOWN_MEMBER_ID))
        self.members.remove(member_id)
        self.stop_timer(TimerKey(TimerKind.SESSION, member_id))
        self.stop_timer(TimerKey(TimerKind.PENDING, member_id))

    # -- the assignment -------------------------------------------------------------------------------------------------

    def fail_assignment(self, error: ErrorCode) -> None:
        for member in self.members.all():
            member.assignment = b""
        self._answer_syncs(error)

    def set_assignment(self, assignment: dict[str, bytes]) -> None:
        for member in self.members.all():
            member.assignment = assignment.get(member.member_id, b"")
        self._answer_syncs(ErrorCode.NONE)

    def _answer_syncs(self, error: ErrorCode) -> None:
        for member in self.members.all():
            if self.reply_sync(member, self.sync_result(member) if error is ErrorCode.NONE else SyncResult(error)):
                self.start_session(member)

    def sync_result(self, member: Member) -> SyncResult:
        return SyncResult(ErrorCode.NONE, self.protocol_type, self.protocol_name, member.assignment)

    def assignment(self) -> dict[str, bytes]:
        return {member.member_id: member.assignment for member in self.members.all()}

    # -- as a record ----------------------------------------------------------------------------------------------------

    def as_value(self, assignment: dict[str, bytes]) -> GroupValue:
        members = tuple(
            MemberValue(
                member.member_id,
                member.instance_id,
                member.client_id,
                member.client_host,
                member.rebalance_timeout_ms,
                member.session_timeout_ms,
                member.metadata_for(self.protocol_name),
                assignment.get(member.member_id, b""),
            )
            for member in self.members.all()
        )
        leader = self.members.leader
        return GroupValue(self.protocol_type or "", self.generation, self.protocol_name, leader, self.state_ms, members)

    def _subscribed_topics(self) -> frozenset[str] | None:
        if self.protocol_type != CONSUMER_PROTOCOL_TYPE:
            return None
        return subscribed_topics(member.metadata_for(self.protocol_name) for member in self.members.all())
