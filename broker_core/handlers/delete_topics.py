"""DeleteTopics v0–6 by name or topic id, by the controller; answers once they are gone, or the timeout has passed (spec Z4)."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from typing import Any

from broker_core.errors import ErrorCode, KafkaError
from broker_core.handlers.common import failure
from broker_core.handlers.registry import Action, Answer, Operation, Request, Resource, Scope, handler
from broker_core.protocol.api import ApiKey
from broker_core.protocol.codec import millis
from broker_core.quotas.mutation_quota import Mutations

STRICT_SINCE = 5
"""Clients know THROTTLING_QUOTA_EXCEEDED (KIP-599)."""
Wanted = tuple[str | None, uuid.UUID | None]
BOTH_GIVEN = (ErrorCode.INVALID_REQUEST, "Give a topic by its name or by its id, not by both.")


def _needs(request: Request) -> Iterable[Action]:
    name_of = request.broker.metadata.topic_name
    names = (name_of(topic_id) if topic_id is not None else name for name, topic_id in _wanted(request))
    return (Action(Operation.DELETE, Resource.TOPIC, name) for name in names if name is not None)


@handler(ApiKey.DELETE_TOPICS, versions=range(0, 7), needs=_needs, scope=Scope.CLUSTER)
async def handle(request: Request) -> Answer:
    """One row per topic asked for, however often it is named; a request that gives a topic both name and id is refused whole."""
    wanted = _wanted(request)
    if any(name is not None and topic_id for name, topic_id in wanted):
        return {"responses": [_refused(*one, *BOTH_GIVEN) for one in wanted]}
    mutations = request.toll.mutations(strict=request.version >= STRICT_SINCE)
    found = {one: await _delete(request, *one, mutations) for one in dict.fromkeys(wanted)}
    rows = [found[one].copy() for one in wanted]
    deleting = [row["name"] for row in rows if row["error_code"] == ErrorCode.NONE]
    late = await request.broker.admin.wait_until_gone(deleting, millis(request.body.timeout)) if deleting else []
    for row in rows:
        if row["name"] in late and row["error_code"] == ErrorCode.NONE:
            row["error_code"] = int(ErrorCode.REQUEST_TIMED_OUT)
            row["error_message"] = f"topic {row['name']} is marked for deletion and not gone yet"
    return {"responses": rows}


def _wanted(request: Request) -> list[Wanted]:
    if request.version < 6:
        return [(name, None) for name in request.body.topic_names]
    return [(topic.name, topic.topic_id or None) for topic in request.body.topics]


async def _delete(request: Request, name: str | None, topic_id: uuid.UUID | None, mutations: Mutations) -> dict[str, Any]:
    try:
        if not request.broker.config.current.delete_topic_enable:
            code = ErrorCode.INVALID_REQUEST if request.version < 3 else ErrorCode.TOPIC_DELETION_DISABLED
            raise KafkaError(code, "Topic deletion is disabled.")
        name = name if name is not None else _name_of(request, topic_id)
        partitions = request.broker.metadata.partitions(name)
        if not partitions:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"Topic '{name}' does not exist.")
        mutations.record(len(partitions))
        await request.broker.admin.delete_topic(name)
    except Exception as error:
        return _refused(name, topic_id, *failure(error))
    return {"name": name, "topic_id": topic_id, "error_code": int(ErrorCode.NONE), "error_message": None}


def _refused(name: str | None, topic_id: uuid.UUID | None, code: ErrorCode, message: str) -> dict[str, Any]:
    return {"name": name, "topic_id": topic_id, "error_code": int(code), "error_message": message}


def _name_of(request: Request, topic_id: uuid.UUID | None) -> str:
    name = request.broker.metadata.topic_name(topic_id) if topic_id is not None else None
    if name is None:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_ID, f"no topic has the id {topic_id}")
    return name
