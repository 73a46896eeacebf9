"""OffsetForLeaderEpoch v0–4: where a leader epoch ends in the leader's log (KIP-101, KIP-320; spec R6)."""

from __future__ import annotations

from typing import Any

from broker_core.errors import ErrorCode, KafkaError
from broker_core.handlers.common import failure
from broker_core.handlers.registry import Answer, Operation, Request, handler, on_topics
from broker_core.model import TopicPartition
from broker_core.protocol.api import ApiKey
from broker_core.protocol.codec import field

_needs = on_topics(Operation.DESCRIBE, name="topic", on_cluster=Operation.CLUSTER_ACTION)


@handler(ApiKey.OFFSET_FOR_LEADER_EPOCH, versions=range(0, 5), needs=_needs)
async def handle(request: Request) -> Answer:
    """One row per partition; an epoch unknown to the leader is answered with (-1, -1)."""
    topics = [
        {"topic": topic.topic, "partitions": [_row(request, TopicPartition(topic.topic, row.partition), row) for row in topic.partitions]}
        for topic in request.body.topics
    ]
    return {"topics": topics}


def _row(request: Request, partition: TopicPartition, row: Any) -> dict[str, Any]:
    try:
        epoch, end_offset = request.broker.replicas.lookups.offset_for_leader_epoch(
            partition, row.leader_epoch, field(row, "current_leader_epoch", -1)
        )
        code = ErrorCode.NONE
    except KafkaError as error:
        code, (epoch, end_offset) = failure(error)[0], (-1, -1)
    return {"partition": partition.partition, "error_code": int(code), "leader_epoch": epoch, "end_offset": end_offset}
