"""OffsetDelete v0: offsets of partitions that no member of the group uses are removed."""

from __future__ import annotations

from broker_core.errors import ErrorCode, KafkaError
from broker_core.handlers.common import by_topic, failure
from broker_core.handlers.registry import Answer, Request, handler
from broker_core.model import TopicPartition
from broker_core.protocol.api import ApiKey


@handler(ApiKey.OFFSET_DELETE, versions=range(0, 1))
async def handle(request: Request) -> Answer:
    wanted = [TopicPartition(topic.name, entry.partition_index) for topic in request.body.topics for entry in topic.partitions]
    known = [tp for tp in wanted if request.broker.metadata.partition(tp) is not None]
    outcomes = dict.fromkeys(wanted, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    try:
        outcomes |= await request.broker.groups.delete_offsets(request.body.group_id, known)
    except KafkaError as error:
        return {"error_code": int(failure(error)[0]), "throttle_time": 0, "topics": []}
    return {
        "error_code": int(ErrorCode.NONE),
        "throttle_time": 0,
        "topics": [
            {
                "name": topic,
                "partitions": [{"partition_index": index, "error_code": int(error)} for index, error in partitions.items()],
            }
            for topic, partitions in by_topic(outcomes).items()
        ],
    }
