"""OffsetFetch v0–9: committed offsets of a group, of several since v8 (spec G3); version 0 from ZooKeeper (spec Z7).

v2 adds "all partitions" (null) and an error for the whole group; before it, such an error stands at every partition. v7 adds
`require_stable`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from broker_core.coordination.store import StoreError
from broker_core.errors import CorruptData, ErrorCode, KafkaError
from broker_core.groups.offset_service import FetchedOffset
from broker_core.groups.zookeeper_offsets import read_offset
from broker_core.handlers.common import by_topic, failure, partitions_of
from broker_core.handlers.registry import Action, Answer, Operation, Request, Resource, handler
from broker_core.model import TopicPartition
from broker_core.protocol.api import ApiKey
from broker_core.protocol.codec import field

GROUP_ERROR_SINCE = 2
GROUPS_SINCE = 8

Offsets = Mapping[TopicPartition, FetchedOffset]


def _needs(request: Request) -> Iterable[Action]:
    for group in request.body.groups if request.version >= GROUPS_SINCE else (request.body,):
        yield Action(Operation.DESCRIBE, Resource.GROUP, group.group_id)
        yield from (Action(Operation.DESCRIBE, Resource.TOPIC, topic.name) for topic in group.topics or ())


@handler(ApiKey.OFFSET_FETCH, versions=range(0, 10), needs=_needs)
async def handle(request: Request) -> Answer:
    if request.version >= GROUPS_SINCE:
        asked = dict.fromkeys((group.group_id, group.topics) for group in request.body.groups)
        rows = [_group_row(request, group_id, topics) for group_id, topics in asked]
        return {"groups": rows}
    if request.version == 0:
        return {"topics": _topics(await _from_zookeeper(request))}
    row = _group_row(request, request.body.group_id, request.body.topics)
    return {"error_code": row["error_code"], "topics": row["topics"]}


def _group_row(request: Request, group_id: str, topics: Iterable[Any] | None) -> dict[str, Any]:
    wanted = None if topics is None else partitions_of(topics)
    error, offsets = _from_group(request, group_id, wanted)
    if error is not ErrorCode.NONE and request.version < GROUP_ERROR_SINCE:
        offsets = dict.fromkeys(wanted or (), FetchedOffset(error))
    return {"group_id": group_id, "error_code": int(error), "topics": _topics(offsets)}


def _from_group(request: Request, group_id: str, wanted: list[TopicPartition] | None) -> tuple[ErrorCode, Offsets]:
    require_stable = field(request.body, "require_stable", False)
    try:
        return ErrorCode.NONE, request.broker.groups.fetch_offsets(group_id, wanted, require_stable=require_stable)
    except KafkaError as error:
        return failure(error)[0], {}


async def _from_zookeeper(request: Request) -> Offsets:
    return {tp: await _read(request, tp) for tp in partitions_of(request.body.topics)}


async def _read(request: Request, tp: TopicPartition) -> FetchedOffset:
    """A partition without an offset is unknown to this version."""
    unknown = FetchedOffset(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    if request.broker.metadata.partition(tp) is None:
        return unknown
    try:
        offset = await read_offset(request.broker.node.store, request.body.group_id, tp)
    except KafkaError as error:
        return FetchedOffset(failure(error)[0])
    except (StoreError, CorruptData):
        return FetchedOffset(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    return unknown if offset is None else FetchedOffset(ErrorCode.NONE, offset)


def _topics(offsets: Offsets) -> list[dict[str, Any]]:
    return [
        {"name": topic, "partitions": [_partition(index, fetched) for index, fetched in partitions.items()]}
        for topic, partitions in by_topic(offsets).items()
    ]


def _partition(index: int, fetched: FetchedOffset) -> dict[str, Any]:
    return {
        "partition_index": index,
        "committed_offset": fetched.offset,
        "committed_leader_epoch": fetched.leader_epoch,
        "metadata": fetched.metadata,
        "error_code": int(fetched.error),
    }
