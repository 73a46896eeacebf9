"""DescribeAcls v0–3: there is no authorizer, and SECURITY_DISABLED says so, as in Kafka (spec N3)."""

from __future__ import annotations

from broker_core.errors import ErrorCode, KafkaError
from broker_core.handlers.registry import Answer, Operation, Request, handler, on_cluster
from broker_core.protocol.api import ApiKey

NO_AUTHORIZER = "No Authorizer is configured"


@handler(ApiKey.DESCRIBE_ACLS, versions=range(0, 4), needs=on_cluster(Operation.DESCRIBE))
async def handle(request: Request) -> Answer:
    raise KafkaError(ErrorCode.SECURITY_DISABLED, f"{NO_AUTHORIZER} on the broker")
