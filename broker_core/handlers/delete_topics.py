"""DeleteTopics v0–6 by name or topic id, by the controller; answers once they are gone, or the timeout has passed (SOURCES Z4)."""

from __future__ import annotations

import uuid
from typing import Any

from broker_core.errors import ErrorCode, KafkaError
from broker_core.handlers.common import failure, require_controller
from broker_core.handlers.registry import Answer, Request, handler
from broker_core.protocol.api import ApiKey
from broker_core.protocol.codec import millis

Wanted = tuple[str | None, uuid.UUID | None]


@handler(ApiKey.DELETE_TOPICS, versions=range(0, 7))
async def handle(request: Request) -> Answer:
    """One row per topic asked for."""
    rows = {wanted: await _delete(request, *wanted) for wanted in _wanted(request)}
    deleting = [row["name"] for row in rows.values() if row["error_code"] == ErrorCode.NONE]
    late = await request.broker.admin.wait_until_gone(deleting, millis(request.body.timeout)) if deleting else []
    for row in rows.values():
        if row["name"] in late and row["error_code"] == ErrorCode.NONE:
            row["error_code"] = int(ErrorCode.REQUEST_TIMED_OUT)
            row["error_message"] = f"topic {row['name']} is marked for deletion and not gone yet"
    return {"throttle_time": 0, "responses": list(rows.values())}


def _wanted(request: Request) -> list[Wanted]:
    if request.version < 6:
        return [(name, None) for name in dict.fromkeys(request.body.topic_names)]
    return list(dict.fromkeys((topic.name, None if topic.name is not None else topic.topic_id) for topic in request.body.topics))


async def _delete(request: Request, name: str | None, topic_id: uuid.UUID | None) -> dict[str, Any]:
    try:
        require_controller(request)
        if not request.broker.config.current.delete_topic_enable:
            code = ErrorCode.INVALID_REQUEST if request.version < 3 else ErrorCode.TOPIC_DELETION_DISABLED
            raise KafkaError(code, "Topic deletion is disabled.")
        name = name if name is not None else _name_of(request, topic_id)
        await request.broker.admin.delete_topic(name)
    except Exception as error:
        code, message = failure(error)
        return {"name": name, "topic_id": topic_id, "error_code": int(code), "error_message": message}
    known_id = topic_id or request.broker.metadata.topic_id(name)
    return {"name": name, "topic_id": known_id, "error_code": int(ErrorCode.NONE), "error_message": None}


def _name_of(request: Request, topic_id: uuid.UUID | None) -> str:
    name = request.broker.metadata.topic_name(topic_id) if topic_id is not None else None
    if name is None:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_ID, f"no topic has the id {topic_id}")
    return name
