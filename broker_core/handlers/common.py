"""What several handlers share: how failures are reported, and how partitions are grouped by topic."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from broker_core.errors import ConfigError, ErrorCode, KafkaError
from broker_core.handlers.registry import Request
from broker_core.model import TopicPartition
from broker_core.protocol.hot import NodeEndpoint

log = logging.getLogger(__name__)
T = TypeVar("T")

NO_AUTHORIZED_OPERATIONS = -(2**31)
TOPIC_OPERATIONS = sum(1 << code for code in (3, 4, 5, 6, 7, 8, 10, 11))
GROUP_OPERATIONS = sum(1 << code for code in (3, 6, 8))
CLUSTER_OPERATIONS = sum(1 << code for code in (5, 7, 8, 9, 10, 11, 12))


def failure(error: Exception) -> tuple[ErrorCode, str]:
    """Kafka's code and a text for the client; what is nobody's fault but ours is logged with its trace."""
    if isinstance(error, KafkaError):
        return error.code, error.message
    if isinstance(error, ConfigError):
        return ErrorCode.INVALID_CONFIG, str(error)
    log.error("request failed unexpectedly", exc_info=error)
    return ErrorCode.UNKNOWN_SERVER_ERROR, f"unexpected {type(error).__name__}"


def by_topic(results: Mapping[TopicPartition, T]) -> dict[str, dict[int, T]]:
    """Partition results under their topics, in the order they came."""
    grouped: dict[str, dict[int, T]] = {}
    for (topic, partition), result in results.items():
        grouped.setdefault(topic, {})[partition] = result
    return grouped


def partitions_of(topics: Iterable[Any], *, name: str = "name", indexes: str = "partition_indexes") -> list[TopicPartition]:
    """The partitions of a request that lists plain indexes under topics."""
    return [TopicPartition(getattr(topic, name), index) for topic in topics for index in getattr(topic, indexes)]


def require_controller(request: Request) -> None:
    """Raises NOT_CONTROLLER unless this broker is the active controller."""
    if not request.broker.controller.is_active:
        raise KafkaError(ErrorCode.NOT_CONTROLLER, f"broker {request.broker.broker_id} is not the controller")


def known_partition(request: Request, partition: TopicPartition) -> None:
    """Raises UNKNOWN_TOPIC_OR_PARTITION unless the cluster's metadata has it."""
    if request.broker.metadata.partition(partition) is None:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"partition {partition} does not exist")


def leader_endpoints(request: Request, leaders: Iterable[tuple[int, int]]) -> list[NodeEndpoint]:
    """Where the leaders named by (broker id, epoch) are reached by this connection's listener (KIP-951)."""
    endpoints = []
    for broker_id in sorted({leader for leader, _ in leaders}):
        endpoint = request.broker.metadata.endpoint(broker_id, request.connection.listener)
        broker = request.broker.metadata.broker(broker_id)
        if endpoint is not None and broker is not None:
            endpoints.append(NodeEndpoint(broker_id, endpoint.host, endpoint.port, broker.rack))
    return endpoints
