"""JoinGroup v0–9: a member joins its group and waits for the next generation (spec G2).

v1 adds the rebalance timeout, v4 the second join with the id just given out (KIP-394), v5 static members (KIP-345), v8 the reason,
v9 the skipped assignment of a static leader (KIP-814).
"""

from __future__ import annotations

from broker_core.groups.messages import JoinRequest, JoinResult, Protocol
from broker_core.handlers.registry import Answer, Operation, Request, handler, on_group
from broker_core.protocol.api import ApiKey
from broker_core.protocol.codec import field, millis

MEMBER_ID_REQUIRED_SINCE = 4
NULL_PROTOCOL_NAME_SINCE = 7
SKIP_ASSIGNMENT_SINCE = 9


@handler(ApiKey.JOIN_GROUP, versions=range(0, 10), needs=on_group(Operation.READ))
async def handle(request: Request) -> Answer:
    return _payload(request.version, await request.broker.groups.join(_join_request(request)))


def _join_request(request: Request) -> JoinRequest:
    body = request.body
    instance_id = field(body, "group_instance_id", None)
    session_timeout_ms = millis(body.session_timeout)
    rebalance_timeout_ms = millis(field(body, "rebalance_timeout", -1))
    return JoinRequest(
        group_id=body.group_id,
        member_id=body.member_id,
        instance_id=instance_id,
        client_id=request.client_id or "",
        client_host=f"/{request.connection.peer.host}",
        session_timeout_ms=session_timeout_ms,
        rebalance_timeout_ms=rebalance_timeout_ms if rebalance_timeout_ms >= 0 else session_timeout_ms,
        protocol_type=body.protocol_type,
        protocols=tuple(Protocol(entry.name, bytes(entry.metadata)) for entry in body.protocols),
        requires_member_id=request.version >= MEMBER_ID_REQUIRED_SINCE and instance_id is None,
        can_skip_assignment=request.version >= SKIP_ASSIGNMENT_SINCE,
        reason=field(body, "reason", None),
    )


def _payload(version: int, result: JoinResult) -> Answer:
    protocol_name = result.protocol_name if version >= NULL_PROTOCOL_NAME_SINCE else result.protocol_name or ""
    return {
        "error_code": int(result.error),
        "generation_id": result.generation,
        "protocol_type": result.protocol_type,
        "protocol_name": protocol_name,
        "leader": result.leader,
        "skip_assignment": result.skip_assignment,
        "member_id": result.member_id,
        "members": [
            {"member_id": member.member_id, "group_instance_id": member.instance_id, "metadata": member.metadata}
            for member in result.members
        ],
    }
