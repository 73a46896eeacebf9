"""ControlledShutdown v0–3: a broker asks the controller to move its leaderships away before it stops (spec Z5)."""

from __future__ import annotations

from broker_core.errors import ErrorCode
from broker_core.handlers.registry import Answer, Operation, Request, Scope, handler, on_cluster
from broker_core.protocol.api import ApiKey
from broker_core.protocol.codec import field


@handler(ApiKey.CONTROLLED_SHUTDOWN, versions=range(0, 4), needs=on_cluster(Operation.CLUSTER_ACTION), scope=Scope.CLUSTER)
async def handle(request: Request) -> Answer:
    """Answers with the partitions the broker still leads; none means it may stop."""
    remaining = await request.broker.controller.controlled_shutdown(request.body.broker_id, field(request.body, "broker_epoch", -1))
    rows = [{"topic_name": topic, "partition_index": partition} for topic, partition in remaining]
    return {"error_code": int(ErrorCode.NONE), "remaining_partitions": rows}
