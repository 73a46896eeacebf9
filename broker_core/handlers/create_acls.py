"""CreateAcls v0–3: refused with SECURITY_DISABLED, one row per ACL, as no authorizer would heed them (spec N3)."""

from __future__ import annotations

from broker_core.errors import ErrorCode, KafkaError
from broker_core.handlers.describe_acls import NO_AUTHORIZER
from broker_core.handlers.registry import Answer, Operation, Request, handler, on_cluster
from broker_core.protocol.api import ApiKey


@handler(ApiKey.CREATE_ACLS, versions=range(0, 4), needs=on_cluster(Operation.ALTER))
async def handle(request: Request) -> Answer:
    raise KafkaError(ErrorCode.SECURITY_DISABLED, f"{NO_AUTHORIZER}.")
