"""ListPartitionReassignments v0 (KIP-455): the moves under way, by the controller."""

from __future__ import annotations

from broker_core.errors import ErrorCode
from broker_core.handlers.common import by_topic, partitions_of
from broker_core.handlers.registry import Answer, Operation, Request, Scope, handler, on_cluster
from broker_core.protocol.api import ApiKey


@handler(ApiKey.LIST_PARTITION_REASSIGNMENTS, versions=range(0, 1), needs=on_cluster(Operation.DESCRIBE), scope=Scope.CLUSTER)
async def handle(request: Request) -> Answer:
    """All of them (null), or those among the partitions asked for."""
    topics = request.body.topics
    ongoing = request.broker.controller.list_reassignments(None if topics is None else partitions_of(topics))
    rows = [
        {
            "name": topic,
            "partitions": [
                {
                    "partition_index": partition,
                    "replicas": list(assignment.replicas),
                    "adding_replicas": list(assignment.adding),
                    "removing_replicas": list(assignment.removing),
                }
                for partition, assignment in partitions.items()
            ],
        }
        for topic, partitions in by_topic(ongoing).items()
    ]
    return {"error_code": int(ErrorCode.NONE), "error_message": None, "topics": rows}
