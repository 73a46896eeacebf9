"""Metadata v0–12: brokers, controller, topics and their leaders, from this broker's cache (spec Z4).

An unknown topic is created when both the broker (`auto.create.topics.enable`) and the client (v4+) allow it; the client is
then told LEADER_NOT_AVAILABLE and asks again. Answers without such a side effect are cached in encoded form.
"""

from __future__ import annotations

import struct
import uuid
from collections.abc import Iterable
from typing import Any

from broker_core.admin.names import check_topic_name
from broker_core.errors import ErrorCode, KafkaError
from broker_core.handlers.common import CLUSTER_OPERATIONS, NO_AUTHORIZED_OPERATIONS, TOPIC_OPERATIONS, failure
from broker_core.handlers.metadata_rows import missing_topic, named_rows, topic_row
from broker_core.handlers.registry import Action, Answer, Operation, Request, Resource, handler
from broker_core.protocol.api import ApiKey
from broker_core.protocol.codec import encode_response, field
from broker_core.protocol.headers import response_header
from broker_core.storage.slices import Slices

THROTTLE = struct.Struct(">i")
"""The first field of an answer."""
THROTTLE_SINCE = 3
NO_ID = uuid.UUID(int=0)
NO_CONTROLLER = -1
NO_NULL_NAMES = (10, 11)
"""Versions whose requests have a topic id that may not be used yet."""
Wanted = tuple[str | None, uuid.UUID | None]


def _needs(request: Request) -> Iterable[Action]:
    """To be told of the topics that are named, and to create those that this makes."""
    metadata, may_create = request.broker.metadata, _may_create(request)
    for named, topic_id in _wanted(request) or ():
        name = named if topic_id is None else metadata.topic_name(topic_id)
        if name is not None:
            yield Action(Operation.DESCRIBE, Resource.TOPIC, name)
            if may_create and not metadata.partitions(name):
                yield Action(Operation.CREATE, Resource.TOPIC, name, on_cluster=Operation.CREATE)


@handler(ApiKey.METADATA, versions=range(0, 13), needs=_needs)
async def handle(request: Request) -> Answer:
    """A cached body, all but its throttle time, where there is one; else built, and kept when every topic asked for exists."""
    wanted = _wanted(request)
    if request.version in NO_NULL_NAMES and any(name is None or topic_id for name, topic_id in wanted or ()):
        return _refused(wanted or ())
    wanted = _distinct(wanted)
    shape = (request.version, request.connection.listener, wanted, _operations(request))
    version = request.broker.metadata.version
    body = request.broker.metadata_responses.get(version, shape)
    if body is None:
        payload, cacheable = await _build(request, wanted)
        body = encode_response(ApiKey.METADATA, request.version, payload)[THROTTLE.size if request.version >= THROTTLE_SINCE else 0 :]
        if cacheable and request.broker.metadata.version == version:
            request.broker.metadata_responses.put(version, shape, body)
    start = response_header(ApiKey.METADATA, request.version, request.header.correlation_id)
    return lambda throttle_ms: [start + THROTTLE.pack(throttle_ms) if request.version >= THROTTLE_SINCE else start, body]


def _wanted(request: Request) -> tuple[Wanted, ...] | None:
    """(name, id) pairs, or None for all topics: null, and in version 0 an empty list."""
    topics = request.body.topics
    if topics is None or (request.version == 0 and not topics):
        return None
    return tuple((topic.name, _id(field(topic, "topic_id", None))) for topic in topics)


def _distinct(wanted: tuple[Wanted, ...] | None) -> tuple[Wanted, ...] | None:
    """Without repetitions and names beside an id, so that a request whose answer is kept is no longer than its answer."""
    if wanted is None:
        return None
    return tuple(dict.fromkeys((name if topic_id is None else None, topic_id) for name, topic_id in wanted))


def _id(topic_id: uuid.UUID | None) -> uuid.UUID | None:
    return None if topic_id is None or topic_id == NO_ID else topic_id


def _operations(request: Request) -> tuple[bool, bool]:
    return (
        bool(field(request.body, "include_cluster_authorized_operations", False)),
        bool(field(request.body, "include_topic_authorized_operations", False)),
    )


async def _build(request: Request, wanted: tuple[Wanted, ...] | None) -> tuple[dict[str, Any], bool]:
    metadata = request.broker.metadata
    cluster_operations, topic_operations = _operations(request)
    names = ((name, None) for name in metadata.topics()) if wanted is None else wanted
    rows: list[dict[str, Any]] = []
    cacheable, shown, slices = True, set[str](), Slices(request.broker.node)
    for name, topic_id in names:
        row = await _existing(request, name, topic_id, slices)
        if row is not None and row["name"] in shown:
            continue
        if row is None:
            row, cacheable = await _absent(request, name, topic_id), False
        shown.add(row["name"])
        rows.append(row | {"topic_authorized_operations": TOPIC_OPERATIONS if topic_operations else NO_AUTHORIZED_OPERATIONS})
    payload = {
        "brokers": named_rows(request),
        "cluster_id": request.broker.cluster_id,
        "controller_id": metadata.controller_id,
        "topics": rows,
        "cluster_authorized_operations": CLUSTER_OPERATIONS if cluster_operations else NO_AUTHORIZED_OPERATIONS,
    }
    return payload, cacheable


def _refused(wanted: Iterable[Wanted]) -> dict[str, Any]:
    """What a request that names a topic by null or by id gets before version 12: no broker either."""
    rows = [missing_topic(name or "", topic_id, ErrorCode.INVALID_REQUEST) for name, topic_id in wanted]
    return {"brokers": [], "cluster_id": None, "controller_id": NO_CONTROLLER, "topics": rows}


async def _existing(request: Request, name: str | None, topic_id: uuid.UUID | None, slices: Slices) -> dict[str, Any] | None:
    metadata = request.broker.metadata
    found = metadata.topic_name(topic_id) if topic_id is not None else name
    partitions = metadata.partitions(found) if found is not None else None
    if found is None or not partitions:
        return None
    return await topic_row(request, found, metadata.topic_id(found), partitions, slices)


async def _absent(request: Request, name: str | None, topic_id: uuid.UUID | None) -> dict[str, Any]:
    if topic_id is not None:
        return missing_topic(None, topic_id, ErrorCode.UNKNOWN_TOPIC_ID)
    if name is None:
        return missing_topic("", None, ErrorCode.INVALID_TOPIC_EXCEPTION)
    try:
        check_topic_name(name)
        if _may_create(request):
            await request.broker.admin.auto_create(name, request.toll.uncounted_mutations())
            return missing_topic(name, None, ErrorCode.LEADER_NOT_AVAILABLE)
        return missing_topic(name, None, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    except KafkaError as error:
        return missing_topic(name, None, failure(error)[0])


def _may_create(request: Request) -> bool:
    asked = request.version < 4 or bool(field(request.body, "allow_auto_topic_creation", True))
    return asked and request.broker.config.current.auto_create_topics_enable
