"""FindCoordinator v0–6: which broker coordinates a group (spec G2) or a transactional id (spec G5). One key before v4, any number since.

The first request creates the topic that keeps their state. Share groups (key type 2) have no coordinator here.

While nobody leads the partition the answer waits a little for an election, or for the topic's creation. Kafka says
COORDINATOR_NOT_AVAILABLE at once; librdkafka then asks twice more within half a second, and after that only when a connection to some
broker comes or goes: a transaction stood still for ten minutes where its group's coordinator moved.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any

from broker_core.errors import ErrorCode, KafkaError
from broker_core.handlers.common import failure
from broker_core.handlers.registry import Action, Answer, Operation, Request, Resource, handler
from broker_core.protocol.api import ApiKey
from broker_core.protocol.codec import field

GROUP, TRANSACTION, SHARE = 0, 1, 2
SHARE_SINCE_VERSION = 6
LIST_SINCE_VERSION = 4
AWAITED_KEYS = 100
PATIENCE_MS = 1_000
"""What a client sent behind it on the same connection waits as long."""


def _needs(request: Request) -> Iterable[Action]:
    """Nothing for coordinators that are not here."""
    kinds = {GROUP: Resource.GROUP, TRANSACTION: Resource.TRANSACTIONAL_ID}
    resource = kinds.get(field(request.body, "key_type", GROUP))
    return () if resource is None else [Action(Operation.DESCRIBE, resource, key) for key in _keys(request)]


@handler(ApiKey.FIND_COORDINATOR, versions=range(0, 7), needs=_needs)
async def handle(request: Request) -> Answer:
    rows = await _settled(request)
    return {"coordinators": rows} | (rows[0] if rows else {})


async def _settled(request: Request) -> list[dict[str, Any]]:
    """As soon as each key has a coordinator, or another error; at last as it is after `PATIENCE_MS`."""
    clock = request.broker.node.clock
    until_ms = clock.monotonic_ms() + PATIENCE_MS
    changed = asyncio.Event()
    rows = [_row(request, key) for key in _keys(request)]
    with request.broker.metadata.watched(changed.set):
        while not _is_settled(request, rows):
            try:
                await clock.wait_for(changed.wait(), max(0.0, until_ms - clock.monotonic_ms()))
            except TimeoutError:
                break
            changed.clear()
            rows = [_row(request, key) for key in _keys(request)]
    return rows


def _is_settled(request: Request, rows: Sequence[dict[str, Any]]) -> bool:
    """Nothing that is awaited: a share group never has a coordinator here, and many keys would all be looked at after every update."""
    is_kept = field(request.body, "key_type", GROUP) in (GROUP, TRANSACTION)
    return len(rows) > AWAITED_KEYS or not (is_kept and any(row["error_code"] == ErrorCode.COORDINATOR_NOT_AVAILABLE for row in rows))


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
