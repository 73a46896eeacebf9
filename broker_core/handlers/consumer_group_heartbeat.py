"""ConsumerGroupHeartbeat v0: UNSUPPORTED_VERSION, as groups of the newer protocol (KIP-848) are only there in KRaft mode."""

from __future__ import annotations

from broker_core.errors import ErrorCode
from broker_core.handlers.registry import Answer, Request, handler, nothing
from broker_core.protocol.api import ApiKey


@handler(ApiKey.CONSUMER_GROUP_HEARTBEAT, versions=range(0, 1), needs=nothing)
async def handle(request: Request) -> Answer:
    return {"error_code": int(ErrorCode.UNSUPPORTED_VERSION), "error_message": None, "member_id": None, "assignment": None}
