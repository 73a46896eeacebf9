"""DeleteRecords v0–2: moves the start of a log forward, on the leader."""

from __future__ import annotations

from typing import Any

from broker_core.errors import ErrorCode, KafkaError
from broker_core.handlers.common import failure, topic_rows
from broker_core.handlers.registry import Answer, Operation, Request, handler, on_topics
from broker_core.model import TopicPartition
from broker_core.protocol.api import ApiKey
from broker_core.protocol.codec import millis


@handler(ApiKey.DELETE_RECORDS, versions=range(0, 3), needs=on_topics(Operation.DELETE))
async def handle(request: Request) -> Answer:
    """Answers once every replica's log starts at or after the offset, or the timeout has passed."""
    wanted = {TopicPartition(t.name, p.partition_index): p.offset for t in request.body.topics for p in t.partitions}
    results = await request.broker.replicas.deletions.delete_records(wanted, millis(request.body.timeout))
    rows = {tp: _row(tp, results[tp]) for tp in wanted}
    return {"topics": topic_rows(rows)}


def _row(partition: TopicPartition, result: int | KafkaError) -> dict[str, Any]:
    """`result` is the low watermark (the least log start of all replicas) or what failed."""
    if isinstance(result, KafkaError):
        return {"partition_index": partition.partition, "low_watermark": -1, "error_code": int(failure(result)[0])}
    return {"partition_index": partition.partition, "low_watermark": result, "error_code": int(ErrorCode.NONE)}
