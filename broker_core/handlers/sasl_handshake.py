"""SaslHandshake v0–1: ILLEGAL_SASL_STATE, as a listener without SASL has nothing to shake hands on."""

from __future__ import annotations

from broker_core.errors import ErrorCode
from broker_core.handlers.registry import Answer, Request, handler, nothing
from broker_core.protocol.api import ApiKey


@handler(ApiKey.SASL_HANDSHAKE, versions=range(0, 2), needs=nothing)
async def handle(request: Request) -> Answer:
    return {"error_code": int(ErrorCode.ILLEGAL_SASL_STATE), "mechanisms": []}
