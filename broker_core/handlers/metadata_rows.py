"""The rows of a Metadata answer: brokers by listener, topics and partitions with the errors old clients expect."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from broker_core.errors import ErrorCode
from broker_core.handlers.registry import Request
from broker_core.metadata.cache import endpoint_of
from broker_core.model import INTERNAL_TOPICS, NO_LEADER, BrokerInfo
from broker_core.protocol.api import ApiKey
from broker_core.protocol.schema import Side
from broker_core.protocol.writer import EncodedItems, items_writer
from broker_core.storage.slices import Slices

if TYPE_CHECKING:
    from broker_core.metadata.cache import PartitionState

LISTENER_ERRORS_SINCE = 6
ROWS_PER_STEP = 64


def broker_rows(request: Request) -> list[dict[str, Any]]:
    """The live brokers that can be reached by the listener of this connection, by id."""
    return _rows_of(request, request.broker.metadata.live_brokers())


def named_rows(request: Request) -> list[dict[str, Any]]:
    """With those that have just gone: librdkafka forgets who leads instead where it is told that in the answer that names the old one no
    more, and asks a second later."""
    return _rows_of(request, request.broker.metadata.named_brokers())


def _rows_of(request: Request, brokers: Iterable[BrokerInfo]) -> list[dict[str, Any]]:
    rows = []
    for broker in brokers:
        endpoint = endpoint_of(broker, request.connection.listener)
        if endpoint is not None:
            rows.append({"node_id": broker.broker_id, "host": endpoint.host, "port": endpoint.port, "rack": broker.rack})
    return rows


def missing_topic(name: str | None, topic_id: uuid.UUID | None, error_code: ErrorCode) -> dict[str, Any]:
    """The row of a topic that is not there."""
    return {"error_code": int(error_code), "name": name, "topic_id": topic_id, "is_internal": name in INTERNAL_TOPICS, "partitions": []}


async def topic_row(
    request: Request, name: str, topic_id: uuid.UUID | None, partitions: Mapping[int, PartitionState], slices: Slices
) -> dict[str, Any]:
    """The row of a topic with all its partitions, by index; others have their turn while there are many."""
    reachable = frozenset(row["node_id"] for row in broker_rows(request))
    return {
        "error_code": int(ErrorCode.NONE),
        "name": name,
        "topic_id": topic_id,
        "is_internal": name in INTERNAL_TOPICS,
        "partitions": await _encoded(request, partitions, reachable, slices),
    }


async def _encoded(request: Request, partitions: Mapping[int, PartitionState], reachable: frozenset[int], slices: Slices) -> EncodedItems:
    """Partitions that go meanwhile are left out."""
    write = items_writer(ApiKey.METADATA, request.version, Side.RESPONSE, "topics", "partitions")
    indexes, count, out = sorted(partitions), 0, bytearray()
    for start in range(0, len(indexes), ROWS_PER_STEP):
        step = [index for index in indexes[start : start + ROWS_PER_STEP] if index in partitions]
        write(out, [_partition_row(request, index, partitions[index], reachable) for index in step])
        count += len(step)
        await slices.breathe(heavy=True)
    return EncodedItems(count, out)


def _partition_row(request: Request, index: int, state: PartitionState, reachable: frozenset[int]) -> dict[str, Any]:
    replicas, isr = list(state.replicas), list(state.isr)
    error, leader = _leader_error(request, state, reachable)
    if request.version == 0:
        replicas = [broker for broker in replicas if broker in reachable]
        isr = [broker for broker in isr if broker in reachable]
        if error is ErrorCode.NONE and (len(replicas) < len(state.replicas) or len(isr) < len(state.isr)):
            error = ErrorCode.REPLICA_NOT_AVAILABLE
    return {
        "error_code": int(error),
        "partition_index": index,
        "leader_id": leader,
        "leader_epoch": state.leader_epoch,
        "replica_nodes": replicas,
        "isr_nodes": isr,
        "offline_replicas": [broker for broker in state.replicas if broker not in reachable or broker in state.offline_replicas],
    }


def _leader_error(request: Request, state: PartitionState, reachable: frozenset[int]) -> tuple[ErrorCode, int]:
    """None is named while the leader's port refuses this broker and who leads instead is not decided: who is told a name tries that."""
    if request.broker.metadata.is_doubted(state.leader):
        return ErrorCode.LEADER_NOT_AVAILABLE, NO_LEADER
    if state.leader in reachable:
        return ErrorCode.NONE, state.leader
    alive = any(broker.broker_id == state.leader for broker in request.broker.metadata.live_brokers())
    if alive and request.version >= LISTENER_ERRORS_SINCE:
        return ErrorCode.LISTENER_NOT_FOUND, NO_LEADER
    return ErrorCode.LEADER_NOT_AVAILABLE, NO_LEADER
