"""AlterPartitionReassignments v0 (KIP-455): start, change or cancel (null replicas) moves of partitions, by the controller."""

from __future__ import annotations

from broker_core.errors import ErrorCode
from broker_core.handlers.common import by_topic
from broker_core.handlers.registry import Answer, Operation, Request, Scope, handler, on_cluster
from broker_core.model import TopicPartition
from broker_core.protocol.api import ApiKey


@handler(ApiKey.ALTER_PARTITION_REASSIGNMENTS, versions=range(0, 1), needs=on_cluster(Operation.ALTER), scope=Scope.CLUSTER)
async def handle(request: Request) -> Answer:
    """One result per partition asked for."""
    wanted = {
        TopicPartition(topic.name, row.partition_index): None if row.replicas is None else tuple(row.replicas)
        for topic in request.body.topics
        for row in topic.partitions
    }
    results = await request.broker.controller.alter_reassignments(wanted)
    rows = [
        {
            "name": topic,
            "partitions": [
                {"partition_index": partition, "error_code": int(code), "error_message": message or None}
                for partition, (code, message) in partitions.items()
            ],
        }
        for topic, partitions in by_topic(results).items()
    ]
    return {"error_code": int(ErrorCode.NONE), "error_message": None, "responses": rows}
