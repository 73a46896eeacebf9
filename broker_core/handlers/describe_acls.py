"""DescribeAcls v0–3: there is no authorizer, and SECURITY_DISABLED says so, as in Kafka (spec N3)."""

from __future__ import annotations

from broker_core.errors import ErrorCode
from broker_core.handlers.registry import Answer, Request, handler
from broker_core.protocol.api import ApiKey

NO_AUTHORIZER = "No Authorizer is configured on the broker."


@handler(ApiKey.DESCRIBE_ACLS, versions=range(0, 4))
async def handle(request: Request) -> Answer:
    return {"throttle_time": 0, "error_code": int(ErrorCode.SECURITY_DISABLED), "error_message": NO_AUTHORIZER, "resources": []}
