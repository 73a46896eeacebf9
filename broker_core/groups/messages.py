"""What goes into a group (events) and what comes out of it (results and effects). Times are in milliseconds."""

from __future__ import annotations

import enum
from typing import NamedTuple

from msgspec import Struct

from broker_core.errors import ErrorCode
from broker_core.groups.records import GroupValue
from broker_core.groups.states import GroupState

UNKNOWN_MEMBER = ""
NO_GENERATION = -1

Ticket = object
"""Names a parked request; only the shell knows what it stands for."""


class Protocol(NamedTuple):
    """One assignment strategy a member supports, with its metadata for it (a consumer's subscription)."""

    name: str
    metadata: bytes


class GroupRules(Struct, frozen=True):
    """The settings a join depends on: `group.max.size`, `group.initial.rebalance.delay.ms`, and our bound on pending members."""

    max_size: int
    initial_delay_ms: int
    max_pending: int


class JoinRequest(Struct, frozen=True):
    """`member_id` is empty for one that has none yet; `requires_member_id` is KIP-394 (v4), `can_skip_assignment` KIP-814 (v9)."""

    group_id: str
    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocol_type: str
    protocols: tuple[Protocol, ...]
    requires_member_id: bool = True
    can_skip_assignment: bool = True
    reason: str | None = None


class JoinedMember(NamedTuple):
    """A member as the leader sees it."""

    member_id: str
    instance_id: str | None
    metadata: bytes


class JoinResult(Struct, frozen=True):
    """The answer to a join; `members` is filled for the leader only."""

    error: ErrorCode
    member_id: str
    generation: int = NO_GENERATION
    protocol_type: str | None = None
    protocol_name: str | None = None
    leader: str = UNKNOWN_MEMBER
    skip_assignment: bool = False
    members: tuple[JoinedMember, ...] = ()


class SyncRequest(Struct, frozen=True):
    """`protocol_type` and `protocol_name` are None before v5; `assignments` is filled by the leader only."""

    group_id: str
    member_id: str
    instance_id: str | None
    generation: int
    protocol_type: str | None
    protocol_name: str | None
    assignments: tuple[tuple[str, bytes], ...]


class SyncResult(Struct, frozen=True):
    error: ErrorCode
    protocol_type: str | None = None
    protocol_name: str | None = None
    assignment: bytes = b""


class LeavingMember(NamedTuple):
    """One entry of LeaveGroup: by member id, or by instance id alone (an administrator's removal)."""

    member_id: str
    instance_id: str | None = None
    reason: str | None = None


class LeaveResult(NamedTuple):
    member_id: str
    instance_id: str | None
    error: ErrorCode


class TimerKind(enum.Enum):
    SESSION = "session"
    PENDING = "pending"
    JOIN = "join"
    SYNC = "sync"
    RETENTION = "retention"


class TimerKey(NamedTuple):
    """One timer of a group; `member_id` is empty for those of the group itself."""

    kind: TimerKind
    member_id: str = ""


class AssignmentStored(Struct, frozen=True):
    """The write in flight is a generation's assignment (empty when the group has just become empty)."""

    generation: int
    assignment: tuple[tuple[str, bytes], ...]


class StaticMemberStored(Struct, frozen=True):
    """The write in flight makes a static member's new id last; the rest is what to go back to when it fails."""

    generation: int
    instance_id: str
    old_member_id: str
    new_member_id: str
    old_leader: str
    old_protocols: tuple[Protocol, ...]
    old_session_timeout_ms: int
    old_rebalance_timeout_ms: int
    can_skip_assignment: bool
    ticket: Ticket


StoreToken = AssignmentStored | StaticMemberStored


class ReplyJoin(Struct, frozen=True):
    ticket: Ticket
    result: JoinResult


class ReplySync(Struct, frozen=True):
    ticket: Ticket
    result: SyncResult


class StartTimer(Struct, frozen=True):
    """Calls back with `key` and `serial` after `delay_ms`; replaces a running timer of this key."""

    key: TimerKey
    serial: int
    delay_ms: int


class StopTimer(Struct, frozen=True):
    key: TimerKey


class Store(Struct, frozen=True):
    """Appends the group's record; the outcome comes back with the token."""

    value: GroupValue
    token: StoreToken


class Moved(Struct, frozen=True):
    """The group has changed its state; for the log and for whoever watches."""

    before: GroupState
    after: GroupState
    reason: str


Effect = ReplyJoin | ReplySync | StartTimer | StopTimer | Store | Moved
