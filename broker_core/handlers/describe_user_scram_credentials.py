"""DescribeUserScramCredentials v0: nobody has any; a user asked for by name is RESOURCE_NOT_FOUND."""

from __future__ import annotations

from broker_core.errors import ErrorCode
from broker_core.handlers.registry import Answer, Operation, Request, handler, on_cluster
from broker_core.protocol.api import ApiKey


@handler(ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, versions=range(0, 1), needs=on_cluster(Operation.DESCRIBE))
async def handle(request: Request) -> Answer:
    results = [
        {
            "user": user.name,
            "error_code": int(ErrorCode.RESOURCE_NOT_FOUND),
            "error_message": f"No SCRAM credentials of user {user.name}",
            "credential_infos": [],
        }
        for user in request.body.users or ()
    ]
    return {"error_code": int(ErrorCode.NONE), "error_message": None, "results": results}
