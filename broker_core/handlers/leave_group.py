"""LeaveGroup v0–5: members leave their group; one before v3, any number since, also by instance id alone (KIP-345)."""

from __future__ import annotations

from broker_core.groups.messages import LeavingMember
from broker_core.handlers.registry import Answer, Operation, Request, handler, on_group
from broker_core.protocol.api import ApiKey
from broker_core.protocol.codec import field

LIST_SINCE_VERSION = 3


@handler(ApiKey.LEAVE_GROUP, versions=range(0, 6), needs=on_group(Operation.READ))
async def handle(request: Request) -> Answer:
    error, results = request.broker.groups.leave(request.body.group_id, _leaving(request))
    if request.version < LIST_SINCE_VERSION and results:
        error = error or results[0].error
    return {
        "error_code": int(error),
        "members": [
            {"member_id": result.member_id, "group_instance_id": result.instance_id, "error_code": int(result.error)} for result in results
        ],
    }


def _leaving(request: Request) -> list[LeavingMember]:
    if request.version < LIST_SINCE_VERSION:
        return [LeavingMember(request.body.member_id)]
    return [LeavingMember(entry.member_id, entry.group_instance_id, field(entry, "reason", None)) for entry in request.body.members]
