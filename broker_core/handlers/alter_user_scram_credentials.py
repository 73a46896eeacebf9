"""AlterUserScramCredentials v0 (KIP-554): the controller keeps credentials of users in ZooKeeper, for brokers that ask for them."""

from __future__ import annotations

from broker_core.admin.scram import Deletion, Upsertion
from broker_core.errors import ErrorCode, KafkaError
from broker_core.handlers.registry import Answer, Operation, Request, Scope, handler, on_cluster
from broker_core.protocol.api import ApiKey


@handler(ApiKey.ALTER_USER_SCRAM_CREDENTIALS, versions=range(0, 1), needs=on_cluster(Operation.ALTER), scope=Scope.CLUSTER)
async def handle(request: Request) -> Answer:
    """One row per user, all of whose changes are made or none."""
    body = request.body
    deletions = [Deletion(row.name, row.mechanism) for row in body.deletions]
    upsertions = [
        Upsertion(row.name, row.mechanism, row.iterations, bytes(row.salt), bytes(row.salted_password)) for row in body.upsertions
    ]
    outcomes = await request.broker.admin.scram.alter(upsertions, deletions)
    return {"results": [_row(user, error) for user, error in outcomes.items()]}


def _row(user: str, error: KafkaError | None) -> dict[str, object]:
    code, message = (ErrorCode.NONE, None) if error is None else (error.code, error.message)
    return {"user": user, "error_code": int(code), "error_message": message}
