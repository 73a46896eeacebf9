"""CreateDelegationToken v0–3: DELEGATION_TOKEN_REQUEST_NOT_ALLOWED, as nobody is authenticated (spec N3)."""

from __future__ import annotations

from broker_core.errors import ErrorCode
from broker_core.handlers.registry import Answer, Request, handler, nothing
from broker_core.protocol.api import ApiKey


@handler(ApiKey.CREATE_DELEGATION_TOKEN, versions=range(0, 4), needs=nothing)
async def handle(request: Request) -> Answer:
    kind, _, name = request.connection.principal.partition(":")
    return {
        "error_code": int(ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED),
        "principal_type": kind,
        "principal_name": name,
        "token_requester_principal_type": kind,
        "token_requester_principal_name": name,
        "issue_timestamp": -1,
        "expiry_timestamp": -1,
        "max_timestamp": -1,
        "token_id": "",
        "hmac": b"",
    }
