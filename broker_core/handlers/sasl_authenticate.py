"""SaslAuthenticate v0–2: ILLEGAL_SASL_STATE, as whoever reaches this listener is known already: nobody asks."""

from __future__ import annotations

from broker_core.errors import ErrorCode
from broker_core.handlers.registry import Answer, Request, handler, nothing
from broker_core.protocol.api import ApiKey


@handler(ApiKey.SASL_AUTHENTICATE, versions=range(0, 3), needs=nothing)
async def handle(request: Request) -> Answer:
    message = "SaslAuthenticate request received after successful authentication"
    return {"error_code": int(ErrorCode.ILLEGAL_SASL_STATE), "error_message": message, "auth_bytes": b""}
