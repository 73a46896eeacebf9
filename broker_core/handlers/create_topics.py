"""CreateTopics v0–7, by the controller; answers once every partition has a leader, or the timeout has passed (spec Z4, Z6)."""

from __future__ import annotations

import uuid
from collections import Counter
from typing import Any

from broker_core.admin.topics import CreatedTopic, NewTopic
from broker_core.errors import ErrorCode, KafkaError
from broker_core.handlers.common import failure
from broker_core.handlers.registry import Answer, Operation, Request, Scope, handler, on_topics
from broker_core.protocol.api import ApiKey
from broker_core.protocol.codec import field, millis
from broker_core.quotas.mutation_quota import Mutations

METADATA_TOPIC = "__cluster_metadata"
"""The log of KRaft's controllers: no topic may have its name."""


STRICT_SINCE = 6
"""Clients know THROTTLING_QUOTA_EXCEEDED (KIP-599)."""


@handler(ApiKey.CREATE_TOPICS, versions=range(0, 8), needs=on_topics(Operation.CREATE, on_cluster=Operation.CREATE), scope=Scope.CLUSTER)
async def handle(request: Request) -> Answer:
    """One row per topic asked for; a name given twice is refused each time."""
    counts = Counter(topic.name for topic in request.body.topics)
    validate_only = bool(field(request.body, "validate_only", False))
    mutations = request.toll.mutations(strict=request.version >= STRICT_SINCE)
    rows = [await _create(request, topic, counts[topic.name] > 1, validate_only, mutations) for topic in request.body.topics]
    created = {row["name"]: row["num_partitions"] for row in rows if row["error_code"] == ErrorCode.NONE}
    if created and not validate_only:
        late = set(await request.broker.admin.wait_for_leaders(created, millis(request.body.timeout)))
        rows = [_late(row) if row["name"] in late else row for row in rows]
    return {"topics": rows}


async def _create(request: Request, topic: Any, duplicate: bool, validate_only: bool, mutations: Mutations) -> dict[str, Any]:
    try:
        if duplicate:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"topic {topic.name} is named more than once")
        if topic.name == METADATA_TOPIC:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"Creation of internal topic {METADATA_TOPIC} is prohibited.")
        created = await request.broker.admin.create_topic(new_topic(topic), validate_only=validate_only, mutations=mutations)
    except Exception as error:
        return _refused(topic.name, None, *failure(error))
    return _row(request, created)


def new_topic(topic: Any) -> NewTopic:
    """The topic asked for; a list of assignments and a number of partitions exclude each other."""
    assignments = {row.partition_index: tuple(row.broker_ids) for row in topic.assignments}
    if len(assignments) != len(topic.assignments):
        raise KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"a partition of topic {topic.name} is assigned more than once")
    if assignments and (topic.num_partitions != -1 or topic.replication_factor != -1):
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"topic {topic.name}: give either numbers or replica assignments, not both")
    configs = {row.name: row.value for row in topic.configs}
    for name, value in configs.items():
        if value is None:
            raise KafkaError(ErrorCode.INVALID_CONFIG, f"Null value not supported for topic configs: {name}")
    return NewTopic(topic.name, topic.num_partitions, topic.replication_factor, assignments, configs)


def _refused(name: str, topic_id: uuid.UUID | None, code: ErrorCode, message: str) -> dict[str, Any]:
    return {"name": name, "topic_id": topic_id, "configs": [], "error_code": int(code), "error_message": message}


def _late(row: dict[str, Any]) -> dict[str, Any]:
    message = f"topic {row['name']} is created; not all its partitions have a leader yet"
    return _refused(row["name"], row["topic_id"], ErrorCode.REQUEST_TIMED_OUT, message)


def _row(request: Request, created: CreatedTopic) -> dict[str, Any]:
    configs = request.broker.admin.configs.describe_overrides(created.configs)
    return {
        "name": created.name,
        "topic_id": created.topic_id,
        "error_code": int(ErrorCode.NONE),
        "error_message": None,
        "num_partitions": len(created.assignment),
        "replication_factor": len(created.assignment[0]),
        "configs": [
            {"name": c.name, "value": c.value, "read_only": c.read_only, "config_source": c.source, "is_sensitive": c.sensitive}
            for c in configs
        ],
    }
