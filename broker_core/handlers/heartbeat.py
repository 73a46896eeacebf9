"""Heartbeat v0–4: a member is alive; REBALANCE_IN_PROGRESS asks it to join again (spec G2)."""

from __future__ import annotations

from broker_core.handlers.registry import Answer, Operation, Request, handler, on_group
from broker_core.protocol.api import ApiKey
from broker_core.protocol.codec import field


@handler(ApiKey.HEARTBEAT, versions=range(0, 5), needs=on_group(Operation.READ))
async def handle(request: Request) -> Answer:
    body = request.body
    instance_id = field(body, "group_instance_id", None)
    error = request.broker.groups.heartbeat(body.group_id, body.member_id, instance_id, body.generation_id)
    return {"error_code": int(error)}
