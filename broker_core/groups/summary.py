"""What DescribeGroups and ListGroups show of a group. Pure."""

from __future__ import annotations

from typing import NamedTuple

from msgspec import Struct

from broker_core.groups.group import Group
from broker_core.groups.member import Member
from broker_core.groups.states import GroupState

CLASSIC = "classic"
"""The only type of group there is in ZooKeeper mode."""


class GroupOverview(NamedTuple):
    """One row of ListGroups."""

    group_id: str
    protocol_type: str
    state: GroupState


class MemberSummary(NamedTuple):
    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    metadata: bytes
    assignment: bytes


class GroupSummary(Struct, frozen=True):
    """Metadata and assignments are shown while the group is Stable: in other states they are about to change."""

    state: GroupState
    protocol_type: str = ""
    protocol: str = ""
    members: tuple[MemberSummary, ...] = ()


NO_GROUP = GroupSummary(GroupState.DEAD)


def overview(group: Group) -> GroupOverview:
    return GroupOverview(group.group_id, group.protocol_type or "", group.state)


def summarize(group: Group) -> GroupSummary:
    protocol = group.protocol_name if group.state is GroupState.STABLE else None
    members = tuple(_summary(member, protocol) for member in group.members.all())
    return GroupSummary(group.state, group.protocol_type or "", protocol or "", members)


def _summary(member: Member, protocol: str | None) -> MemberSummary:
    metadata, assignment = (b"", b"") if protocol is None else (member.metadata_for(protocol), member.assignment)
    return MemberSummary(member.member_id, member.instance_id, member.client_id, member.client_host, metadata, assignment)
