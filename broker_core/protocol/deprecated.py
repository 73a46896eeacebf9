"""Versions of requests that Kafka 4.0 takes no more (KIP-896), as Apache Kafka 3.9 marks them."""

from __future__ import annotations

from broker_core.protocol.api import ApiKey

FIRST_KEPT: dict[int, int] = {
    ApiKey.PRODUCE: 7,
    ApiKey.FETCH: 4,
    ApiKey.LIST_OFFSETS: 1,
    ApiKey.METADATA: 4,
    ApiKey.OFFSET_COMMIT: 2,
    ApiKey.OFFSET_FETCH: 1,
    ApiKey.FIND_COORDINATOR: 1,
    ApiKey.JOIN_GROUP: 2,
    ApiKey.CREATE_TOPICS: 2,
    ApiKey.DELETE_TOPICS: 1,
    ApiKey.OFFSET_FOR_LEADER_EPOCH: 2,
    ApiKey.DESCRIBE_CONFIGS: 1,
    ApiKey.ALTER_REPLICA_LOG_DIRS: 1,
    ApiKey.DESCRIBE_LOG_DIRS: 1,
    ApiKey.DELETE_GROUPS: 1,
}
"""By key; those of security's keys are missing, which are not served."""
