"""ListPartitionReassignments v0 (KIP-455): the moves under way, by the controller."""

from __future__ import annotations

from broker_core.errors import ErrorCode, KafkaError
from broker_core.handlers.common import by_topic, failure, partitions_of, require_controller
from broker_core.handlers.registry import Answer, Request, handler
from broker_core.protocol.api import ApiKey


@handler(ApiKey.LIST_PARTITION_REASSIGNMENTS, versions=range(0, 1))
async def handle(request: Request) -> Answer:
    """All of them (null), or those among the partitions asked for."""
    topics = request.body.topics
    try:
        require_controller(request)
        ongoing = request.broker.controller.list_reassignments(None if topics is None else partitions_of(topics))
    except KafkaError as error:
        code, message = failure(error)
        return {"throttle_time": 0, "error_code": int(code), "error_message": message, "topics": []}
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
    return {"throttle_time": 0, "error_code": int(ErrorCode.NONE), "error_message": None, "topics": rows}
