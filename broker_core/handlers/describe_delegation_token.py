"""DescribeDelegationToken v0–3: DELEGATION_TOKEN_REQUEST_NOT_ALLOWED, as nobody is authenticated (spec N3)."""

from __future__ import annotations

from broker_core.errors import ErrorCode
from broker_core.handlers.registry import Answer, Request, handler, nothing
from broker_core.protocol.api import ApiKey


@handler(ApiKey.DESCRIBE_DELEGATION_TOKEN, versions=range(0, 4), needs=nothing)
async def handle(request: Request) -> Answer:
    return {"error_code": int(ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED), "tokens": []}
