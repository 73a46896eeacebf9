"""DescribeLogDirs v0–4: the data folders of this broker, their room, and the sizes of the replicas in them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from broker_core.errors import ErrorCode, KafkaError
from broker_core.handlers.common import by_topic, partitions_of
from broker_core.handlers.registry import Answer, Operation, Request, handler, on_cluster
from broker_core.model import TopicPartition
from broker_core.protocol.api import ApiKey
from broker_core.storage.folder.data_folder import DataFolder
from broker_core.storage.log import PartitionLog
from broker_core.storage.manager import LogManager


@handler(ApiKey.DESCRIBE_LOG_DIRS, versions=range(0, 5), needs=on_cluster(Operation.DESCRIBE))
async def handle(request: Request) -> Answer:
    """All replicas (null topics), or those asked for that are here; of an offline folder only that it is (KAFKA_STORAGE_ERROR)."""
    topics = request.body.topics
    wanted = None if topics is None else set(partitions_of(topics, name="topic", indexes="partitions"))
    logs = request.broker.logs
    results = [await _folder(request, logs, folder, lambda tp: wanted is None or tp in wanted) for folder in logs.folders.all]
    return {"error_code": int(ErrorCode.NONE), "results": results}


async def _folder(request: Request, logs: LogManager, folder: DataFolder, is_wanted: Callable[[TopicPartition], bool]) -> dict[str, Any]:
    result: dict[str, Any] = {"log_dir": folder.path, "topics": []}
    try:
        folder.state.check()
        usable, total = await request.broker.node.disk.space(folder.path)
        folder.state.check()
    except (KafkaError, OSError) as error:
        code = error.code if isinstance(error, KafkaError) else ErrorCode.UNKNOWN_SERVER_ERROR
        return {**result, "error_code": int(code)}
    sizes = {log.topic_partition: _row(logs, log) for log in logs.placing.inside(folder.path) if is_wanted(log.topic_partition)}
    rows = [{"name": topic, "partitions": list(partitions.values())} for topic, partitions in sorted(by_topic(sizes).items())]
    return {**result, "error_code": int(ErrorCode.NONE), "topics": rows, "total_bytes": total, "usable_bytes": usable}


def _row(logs: LogManager, log: PartitionLog) -> dict[str, Any]:
    """The lag is that to the high watermark; of a future log that to the log whose place it is to take, -1 where there is none."""
    tp, current = log.topic_partition, logs.get(log.topic_partition)
    is_future = logs.future(tp) is log
    if current is None:
        lag = -1
    else:
        lag = current.log_end_offset - log.log_end_offset if is_future else max(0, log.high_watermark - log.log_end_offset)
    return {"partition_index": tp.partition, "partition_size": log.segments.size_bytes, "offset_lag": lag, "is_future_key": is_future}
