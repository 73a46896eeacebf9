"""ElectLeaders v0–2: preferred (v0+) and unclean (v1+) elections, by the controller (spec R8, O3)."""

from __future__ import annotations

from broker_core.errors import ErrorCode
from broker_core.handlers.common import by_topic, partitions_of
from broker_core.handlers.registry import Answer, Operation, Request, Scope, handler, on_cluster
from broker_core.model import TopicPartition
from broker_core.protocol.api import ApiKey
from broker_core.protocol.codec import field

Results = dict[TopicPartition, tuple[ErrorCode, str | None]]


@handler(ApiKey.ELECT_LEADERS, versions=range(0, 3), needs=on_cluster(Operation.ALTER), scope=Scope.CLUSTER)
async def handle(request: Request) -> Answer:
    """Per-partition results; for all partitions (null) those that needed no election are left out, as Kafka does."""
    topics = request.body.topic_partitions
    wanted = None if topics is None else partitions_of(topics, name="topic", indexes="partitions")
    results = await request.broker.controller.elect_leaders(wanted, field(request.body, "election_type", 0))
    if wanted is None:
        results = {tp: result for tp, result in results.items() if result[0] is not ErrorCode.ELECTION_NOT_NEEDED}
    rows = [
        {
            "topic": topic,
            "partition_result": [
                {"partition_id": partition, "error_code": int(code), "error_message": message or None}
                for partition, (code, message) in partitions.items()
            ],
        }
        for topic, partitions in by_topic(results).items()
    ]
    return {"error_code": int(ErrorCode.NONE), "replica_election_results": rows}
