"""FindCoordinator v0–6: which broker coordinates a group (spec G2) or a transactional id (spec G5). One key before v4, any number since.

The first request creates the topic that keeps their state. Share groups (key type 2) have no coordinator here.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from broker_core.errors import ErrorCode, KafkaError
from broker_core.handlers.common import failure
from broker_core.handlers.registry import Action, Answer, Operation, Request, Resource, handler
from broker_core.protocol.api import ApiKey
from broker_core.protocol.codec import field

GROUP, TRANSACTION, SHARE = 0, 1, 2
SHARE_SINCE_VERSION = 6
LIST_SINCE_VERSION = 4


def _needs(request: Request) -> Iterable[Action]:
    """Nothing for coordinators that are not here."""
    kinds = {GROUP: Resource.GROUP, TRANSACTION: Resource.TRANSACTIONAL_ID}
    resource = kinds.get(field(request.body, "key_type", GROUP))
    return () if resource is None else [Action(Operation.DESCRIBE, resource, key) for key in _keys(request)]


@handler(ApiKey.FIND_COORDINATOR, versions=range(0, 7), needs=_needs)
async def handle(request: Request) -> Answer:
    rows = [_row(request, key) for key in _keys(request)]
    return {"coordinators": rows} | (rows[0] if rows else {})


def _keys(request: Request) -> Iterable[str]:
    return request.body.coordinator_keys if request.version >= LIST_SINCE_VERSION else (request.body.key,)


def _row(request: Request, key: str) -> dict[str, Any]:
    try:
        broker_id, endpoint = _coordinator(request, key)
    except KafkaError as error:
        code, message = failure(error)
        return {"key": key, "node_id": -1, "host": "", "port": -1, "error_code": int(code), "error_message": message}
    return {
        "key": key,
        "node_id": broker_id,
        "host": endpoint.host,
        "port": endpoint.port,
        "error_code": int(ErrorCode.NONE),
        "error_message": ErrorCode.NONE.name if request.version < LIST_SINCE_VERSION else "",
    }


def _coordinator(request: Request, key: str) -> Any:
    kind = field(request.body, "key_type", GROUP)
    if kind == GROUP:
        return request.broker.groups.topic.find(key, request.connection.listener, request.broker.admin)
    if kind == TRANSACTION:
        return request.broker.transactions.topic.find(key, request.connection.listener, request.broker.admin)
    if kind == SHARE and request.version >= SHARE_SINCE_VERSION:
        raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, "this cluster has no coordinator of that kind")
    raise KafkaError(ErrorCode.INVALID_REQUEST, f"unknown coordinator type {kind}")
