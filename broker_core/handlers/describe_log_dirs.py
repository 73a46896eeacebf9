"""DescribeLogDirs v0–4: the sizes of the replicas this broker keeps."""

from __future__ import annotations

from typing import Any

from broker_core.errors import ErrorCode
from broker_core.handlers.common import by_topic, partitions_of
from broker_core.handlers.registry import Answer, Operation, Request, handler, on_cluster
from broker_core.model import TopicPartition
from broker_core.protocol.api import ApiKey


@handler(ApiKey.DESCRIBE_LOG_DIRS, versions=range(0, 5), needs=on_cluster(Operation.DESCRIBE))
async def handle(request: Request) -> Answer:
    """All replicas (null topics), or those asked for that are here."""
    topics = request.body.topics
    wanted = None if topics is None else set(partitions_of(topics, name="topic", indexes="partitions"))
    logs = [log for log in request.broker.logs.all() if wanted is None or log.topic_partition in wanted]
    sizes = {log.topic_partition: _row(request, log) for log in logs}
    rows = [{"name": topic, "partitions": list(partitions.values())} for topic, partitions in sorted(by_topic(sizes).items())]
    log_dir = request.broker.logs.log_dir
    code = ErrorCode.NONE if log_dir.failure is None else ErrorCode.KAFKA_STORAGE_ERROR
    result = {"error_code": int(code), "log_dir": log_dir.path, "topics": rows}
    return {"error_code": int(ErrorCode.NONE), "results": [result]}


def _row(request: Request, log: Any) -> dict[str, Any]:
    tp: TopicPartition = log.topic_partition
    lag = max(0, log.high_watermark - log.log_end_offset)
    return {"partition_index": tp.partition, "partition_size": log.segments.size_bytes, "offset_lag": lag, "is_future_key": False}
