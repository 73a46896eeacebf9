"""What several handlers share: how failures are reported, and how partitions are grouped by topic."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Awaitable, Iterable, Mapping
from typing import Any, TypeVar

from broker_core.errors import ConfigError, ErrorCode, KafkaError
from broker_core.handlers.access import Operation
from broker_core.handlers.registry import Request
from broker_core.model import TopicPartition
from broker_core.protocol.hot_common import NodeEndpoint

log = logging.getLogger(__name__)
T = TypeVar("T")

NO_AUTHORIZED_OPERATIONS = -(2**31)
GROUP_OPERATIONS = sum(1 << each for each in (Operation.READ, Operation.DELETE, Operation.DESCRIBE))
CLUSTER_OPERATIONS = sum(1 << each for each in Operation if each not in (Operation.READ, Operation.WRITE, Operation.DELETE))
TOPIC_OPERATIONS = sum(1 << each for each in Operation if each not in (Operation.CLUSTER_ACTION, Operation.IDEMPOTENT_WRITE))


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


async def changed(resource: Any, change: Awaitable[None]) -> dict[str, Any]:
    """The row of a resource whose settings `change` sets."""
    code: ErrorCode = ErrorCode.NONE
    message: str | None = None
    try:
        await change
    except Exception as error:
        code, message = failure(error)
    names = {"resource_type": resource.resource_type, "resource_name": resource.resource_name}
    return names | {"error_code": int(code), "error_message": message}


def named_once(resource: Any, named: Counter[tuple[int, str]]) -> None:
    """INVALID_REQUEST for a resource that a request names more than once: nobody could say which of its changes is meant."""
    if named[(resource.resource_type, resource.resource_name)] > 1:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "Each resource must appear at most once.")


def topic_rows(results: Mapping[TopicPartition, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Rows of topics, by `name`, with their `partitions` in them."""
    return [{"name": topic, "partitions": list(rows.values())} for topic, rows in by_topic(results).items()]


def code_rows(codes: Mapping[TopicPartition, ErrorCode]) -> list[dict[str, Any]]:
    """The same of partitions that have nothing but a code."""
    return topic_rows({tp: {"partition_index": tp.partition, "error_code": int(code)} for tp, code in codes.items()})


def partitions_of(topics: Iterable[Any], *, name: str = "name", indexes: str = "partition_indexes") -> list[TopicPartition]:
    """The partitions of a request that lists plain indexes under topics."""
    return [TopicPartition(getattr(topic, name), index) for topic in topics for index in getattr(topic, indexes)]


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
