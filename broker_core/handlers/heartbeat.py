"""Heartbeat v0–4: a member is alive; REBALANCE_IN_PROGRESS asks it to join again (spec G2)."""

from __future__ import annotations

from broker_core.handlers.registry import Answer, Request, handler
from broker_core.protocol.api import ApiKey
from broker_core.protocol.codec import field


@handler(ApiKey.HEARTBEAT, versions=range(0, 5))
async def handle(request: Request) -> Answer:
    body = request.body
    instance_id = field(body, "group_instance_id", None)
    error = request.broker.groups.heartbeat(body.group_id, body.member_id, instance_id, body.generation_id)
    return {"throttle_time": 0, "error_code": int(error)}
