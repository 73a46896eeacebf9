"""DescribeUserScramCredentials v0 (KIP-554): which credentials users have, without anything that would help to find their passwords."""

from __future__ import annotations

from broker_core.admin.scram import Described
from broker_core.errors import ErrorCode, KafkaError
from broker_core.handlers.registry import Answer, Operation, Request, handler, on_cluster
from broker_core.protocol.api import ApiKey


@handler(ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, versions=range(0, 1), needs=on_cluster(Operation.DESCRIBE))
async def handle(request: Request) -> Answer:
    """All users that have some, by name, where none is asked for."""
    users = [row.name for row in request.body.users or ()]
    found = await request.broker.admin.scram.describe(users)
    return {"error_code": int(ErrorCode.NONE), "error_message": None, "results": [_row(user, told) for user, told in found.items()]}


def _row(user: str, told: Described | KafkaError) -> dict[str, object]:
    code, message = (told.code, told.message) if isinstance(told, KafkaError) else (ErrorCode.NONE, None)
    infos = {} if isinstance(told, KafkaError) else told
    rows = [{"mechanism": mechanism, "iterations": iterations} for mechanism, iterations in infos.items()]
    return {"user": user, "error_code": int(code), "error_message": message, "credential_infos": rows}
