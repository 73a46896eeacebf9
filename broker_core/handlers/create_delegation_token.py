"""CreateDelegationToken v0–3: DELEGATION_TOKEN_REQUEST_NOT_ALLOWED, as nobody is authenticated (spec N3)."""

from __future__ import annotations

from broker_core.errors import ErrorCode
from broker_core.handlers.registry import Answer, Request, handler
from broker_core.protocol.api import ApiKey


@handler(ApiKey.CREATE_DELEGATION_TOKEN, versions=range(0, 4))
async def handle(request: Request) -> Answer:
    return {
        "error_code": int(ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED),
        "throttle_time": 0,
        "principal_type": "User",
        "principal_name": "ANONYMOUS",
        "token_requester_principal_type": "User",
        "token_requester_principal_name": "ANONYMOUS",
        "issue_timestamp": -1,
        "expiry_timestamp": -1,
        "max_timestamp": -1,
        "token_id": "",
        "hmac": b"",
    }
