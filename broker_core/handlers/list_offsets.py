"""ListOffsets v0–9: where a timestamp is in a log; special timestamps name its ends.

-1 latest (high watermark, or last stable offset for read_committed)   -2 earliest   -3 of the largest timestamp (v7+)
-4 earliest local (v8+; the log start, as nothing is tiered)           -5 latest tiered (v9+; none)
"""

from __future__ import annotations

from typing import Any

from broker_core.errors import ErrorCode, KafkaError
from broker_core.handlers.common import failure
from broker_core.handlers.registry import Answer, Operation, Request, handler, on_topics
from broker_core.model import TopicPartition
from broker_core.protocol.api import ApiKey
from broker_core.protocol.codec import field
from broker_core.records.budget import Budget

MAX_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED = -3, -4, -5
_SINCE = {MAX_TIMESTAMP: 7, EARLIEST_LOCAL: 8, LATEST_TIERED: 9}
NEW_ERROR_SINCE = 5
CONSUMER = -1
READ_COMMITTED = 1
NONE_FOUND = (-1, -1, -1)


@handler(ApiKey.LIST_OFFSETS, versions=range(0, 10), needs=on_topics(Operation.DESCRIBE))
async def handle(request: Request) -> Answer:
    """One row per partition; a partition named twice is refused."""
    seen: dict[TopicPartition, int] = {}
    for topic in request.body.topics:
        for row in topic.partitions:
            tp = TopicPartition(topic.name, row.partition_index)
            seen[tp] = seen.get(tp, 0) + 1
    budget = request.broker.replicas.workbench.budget()
    topics = [
        {"name": topic.name, "partitions": [await _row(request, topic.name, row, seen, budget) for row in topic.partitions]}
        for topic in request.body.topics
    ]
    return {"topics": topics}


async def _row(request: Request, topic: str, row: Any, seen: dict[TopicPartition, int], budget: Budget) -> dict[str, Any]:
    tp = TopicPartition(topic, row.partition_index)
    try:
        if seen[tp] > 1:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"{tp} is named more than once")
        offset, timestamp, epoch = await _look_up(request, tp, row, budget)
        code = ErrorCode.NONE
    except Exception as error:
        code, (offset, timestamp, epoch) = failure(error)[0], NONE_FOUND
        if code is ErrorCode.OFFSET_NOT_AVAILABLE and request.version < NEW_ERROR_SINCE:
            code = ErrorCode.LEADER_NOT_AVAILABLE
    return {
        "partition_index": tp.partition,
        "error_code": int(code),
        "timestamp": timestamp,
        "offset": offset,
        "leader_epoch": epoch,
        "old_style_offsets": [offset] if offset >= 0 and field(row, "max_num_offsets", 1) > 0 else [],
    }


async def _look_up(request: Request, tp: TopicPartition, row: Any, budget: Budget) -> tuple[int, int, int]:
    """(offset, timestamp, leader epoch), each -1 when there is none."""
    timestamp = row.timestamp
    if timestamp < 0 and (timestamp < LATEST_TIERED or request.version < _SINCE.get(timestamp, 0)):
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, f"timestamp {timestamp} means nothing in ListOffsets v{request.version}")
    found = await request.broker.replicas.lookups.list_offsets(
        tp,
        timestamp,
        budget,
        read_committed=field(request.body, "isolation_level", 0) == READ_COMMITTED,
        leader_epoch=field(row, "current_leader_epoch", -1),
        from_consumer=request.body.replica_id == CONSUMER,
    )
    return found.offset, found.timestamp_ms, found.leader_epoch
