"""ElectLeaders v0–2: preferred (v0+) and unclean (v1+) elections, by the controller (spec R8, O3)."""

from __future__ import annotations

from broker_core.errors import ErrorCode, KafkaError
from broker_core.handlers.common import by_topic, failure, partitions_of, require_controller
from broker_core.handlers.registry import Answer, Request, handler
from broker_core.model import TopicPartition
from broker_core.protocol.api import ApiKey
from broker_core.protocol.codec import field

Results = dict[TopicPartition, tuple[ErrorCode, str | None]]


@handler(ApiKey.ELECT_LEADERS, versions=range(0, 3))
async def handle(request: Request) -> Answer:
    """Per-partition results; for all partitions (null) those that needed no election are left out, as Kafka does."""
    topics = request.body.topic_partitions
    wanted = None if topics is None else partitions_of(topics, name="topic", indexes="partitions")
    try:
        require_controller(request)
        results = await request.broker.controller.elect_leaders(wanted, field(request.body, "election_type", 0))
    except KafkaError as error:
        code, message = failure(error)
        return _payload(dict.fromkeys(wanted or (), (code, message)), code)
    if wanted is None:
        results = {tp: result for tp, result in results.items() if result[0] is not ErrorCode.ELECTION_NOT_NEEDED}
    return _payload(results, ErrorCode.NONE)


def _payload(results: Results, error_code: ErrorCode) -> Answer:
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
    return {"throttle_time": 0, "error_code": int(error_code), "replica_election_results": rows}
