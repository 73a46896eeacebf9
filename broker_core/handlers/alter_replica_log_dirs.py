"""AlterReplicaLogDirs v0–2: moves replicas between this broker's data folders (KIP-113); `replication/log_moves` says how."""

from __future__ import annotations

from broker_core.errors import ErrorCode
from broker_core.handlers.common import by_topic, partitions_of
from broker_core.handlers.registry import Answer, Operation, Request, handler, on_cluster
from broker_core.model import TopicPartition
from broker_core.protocol.api import ApiKey


@handler(ApiKey.ALTER_REPLICA_LOG_DIRS, versions=range(0, 3), needs=on_cluster(Operation.ALTER))
async def handle(request: Request) -> Answer:
    """Answers once each move has begun, or is remembered; of a partition that is named twice the last folder counts."""
    wanted: dict[TopicPartition, str] = {}
    for folder in request.body.dirs:
        for tp in partitions_of(folder.topics, indexes="partitions"):
            wanted[tp] = folder.path
    moves = request.broker.replicas.moves
    codes: dict[TopicPartition, ErrorCode] = {}
    for tp, path in wanted.items():
        codes[tp] = await moves.alter(tp, path)
        await request.broker.node.clock.sleep(0)
    rows = [
        {"topic_name": topic, "partitions": [{"partition_index": index, "error_code": int(code)} for index, code in partitions.items()]}
        for topic, partitions in by_topic(codes).items()
    ]
    return {"results": rows}
