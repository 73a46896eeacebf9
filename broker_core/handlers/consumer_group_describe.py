"""ConsumerGroupDescribe v0: UNSUPPORTED_VERSION for each group, as those of the newer protocol (KIP-848) are only there in KRaft mode."""

from __future__ import annotations

from broker_core.errors import ErrorCode
from broker_core.handlers.common import NO_AUTHORIZED_OPERATIONS
from broker_core.handlers.registry import Answer, Request, handler, nothing
from broker_core.protocol.api import ApiKey


@handler(ApiKey.CONSUMER_GROUP_DESCRIBE, versions=range(0, 1), needs=nothing)
async def handle(request: Request) -> Answer:
    """One row per group, however often it is named."""
    told = {"error_code": int(ErrorCode.UNSUPPORTED_VERSION), "error_message": None, "authorized_operations": NO_AUTHORIZED_OPERATIONS}
    return {"groups": [told | {"group_id": group_id} for group_id in dict.fromkeys(request.body.group_ids)]}
