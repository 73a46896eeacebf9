"""DeleteAcls v0–3: refused with SECURITY_DISABLED, one row per filter (spec N3)."""

from __future__ import annotations

from broker_core.errors import ErrorCode
from broker_core.handlers.describe_acls import NO_AUTHORIZER
from broker_core.handlers.registry import Answer, Request, handler
from broker_core.protocol.api import ApiKey


@handler(ApiKey.DELETE_ACLS, versions=range(0, 4))
async def handle(request: Request) -> Answer:
    row = {"error_code": int(ErrorCode.SECURITY_DISABLED), "error_message": NO_AUTHORIZER, "matching_acls": []}
    return {"throttle_time": 0, "filter_results": [row for _ in request.body.filters]}
