"""SyncGroup v0–5: a member asks for its assignment; the leader brings everybody's (spec G2). v5 needs protocol type and name."""

from __future__ import annotations

from broker_core.errors import ErrorCode
from broker_core.groups.messages import SyncRequest, SyncResult
from broker_core.handlers.registry import Answer, Operation, Request, handler, on_group
from broker_core.protocol.api import ApiKey
from broker_core.protocol.codec import field

PROTOCOL_SINCE = 5


@handler(ApiKey.SYNC_GROUP, versions=range(0, 6), needs=on_group(Operation.READ))
async def handle(request: Request) -> Answer:
    body = request.body
    sync = SyncRequest(
        group_id=body.group_id,
        member_id=body.member_id,
        instance_id=field(body, "group_instance_id", None),
        generation=body.generation_id,
        protocol_type=field(body, "protocol_type", None),
        protocol_name=field(body, "protocol_name", None),
        assignments=tuple((entry.member_id, bytes(entry.assignment)) for entry in body.assignments),
    )
    if request.version >= PROTOCOL_SINCE and (sync.protocol_type is None or sync.protocol_name is None):
        return _payload(SyncResult(ErrorCode.INCONSISTENT_GROUP_PROTOCOL))
    return _payload(await request.broker.groups.sync(sync))


def _payload(result: SyncResult) -> Answer:
    return {
        "error_code": int(result.error),
        "protocol_type": result.protocol_type,
        "protocol_name": result.protocol_name,
        "assignment": result.assignment,
    }
