"""The controller's requests as orders per partition, whatever their version, and the answers to them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any
from uuid import UUID

from msgspec import Struct

from broker_core.errors import ErrorCode
from broker_core.model import NO_EPOCH, TopicPartition
from broker_core.protocol.codec import field


class LeaderOrder(Struct, frozen=True):
    """One partition of a LeaderAndIsr request. `zk_version` is that of the state znode."""

    tp: TopicPartition
    topic_id: UUID | None
    controller_epoch: int
    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    zk_version: int
    replicas: tuple[int, ...]
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()
    is_new: bool = False
    """Whether the replica may be made: one that is not new has a log."""


class StopOrder(Struct, frozen=True):
    """One partition of a StopReplica request; `leader_epoch` is -1 where the version has none, -2 on deletion."""

    tp: TopicPartition
    leader_epoch: int
    delete: bool


def leader_orders(request: Any) -> list[LeaderOrder]:
    """The orders of a LeaderAndIsr request of any version."""
    ungrouped = field(request, "ungrouped_partition_states", None) or ()
    orders = [_leader_order(state.topic_name, None, state) for state in ungrouped]
    for topic in field(request, "topic_states", None) or ():
        topic_id = field(topic, "topic_id", None) or None
        orders.extend(_leader_order(topic.topic_name, topic_id, state) for state in topic.partition_states)
    return orders


def _leader_order(topic: str, topic_id: UUID | None, state: Any) -> LeaderOrder:
    return LeaderOrder(
        TopicPartition(topic, state.partition_index),
        topic_id,
        state.controller_epoch,
        state.leader,
        state.leader_epoch,
        tuple(state.isr),
        state.partition_epoch,
        tuple(state.replicas),
        tuple(field(state, "adding_replicas", None) or ()),
        tuple(field(state, "removing_replicas", None) or ()),
        bool(field(state, "is_new", False)),
    )


def stop_orders(request: Any) -> list[StopOrder]:
    """The orders of a StopReplica request of any version."""
    return list(_stop_orders(request))


def _stop_orders(request: Any) -> Iterator[StopOrder]:
    delete = bool(field(request, "delete_partitions", False))
    for partition in field(request, "ungrouped_partitions", None) or ():
        yield StopOrder(TopicPartition(partition.topic_name, partition.partition_index), NO_EPOCH, delete)
    for topic in field(request, "topics", None) or ():
        for index in topic.partition_indexes:
            yield StopOrder(TopicPartition(topic.name, index), NO_EPOCH, delete)
    for topic in field(request, "topic_states", None) or ():
        for state in topic.partition_states:
            tp = TopicPartition(topic.topic_name, state.partition_index)
            yield StopOrder(tp, state.leader_epoch, bool(state.delete_partition))


def leader_and_isr_payload(error_code: ErrorCode, verdicts: Sequence[tuple[LeaderOrder, ErrorCode]] = ()) -> dict[str, Any]:
    """The answer for all versions: one flat list up to v4, grouped by topic id from v5 on."""
    by_topic: dict[str, dict[str, Any]] = {}
    for order, verdict in verdicts:
        topic = by_topic.setdefault(order.tp.topic, {"topic_id": order.topic_id, "partition_errors": []})
        topic["partition_errors"].append({"partition_index": order.tp.partition, "error_code": int(verdict)})
    flat = partition_errors((order.tp, verdict) for order, verdict in verdicts)
    return {"error_code": int(error_code), "partition_errors": flat, "topics": list(by_topic.values())}


def stop_replica_payload(error_code: ErrorCode, verdicts: Iterable[tuple[TopicPartition, ErrorCode]] = ()) -> dict[str, Any]:
    return {"error_code": int(error_code), "partition_errors": partition_errors(verdicts)}


def partition_errors(verdicts: Iterable[tuple[TopicPartition, ErrorCode]]) -> list[dict[str, Any]]:
    return [{"topic_name": tp.topic, "partition_index": tp.partition, "error_code": int(verdict)} for tp, verdict in verdicts]
