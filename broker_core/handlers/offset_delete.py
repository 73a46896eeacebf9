"""OffsetDelete v0: offsets of partitions that no member of the group uses are removed."""

from __future__ import annotations

from broker_core.errors import ErrorCode
from broker_core.handlers.common import code_rows
from broker_core.handlers.registry import Answer, Operation, Request, both, handler, on_group, on_topics
from broker_core.model import TopicPartition
from broker_core.protocol.api import ApiKey


@handler(ApiKey.OFFSET_DELETE, versions=range(0, 1), needs=both(on_group(Operation.DELETE), on_topics(Operation.READ)))
async def handle(request: Request) -> Answer:
    wanted = [TopicPartition(topic.name, entry.partition_index) for topic in request.body.topics for entry in topic.partitions]
    known = [tp for tp in wanted if request.broker.metadata.partition(tp) is not None]
    outcomes = dict.fromkeys(wanted, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    outcomes |= await request.broker.groups.delete_offsets(request.body.group_id, known)
    return {"error_code": int(ErrorCode.NONE), "topics": code_rows(outcomes)}
