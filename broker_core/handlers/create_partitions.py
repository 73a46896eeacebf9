"""CreatePartitions v0–3: raises a topic's number of partitions, by the controller (spec Z4)."""

from __future__ import annotations

from collections import Counter
from typing import Any

from broker_core.errors import ErrorCode, KafkaError
from broker_core.handlers.common import failure
from broker_core.handlers.registry import Answer, Operation, Request, Scope, handler, on_topics
from broker_core.protocol.api import ApiKey
from broker_core.protocol.codec import field, millis
from broker_core.quotas.mutation_quota import Mutations

STRICT_SINCE = 3
"""Clients know THROTTLING_QUOTA_EXCEEDED (KIP-599)."""


@handler(ApiKey.CREATE_PARTITIONS, versions=range(0, 4), needs=on_topics(Operation.ALTER), scope=Scope.CLUSTER)
async def handle(request: Request) -> Answer:
    """One row per topic; `count` is the new total."""
    validate_only = bool(field(request.body, "validate_only", False))
    counts = Counter(topic.name for topic in request.body.topics)
    mutations = request.toll.mutations(strict=request.version >= STRICT_SINCE)
    rows = {topic.name: await _grow(request, topic, counts[topic.name] > 1, validate_only, mutations) for topic in request.body.topics}
    grown = {name for name, row in rows.items() if row["error_code"] == ErrorCode.NONE}
    if grown and not validate_only:
        totals = {topic.name: topic.count for topic in request.body.topics if topic.name in grown}
        for name in await request.broker.admin.wait_for_leaders(totals, millis(request.body.timeout)):
            rows[name]["error_code"] = int(ErrorCode.REQUEST_TIMED_OUT)
            rows[name]["error_message"] = f"topic {name} has new partitions; not all of them have a leader yet"
    return {"results": list(rows.values())}


async def _grow(request: Request, topic: Any, duplicate: bool, validate_only: bool, mutations: Mutations) -> dict[str, Any]:
    try:
        if duplicate:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"topic {topic.name} is named more than once")
        assignments = None if topic.assignments is None else [tuple(row.broker_ids) for row in topic.assignments]
        await request.broker.admin.create_partitions(topic.name, topic.count, assignments, validate_only=validate_only, mutations=mutations)
    except Exception as error:
        code, message = failure(error)
        return {"name": topic.name, "error_code": int(code), "error_message": message}
    return {"name": topic.name, "error_code": int(ErrorCode.NONE), "error_message": None}
