"""AlterReplicaLogDirs v0–2: a broker has one data folder, so a replica can only stay where it is."""

from __future__ import annotations

from broker_core.errors import ErrorCode
from broker_core.handlers.common import by_topic, partitions_of
from broker_core.handlers.registry import Answer, Operation, Request, handler, on_cluster
from broker_core.model import TopicPartition
from broker_core.protocol.api import ApiKey


@handler(ApiKey.ALTER_REPLICA_LOG_DIRS, versions=range(0, 3), needs=on_cluster(Operation.ALTER))
async def handle(request: Request) -> Answer:
    """Another folder is LOG_DIR_NOT_FOUND, a replica that is not here REPLICA_NOT_AVAILABLE."""
    codes: dict[TopicPartition, ErrorCode] = {}
    for folder in request.body.dirs:
        for tp in partitions_of(folder.topics, indexes="partitions"):
            codes[tp] = _verdict(request, folder.path, tp)
    rows = [
        {"topic_name": topic, "partitions": [{"partition_index": index, "error_code": int(code)} for index, code in partitions.items()]}
        for topic, partitions in by_topic(codes).items()
    ]
    return {"results": rows}


def _verdict(request: Request, folder: str, tp: TopicPartition) -> ErrorCode:
    if folder != request.broker.config.current.log_dir:
        return ErrorCode.LOG_DIR_NOT_FOUND
    return ErrorCode.NONE if request.broker.logs.get(tp) is not None else ErrorCode.REPLICA_NOT_AVAILABLE
