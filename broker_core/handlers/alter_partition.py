"""AlterPartition v0–3: a leader asks the controller to change ISRs (KIP-497, spec R4)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from broker_core.controller.deciders.isr_alteration import Alteration, Judged
from broker_core.errors import ErrorCode
from broker_core.handlers.registry import Answer, Operation, Request, Scope, handler, on_cluster
from broker_core.model import NO_EPOCH, TopicPartition
from broker_core.protocol.api import ApiKey
from broker_core.protocol.codec import field

INELIGIBLE_SINCE = 2
"""Before, who may not join is told as OPERATION_NOT_ATTEMPTED."""


@handler(ApiKey.ALTER_PARTITION, versions=range(0, 4), needs=on_cluster(Operation.CLUSTER_ACTION), scope=Scope.CLUSTER)
async def handle(request: Request) -> Answer:
    """A row for each partition that was named, once; topics of an id that the controller does not know have none of its others."""
    body, controller = request.body, request.broker.controller
    topics = [(topic, _name(topic, controller.topic_name)) for topic in body.topics]
    wanted = {
        TopicPartition(name, row.partition_index): _alteration(row)
        for topic, name in topics
        if name is not None
        for row in topic.partitions
    }
    judged = await controller.alter_isrs(body.broker_id, body.broker_epoch, wanted)
    return {
        "error_code": int(ErrorCode.NONE),
        "topics": [
            {
                "topic_name": name or "",
                "topic_id": field(topic, "topic_id", None),
                "partitions": [
                    _row(index, judged.get(TopicPartition(name or "", index)), request.version)
                    for index in dict.fromkeys(row.partition_index for row in topic.partitions)
                ],
            }
            for topic, name in topics
        ],
    }


def _name(topic: Any, name_of: Any) -> str | None:
    """Since v2 topics are named by id."""
    if not hasattr(topic, "topic_id"):
        return str(topic.topic_name)
    found: str | None = name_of(topic.topic_id) if topic.topic_id is not None else None
    return found


def _alteration(row: Any) -> Alteration:
    members = field(row, "new_isr_with_epochs", None)
    isr = tuple(row.new_isr) if members is None else tuple(member.broker_id for member in members)
    epochs = {member.broker_id: member.broker_epoch for member in members or () if member.broker_epoch != NO_EPOCH}
    recovering = field(row, "leader_recovery_state", 0) == 1
    return Alteration(row.leader_epoch, isr, row.partition_epoch, recovering, epochs)


def _row(index: int, judged: Judged | None, version: int) -> Mapping[str, Any]:
    error = ErrorCode.UNKNOWN_TOPIC_ID if judged is None else judged.error
    if error is ErrorCode.INELIGIBLE_REPLICA and version < INELIGIBLE_SINCE:
        error = ErrorCode.OPERATION_NOT_ATTEMPTED
    if judged is None or judged.state is None or error is not ErrorCode.NONE:
        return {"partition_index": index, "error_code": int(error), "leader_id": 0, "leader_epoch": 0, "isr": (), "partition_epoch": 0}
    state = judged.state
    return {
        "partition_index": index,
        "error_code": int(error),
        "leader_id": state.leader,
        "leader_epoch": state.leader_epoch,
        "isr": state.isr,
        "leader_recovery_state": int(state.recovering),
        "partition_epoch": state.zk_version,
    }
