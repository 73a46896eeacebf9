"""DescribeClientQuotas v0–1: no quotas are set, since none can be."""

from __future__ import annotations

from broker_core.errors import ErrorCode
from broker_core.handlers.registry import Answer, Operation, Request, handler, on_cluster
from broker_core.protocol.api import ApiKey


@handler(ApiKey.DESCRIBE_CLIENT_QUOTAS, versions=range(0, 2), needs=on_cluster(Operation.DESCRIBE_CONFIGS))
async def handle(request: Request) -> Answer:
    return {"error_code": int(ErrorCode.NONE), "error_message": None, "entries": []}
