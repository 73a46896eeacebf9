"""UpdateMetadata v0–8: the controller tells every broker who leads what and who is alive (SOURCES Z4, Z5)."""

from __future__ import annotations

from broker_core.errors import ErrorCode
from broker_core.handlers.registry import Answer, Request, handler
from broker_core.model import LEADER_DURING_DELETE, TopicPartition
from broker_core.protocol.api import ApiKey
from broker_core.protocol.codec import field


@handler(ApiKey.UPDATE_METADATA, versions=range(0, 9))
async def handle(request: Request) -> Answer:
    """Epoch checks are the replica manager's, which shares the controller epoch with LeaderAndIsr."""
    payload = request.broker.replicas.update_metadata(request.body)
    if payload["error_code"] == ErrorCode.NONE:
        _forget_deleted(request)
    return payload


def _forget_deleted(request: Request) -> None:
    """Deleted topics leave settings and committed offsets behind: nobody will ask for them again."""
    deleted = [
        TopicPartition(topic.topic_name, state.partition_index)
        for topic in field(request.body, "topic_states", ())
        for state in topic.partition_states
        if state.leader == LEADER_DURING_DELETE
    ]
    if not deleted:
        return
    request.broker.groups.offsets.topics_deleted(deleted)
    for topic in sorted({tp.topic for tp in deleted}):
        if not request.broker.metadata.has_topic(topic):
            request.broker.admin.watcher.forget(topic)
