"""DescribeCluster v0–1: the live brokers and the controller, as this broker's metadata has them."""

from __future__ import annotations

from broker_core.errors import ErrorCode
from broker_core.handlers.common import CLUSTER_OPERATIONS, NO_AUTHORIZED_OPERATIONS
from broker_core.handlers.metadata_rows import broker_rows
from broker_core.handlers.registry import Answer, Request, handler, nothing
from broker_core.protocol.api import ApiKey
from broker_core.protocol.codec import field

BROKERS, CONTROLLERS = 1, 2


@handler(ApiKey.DESCRIBE_CLUSTER, versions=range(0, 2), needs=nothing)
async def handle(request: Request) -> Answer:
    """Only brokers can be asked for: there are no separate controllers here."""
    endpoint_type = field(request.body, "endpoint_type", BROKERS)
    if endpoint_type != BROKERS:
        code = ErrorCode.MISMATCHED_ENDPOINT_TYPE if endpoint_type == CONTROLLERS else ErrorCode.UNSUPPORTED_ENDPOINT_TYPE
        return _answer(request, code, "only brokers (endpoint type 1) can be described")
    return _answer(request, ErrorCode.NONE, None)


def _answer(request: Request, error_code: ErrorCode, message: str | None) -> Answer:
    asked = field(request.body, "include_cluster_authorized_operations", False)
    brokers = [{**row, "broker_id": row["node_id"]} for row in broker_rows(request)] if error_code is ErrorCode.NONE else []
    return {
        "error_code": int(error_code),
        "error_message": message,
        "endpoint_type": BROKERS,
        "cluster_id": request.broker.cluster_id,
        "controller_id": request.broker.metadata.controller_id if error_code is ErrorCode.NONE else -1,
        "brokers": brokers,
        "cluster_authorized_operations": CLUSTER_OPERATIONS if asked else NO_AUTHORIZED_OPERATIONS,
    }
