"""DescribeGroups v0–5: state, protocol and members of groups (spec G2). A group that does not exist is Dead."""

from __future__ import annotations

from typing import Any

from broker_core.errors import ErrorCode, KafkaError
from broker_core.groups.summary import GroupSummary, MemberSummary
from broker_core.handlers.common import GROUP_OPERATIONS, NO_AUTHORIZED_OPERATIONS, failure
from broker_core.handlers.registry import Answer, Operation, Request, handler, on_group
from broker_core.protocol.api import ApiKey
from broker_core.protocol.codec import field


@handler(ApiKey.DESCRIBE_GROUPS, versions=range(0, 6), needs=on_group(Operation.DESCRIBE, "groups"))
async def handle(request: Request) -> Answer:
    asked = field(request.body, "include_authorized_operations", False)
    operations = {"authorized_operations": GROUP_OPERATIONS if asked else NO_AUTHORIZED_OPERATIONS}
    return {"groups": [_row(request, group_id) | operations for group_id in dict.fromkeys(request.body.groups)]}


def _row(request: Request, group_id: str) -> dict[str, Any]:
    try:
        summary = request.broker.groups.describe(group_id)
    except KafkaError as error:
        return _group(group_id, failure(error)[0], None)
    return _group(group_id, ErrorCode.NONE, summary)


def _group(group_id: str, error: ErrorCode, summary: GroupSummary | None) -> dict[str, Any]:
    return {
        "error_code": int(error),
        "group_id": group_id,
        "group_state": "" if summary is None else summary.state.value,
        "protocol_type": "" if summary is None else summary.protocol_type,
        "protocol_data": "" if summary is None else summary.protocol,
        "members": [] if summary is None else [_member(member) for member in summary.members],
    }


def _member(member: MemberSummary) -> dict[str, Any]:
    return {
        "member_id": member.member_id,
        "group_instance_id": member.instance_id,
        "client_id": member.client_id,
        "client_host": member.client_host,
        "member_metadata": member.metadata,
        "member_assignment": member.assignment,
    }
