"""CreateAcls v0–3: refused with SECURITY_DISABLED, one row per ACL, as no authorizer would heed them (spec N3)."""

from __future__ import annotations

from broker_core.errors import ErrorCode
from broker_core.handlers.describe_acls import NO_AUTHORIZER
from broker_core.handlers.registry import Answer, Request, handler
from broker_core.protocol.api import ApiKey


@handler(ApiKey.CREATE_ACLS, versions=range(0, 4))
async def handle(request: Request) -> Answer:
    row = {"error_code": int(ErrorCode.SECURITY_DISABLED), "error_message": NO_AUTHORIZER}
    return {"throttle_time": 0, "results": [row for _ in request.body.creations]}
