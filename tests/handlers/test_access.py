"""What each key needs leave for, as Apache Kafka's `KafkaApis` asks for it, and how a request is refused as a whole."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast
from uuid import UUID

import pytest

from broker_core.errors import CloseConnection, ErrorCode, KafkaError
from broker_core.handlers.access import AllowAll, Operation, Resource
from broker_core.handlers.refusal import refused
from broker_core.handlers.registry import ConnectionInfo, Request, Scope, full_registry
from broker_core.protocol.api import ApiKey
from broker_core.protocol.codec import decode_request, decode_response, encode_request, encode_response
from broker_core.protocol.headers import RequestHeader
from broker_core.seams import Peer
from tests.handlers.test_versions import TOPIC, payloads

REGISTRY = full_registry()
KEYS = [ApiKey(row.key) for row in REGISTRY.advertised()]
VERSIONS = [(ApiKey(row.key), version) for row in REGISTRY.advertised() for version in range(row.min_version, row.max_version + 1)]
TOPIC_ID = UUID(int=7)
ON_CLUSTER = {
    Operation.CLUSTER_ACTION: {
        *(ApiKey.LEADER_AND_ISR, ApiKey.STOP_REPLICA, ApiKey.UPDATE_METADATA, ApiKey.CONTROLLED_SHUTDOWN),
        *(ApiKey.WRITE_TXN_MARKERS, ApiKey.ALTER_PARTITION, ApiKey.ALLOCATE_PRODUCER_IDS, ApiKey.ENVELOPE),
    },
    Operation.ALTER: {
        *(ApiKey.CREATE_ACLS, ApiKey.DELETE_ACLS, ApiKey.ALTER_REPLICA_LOG_DIRS),
        *(ApiKey.ELECT_LEADERS, ApiKey.ALTER_PARTITION_REASSIGNMENTS, ApiKey.UPDATE_FEATURES, ApiKey.ALTER_USER_SCRAM_CREDENTIALS),
    },
    Operation.DESCRIBE: {
        *(ApiKey.DESCRIBE_ACLS, ApiKey.DESCRIBE_LOG_DIRS, ApiKey.LIST_GROUPS),
        *(ApiKey.LIST_PARTITION_REASSIGNMENTS, ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS),
    },
    Operation.DESCRIBE_CONFIGS: {ApiKey.DESCRIBE_CLIENT_QUOTAS},
    Operation.ALTER_CONFIGS: {ApiKey.ALTER_CLIENT_QUOTAS},
    Operation.IDEMPOTENT_WRITE: {ApiKey.INIT_PRODUCER_ID},
}
ON_TOPIC = {
    Operation.READ: {ApiKey.FETCH, ApiKey.DESCRIBE_PRODUCERS, ApiKey.OFFSET_COMMIT, ApiKey.OFFSET_DELETE, ApiKey.TXN_OFFSET_COMMIT},
    Operation.WRITE: {ApiKey.PRODUCE, ApiKey.ADD_PARTITIONS_TO_TXN},
    Operation.CREATE: {ApiKey.CREATE_TOPICS},
    Operation.ALTER: {ApiKey.CREATE_PARTITIONS},
    Operation.DELETE: {ApiKey.DELETE_TOPICS, ApiKey.DELETE_RECORDS},
    Operation.DESCRIBE: {ApiKey.METADATA, ApiKey.LIST_OFFSETS, ApiKey.OFFSET_FETCH, ApiKey.OFFSET_FOR_LEADER_EPOCH},
    Operation.DESCRIBE_CONFIGS: {ApiKey.DESCRIBE_CONFIGS},
    Operation.ALTER_CONFIGS: {ApiKey.ALTER_CONFIGS, ApiKey.INCREMENTAL_ALTER_CONFIGS},
}
ON_GROUP = {
    Operation.READ: {
        *(ApiKey.JOIN_GROUP, ApiKey.SYNC_GROUP, ApiKey.HEARTBEAT, ApiKey.LEAVE_GROUP, ApiKey.OFFSET_COMMIT),
        *(ApiKey.ADD_OFFSETS_TO_TXN, ApiKey.TXN_OFFSET_COMMIT),
    },
    Operation.DESCRIBE: {ApiKey.DESCRIBE_GROUPS, ApiKey.FIND_COORDINATOR, ApiKey.OFFSET_FETCH},
    Operation.DELETE: {ApiKey.DELETE_GROUPS, ApiKey.OFFSET_DELETE},
}
ON_TRANSACTION = {
    Operation.WRITE: {ApiKey.ADD_PARTITIONS_TO_TXN, ApiKey.ADD_OFFSETS_TO_TXN, ApiKey.END_TXN, ApiKey.TXN_OFFSET_COMMIT},
    Operation.DESCRIBE: {ApiKey.DESCRIBE_TRANSACTIONS},
}
CONTROLLERS = {
    *(ApiKey.CREATE_TOPICS, ApiKey.DELETE_TOPICS, ApiKey.CREATE_PARTITIONS, ApiKey.ELECT_LEADERS, ApiKey.CONTROLLED_SHUTDOWN),
    *(ApiKey.ALTER_PARTITION_REASSIGNMENTS, ApiKey.LIST_PARTITION_REASSIGNMENTS),
    *(ApiKey.ALTER_PARTITION, ApiKey.ALLOCATE_PRODUCER_IDS),
    *(ApiKey.UPDATE_FEATURES, ApiKey.ALTER_USER_SCRAM_CREDENTIALS),
}


def fields(key: ApiKey, version: int) -> dict[str, Any]:
    """A request that names the topic, the group or both."""
    topics = [{"name": TOPIC, "partition_indexes": [0], "partitions": [{"partition_index": 0}]}]
    of_groups: dict[ApiKey, dict[str, Any]] = {
        ApiKey.DESCRIBE_GROUPS: {"groups": ["g"]},
        ApiKey.DELETE_GROUPS: {"groups_names": ["g"]},
        ApiKey.FIND_COORDINATOR: {"key": "g", "key_type": 0, "coordinator_keys": ["g"]},
        ApiKey.OFFSET_FETCH: {"group_id": "g", "topics": topics, "groups": [{"group_id": "g", "topics": topics}]},
        ApiKey.OFFSET_COMMIT: {"group_id": "g", "topics": topics},
        ApiKey.OFFSET_DELETE: {"group_id": "g", "topics": topics},
        ApiKey.DELETE_TOPICS: {"topics": [{"name": TOPIC, "topic_id": None}], "topic_names": [TOPIC]},
        ApiKey.CREATE_TOPICS: {"topics": [{"name": TOPIC, "assignments": [], "configs": []}]},
        ApiKey.INIT_PRODUCER_ID: {"transactional_id": None},
    }
    return of_groups.get(key) or payloads(TOPIC_ID, version).get(key) or {"group_id": "g"}


def request(key: ApiKey, version: int, **more: Any) -> Request:
    metadata = SimpleNamespace(topic_name={TOPIC_ID: TOPIC}.get, partitions=lambda name: {0: None})
    config = SimpleNamespace(current=SimpleNamespace(auto_create_topics_enable=True))
    body = decode_request(key, version, encode_request(key, version, fields(key, version) | more), 0)
    connection = ConnectionInfo(1, Peer("127.0.0.1", 50_000), "PLAINTEXT")
    return Request(
        RequestHeader(key, version, 7, "client", 0), body, version, cast(Any, SimpleNamespace(metadata=metadata, config=config)), connection
    )


def wanted(key: ApiKey, version: int) -> set[tuple[Operation, Resource, str]]:
    if key is ApiKey.ADD_PARTITIONS_TO_TXN and version >= 4:
        return {(Operation.CLUSTER_ACTION, Resource.CLUSTER, "kafka-cluster")}  # brokers alone ask so
    tables = (
        (ON_CLUSTER, Resource.CLUSTER, "kafka-cluster"),
        (ON_TOPIC, Resource.TOPIC, TOPIC),
        (ON_GROUP, Resource.GROUP, "g"),
        (ON_TRANSACTION, Resource.TRANSACTIONAL_ID, "t"),
    )
    return {(operation, resource, name) for table, resource, name in tables for operation, keys in table.items() if key in keys}


@pytest.mark.parametrize(("key", "version"), VERSIONS, ids=lambda value: value.name if isinstance(value, ApiKey) else str(value))
def test_what_a_request_needs_leave_for(key: ApiKey, version: int) -> None:
    handler = REGISTRY.find(key, version)
    assert handler is not None
    asked = request(key, version)
    assert {action[:3] for action in handler.needs(asked)} == wanted(key, version)
    assert AllowAll().denied(asked, handler.needs) is None


def needs(key: ApiKey, version: int, **more: Any) -> list[tuple[Any, ...]]:
    handler = REGISTRY.find(key, version)
    assert handler is not None
    return [tuple(action) for action in handler.needs(request(key, version, **more))]


def test_needs_that_depend_on_what_is_asked() -> None:
    cluster_action = (Operation.CLUSTER_ACTION, Resource.CLUSTER, "kafka-cluster", None)
    assert needs(ApiKey.FETCH, 12, replica_id=2) == [cluster_action], "a follower reads what it hosts"
    assert needs(ApiKey.FETCH, 15, replica_state={"replica_id": 2, "replica_epoch": 1}) == [cluster_action]
    transactional = (Operation.WRITE, Resource.TRANSACTIONAL_ID, "t", None)
    assert needs(ApiKey.INIT_PRODUCER_ID, 4, transactional_id="t") == [transactional]
    assert needs(ApiKey.PRODUCE, 9, transactional_id="t") == [transactional, (Operation.WRITE, Resource.TOPIC, TOPIC, None)]
    assert needs(ApiKey.FIND_COORDINATOR, 4, key_type=1) == [(Operation.DESCRIBE, Resource.TRANSACTIONAL_ID, "g", None)]
    settings = [{"resource_type": 4, "resource_name": "1", "configs": [], "configuration_keys": None}]
    assert needs(ApiKey.ALTER_CONFIGS, 2, resources=settings) == [(Operation.ALTER_CONFIGS, Resource.CLUSTER, "kafka-cluster", None)]
    assert needs(ApiKey.METADATA, 9, topics=None) == []
    assert needs(ApiKey.CREATE_TOPICS, 7) == [(Operation.CREATE, Resource.TOPIC, TOPIC, Operation.CREATE)]


def test_a_topic_that_metadata_would_create_needs_leave_for_that() -> None:
    asked = request(ApiKey.METADATA, 9, topics=[{"name": "new"}], allow_auto_topic_creation=True)
    asked.broker.metadata.partitions = lambda name: {}  # type: ignore[method-assign, assignment, return-value]
    handler = REGISTRY.find(ApiKey.METADATA, 9)
    assert handler is not None
    assert [(action.operation, action.on_cluster) for action in handler.needs(asked)] == [
        (Operation.DESCRIBE, None),
        (Operation.CREATE, Operation.CREATE),
    ]


def test_what_only_the_controller_serves() -> None:
    found = {key for key in KEYS for handler in (REGISTRY.find(key, 0),) if handler is not None and handler.scope is Scope.CLUSTER}
    assert found == CONTROLLERS


@pytest.mark.parametrize(("key", "version"), VERSIONS, ids=lambda value: value.name if isinstance(value, ApiKey) else str(value))
def test_a_whole_request_is_refused_in_words_its_client_knows(key: ApiKey, version: int) -> None:
    """The code is at the top or in a row for each thing asked for, and the rows have their names."""
    answer = refused(request(key, version), KafkaError(ErrorCode.NOT_CONTROLLER, "not here"))
    decoded = decode_response(key, version, encode_response(key, version, {**answer, "throttle_time": 0}), 0)
    top = getattr(decoded, "error_code", None)
    rows = [row for name in decoded._fields if isinstance(getattr(decoded, name), tuple) for row in getattr(decoded, name)]
    names_nothing = key is ApiKey.DESCRIBE_LOG_DIRS and version < 3  # it asks for all there is, and Kafka too tells no code then
    assert top == ErrorCode.NOT_CONTROLLER or names_nothing or (rows and all(named_and_refused(row) for row in rows)), decoded


def named_and_refused(row: Any) -> bool:
    """The code here, or in all rows further inside; what is named is what the request names."""
    named = {TOPIC, TOPIC_ID, "g", "t"} & {value for value in row if isinstance(value, (str, UUID))}
    inside = [one for value in row if isinstance(value, tuple) for one in value]
    code = getattr(row, "error_code", getattr(row, "partition_error_code", None))
    has_name = any(name in row._fields for name in ("name", "topic", "group_id", "key"))
    if code is None:
        return (bool(named) or not has_name) and bool(inside) and all(named_and_refused(one) for one in inside)
    return code == ErrorCode.NOT_CONTROLLER and (bool(named) or not has_name)


def test_a_produce_without_an_answer_is_refused_by_the_end_of_its_connection() -> None:
    with pytest.raises(CloseConnection, match="not here"):
        refused(request(ApiKey.PRODUCE, 9, acks=0), KafkaError(ErrorCode.NOT_CONTROLLER, "not here"))
