"""What is advertised, and that every version of every key is answered with bytes a client of that version can read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from broker_core.errors import ErrorCode
from broker_core.handlers import heartbeat
from broker_core.handlers.access import nothing
from broker_core.handlers.registry import Registry, full_registry, handler
from broker_core.protocol.api import MAX_VERSION_3_9, ApiKey
from broker_core.records.batch import Record, build_batch
from broker_core.telemetry.feed_wire import STATE_FEED_KEY
from broker_core.telemetry.log_looks import LOG_LOOK_KEY
from tests.support.broker_cluster import BrokerCluster

ADVERTISED = {
    ApiKey.PRODUCE: (0, 11),
    ApiKey.FETCH: (0, 17),
    ApiKey.LIST_OFFSETS: (0, 9),
    ApiKey.METADATA: (0, 12),
    ApiKey.LEADER_AND_ISR: (0, 7),
    ApiKey.STOP_REPLICA: (0, 4),
    ApiKey.UPDATE_METADATA: (0, 8),
    ApiKey.CONTROLLED_SHUTDOWN: (0, 3),
    ApiKey.OFFSET_COMMIT: (0, 9),
    ApiKey.OFFSET_FETCH: (0, 9),
    ApiKey.FIND_COORDINATOR: (0, 6),
    ApiKey.JOIN_GROUP: (0, 9),
    ApiKey.HEARTBEAT: (0, 4),
    ApiKey.LEAVE_GROUP: (0, 5),
    ApiKey.SYNC_GROUP: (0, 5),
    ApiKey.DESCRIBE_GROUPS: (0, 5),
    ApiKey.LIST_GROUPS: (0, 5),
    ApiKey.API_VERSIONS: (0, 4),
    ApiKey.CREATE_TOPICS: (0, 7),
    ApiKey.DELETE_TOPICS: (0, 6),
    ApiKey.DELETE_RECORDS: (0, 2),
    ApiKey.INIT_PRODUCER_ID: (0, 5),
    ApiKey.OFFSET_FOR_LEADER_EPOCH: (0, 4),
    ApiKey.DESCRIBE_CONFIGS: (0, 4),
    ApiKey.ALTER_CONFIGS: (0, 2),
    ApiKey.DESCRIBE_LOG_DIRS: (0, 4),
    ApiKey.CREATE_PARTITIONS: (0, 3),
    ApiKey.DELETE_GROUPS: (0, 2),
    ApiKey.ELECT_LEADERS: (0, 2),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: (0, 1),
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: (0, 0),
    ApiKey.LIST_PARTITION_REASSIGNMENTS: (0, 0),
    ApiKey.OFFSET_DELETE: (0, 0),
    ApiKey.ALTER_PARTITION: (0, 3),
    ApiKey.ALLOCATE_PRODUCER_IDS: (0, 0),
    ApiKey.DESCRIBE_CLUSTER: (0, 1),
    ApiKey.DESCRIBE_PRODUCERS: (0, 0),
    ApiKey.DESCRIBE_ACLS: (0, 3),
    ApiKey.CREATE_ACLS: (0, 3),
    ApiKey.DELETE_ACLS: (0, 3),
    ApiKey.ALTER_REPLICA_LOG_DIRS: (0, 2),
    ApiKey.CREATE_DELEGATION_TOKEN: (0, 3),
    ApiKey.RENEW_DELEGATION_TOKEN: (0, 2),
    ApiKey.EXPIRE_DELEGATION_TOKEN: (0, 2),
    ApiKey.DESCRIBE_DELEGATION_TOKEN: (0, 3),
    ApiKey.DESCRIBE_CLIENT_QUOTAS: (0, 1),
    ApiKey.ALTER_CLIENT_QUOTAS: (0, 1),
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: (0, 0),
    ApiKey.ADD_PARTITIONS_TO_TXN: (0, 5),
    ApiKey.ADD_OFFSETS_TO_TXN: (0, 4),
    ApiKey.END_TXN: (0, 4),
    ApiKey.WRITE_TXN_MARKERS: (0, 1),
    ApiKey.TXN_OFFSET_COMMIT: (0, 4),
    ApiKey.DESCRIBE_TRANSACTIONS: (0, 0),
    ApiKey.LIST_TRANSACTIONS: (0, 1),
    ApiKey.SASL_HANDSHAKE: (0, 1),
    ApiKey.SASL_AUTHENTICATE: (0, 2),
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: (0, 0),
    ApiKey.UPDATE_FEATURES: (0, 1),
    ApiKey.ENVELOPE: (0, 0),
    ApiKey.CONSUMER_GROUP_HEARTBEAT: (0, 0),
    ApiKey.CONSUMER_GROUP_DESCRIBE: (0, 0),
}

TOPIC = "walked"


def payloads(topic_id: UUID | None, version: int) -> dict[ApiKey, dict[str, Any]]:
    """A harmless request of each client key, with the field names of all versions."""
    tp = {"partition_index": 0, "partition": 0, "index": 0}
    batch = build_batch([Record(0, 1_000, None, b"x", ())])
    fetch_row = tp | {"fetch_offset": 0, "partition_max_bytes": 1000}
    resources = [{"resource_type": 2, "resource_name": TOPIC, "configuration_keys": None, "configs": []}]
    created = {"name": f"new-{version}", "num_partitions": 1, "replication_factor": 1, "assignments": [], "configs": []}
    acl = {"resource_type": 2, "resource_name": TOPIC, "principal": "User:a", "host": "*", "operation": 3, "permission_type": 3}
    acl_filter = {"resource_type_filter": 2, "operation": 1, "permission_type": 1}
    producer = {"transactional_id": "t", "producer_id": 7, "producer_epoch": 0, "group_id": "g"}
    written = [{"name": TOPIC, "partitions": [0]}]
    committed = {"committed_offset": 0, "committed_leader_epoch": -1, "committed_metadata": ""}
    return {
        ApiKey.PRODUCE: {
            "acks": 1,
            "timeout": 1000,
            "topic_data": [{"name": TOPIC, "partition_data": [tp | {"records": batch}]}],
        },
        ApiKey.FETCH: {
            "replica_id": -1,
            "max_wait": 0,
            "min_bytes": 0,
            "topics": [{"topic": TOPIC, "topic_id": topic_id, "partitions": [fetch_row]}],
            "forgotten_topics_data": [],
        },
        ApiKey.LIST_OFFSETS: {
            "replica_id": -1,
            "isolation_level": 0,
            "topics": [{"name": TOPIC, "partitions": [tp | {"timestamp": -1}]}],
        },
        ApiKey.METADATA: {"topics": [{"name": TOPIC, "topic_id": None}]},
        ApiKey.API_VERSIONS: {"client_software_name": "test", "client_software_version": "1.0"},
        ApiKey.CREATE_TOPICS: {"topics": [created], "timeout": 10_000, "validate_only": True},
        ApiKey.DELETE_TOPICS: {"topics": [{"name": "nothing", "topic_id": None}], "topic_names": ["nothing"], "timeout": 10},
        ApiKey.DELETE_RECORDS: {"topics": [{"name": TOPIC, "partitions": [tp | {"offset": 0}]}], "timeout": 1000},
        ApiKey.OFFSET_FOR_LEADER_EPOCH: {"replica_id": -1, "topics": [{"topic": TOPIC, "partitions": [tp | {"leader_epoch": 0}]}]},
        ApiKey.DESCRIBE_CONFIGS: {"resources": resources, "include_synonyms": True, "include_documentation": True},
        ApiKey.ALTER_CONFIGS: {"resources": resources, "validate_only": True},
        ApiKey.INCREMENTAL_ALTER_CONFIGS: {"resources": resources, "validate_only": True},
        ApiKey.DESCRIBE_LOG_DIRS: {"topics": None},
        ApiKey.CREATE_PARTITIONS: {"topics": [{"name": TOPIC, "count": 5, "assignments": None}], "timeout": 10, "validate_only": True},
        ApiKey.ELECT_LEADERS: {"election_type": 0, "topic_partitions": [{"topic": TOPIC, "partitions": [0]}], "timeout": 1000},
        ApiKey.ALTER_PARTITION_REASSIGNMENTS: {
            "topics": [{"name": TOPIC, "partitions": [tp | {"replicas": None}]}],
            "timeout": 1000,
        },
        ApiKey.LIST_PARTITION_REASSIGNMENTS: {"topics": None, "timeout": 1000},
        ApiKey.DESCRIBE_CLUSTER: {"include_cluster_authorized_operations": True},
        ApiKey.DESCRIBE_PRODUCERS: {"topics": [{"name": TOPIC, "partition_indexes": [0]}]},
        ApiKey.CONTROLLED_SHUTDOWN: {"broker_id": 9, "broker_epoch": 1},
        ApiKey.ALTER_PARTITION: {
            "broker_id": 9,
            "broker_epoch": 1,
            "topics": [{"topic_name": TOPIC, "topic_id": topic_id, "partitions": []}],
        },
        ApiKey.ALLOCATE_PRODUCER_IDS: {"broker_id": 9, "broker_epoch": 1},
        ApiKey.DESCRIBE_ACLS: acl_filter,
        ApiKey.CREATE_ACLS: {"creations": [acl]},
        ApiKey.DELETE_ACLS: {"filters": [acl_filter]},
        ApiKey.ALTER_REPLICA_LOG_DIRS: {"dirs": [{"path": "/data", "topics": [{"name": TOPIC, "partitions": [0]}]}]},
        ApiKey.CREATE_DELEGATION_TOKEN: {"renewers": [], "max_lifetime": -1},
        ApiKey.RENEW_DELEGATION_TOKEN: {"hmac": b"", "renew_period": 1},
        ApiKey.EXPIRE_DELEGATION_TOKEN: {"hmac": b"", "expiry_time_period": 1},
        ApiKey.DESCRIBE_DELEGATION_TOKEN: {"owners": None},
        ApiKey.DESCRIBE_CLIENT_QUOTAS: {"components": [], "strict": False},
        ApiKey.ALTER_CLIENT_QUOTAS: {
            "entries": [
                {
                    "entity": [{"entity_type": "user", "entity_name": "u"}],
                    "ops": [{"key": "producer_byte_rate", "value": 1.0, "remove": False}],
                }
            ],
            "validate_only": True,
        },
        ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: {"users": None},
        ApiKey.ADD_PARTITIONS_TO_TXN: {
            "v3_and_below_transactional_id": "t",
            "v3_and_below_producer_id": 7,
            "v3_and_below_producer_epoch": 0,
            "v3_and_below_topics": written,
            "transactions": [producer | {"verify_only": False, "topics": written}],
        },
        ApiKey.ADD_OFFSETS_TO_TXN: producer,
        ApiKey.END_TXN: producer | {"committed": True},
        ApiKey.WRITE_TXN_MARKERS: {
            "markers": [
                {
                    "producer_id": 7,
                    "producer_epoch": 0,
                    "transaction_result": True,
                    "topics": [{"name": TOPIC, "partition_indexes": [0]}],
                    "coordinator_epoch": 0,
                }
            ]
        },
        ApiKey.TXN_OFFSET_COMMIT: producer
        | {
            "generation_id": -1,
            "member_id": "",
            "group_instance_id": None,
            "topics": [{"name": TOPIC, "partitions": [tp | committed]}],
        },
        ApiKey.DESCRIBE_TRANSACTIONS: {"transactional_ids": ["t"]},
        ApiKey.LIST_TRANSACTIONS: {"state_filters": [], "producer_id_filters": [], "duration_filter": -1},
        ApiKey.SASL_HANDSHAKE: {"mechanism": "PLAIN"},
        ApiKey.SASL_AUTHENTICATE: {"auth_bytes": b""},
        ApiKey.ALTER_USER_SCRAM_CREDENTIALS: {"deletions": [{"name": "nobody", "mechanism": 1}], "upsertions": []},
        ApiKey.UPDATE_FEATURES: {
            "feature_updates": [{"feature": "x", "max_version_level": 1, "allow_downgrade": False, "upgrade_type": 1}],
            "timeout": 1000,
            "validate_only": False,
        },
        ApiKey.CONSUMER_GROUP_HEARTBEAT: {"group_id": "g", "member_id": "", "member_epoch": 0, "rebalance_timeout": 1000},
        ApiKey.CONSUMER_GROUP_DESCRIBE: {"group_ids": ["g"], "include_authorized_operations": False},
    }


EXPECTED = {
    ApiKey.CONTROLLED_SHUTDOWN: {ErrorCode.BROKER_NOT_AVAILABLE, ErrorCode.BROKER_ID_NOT_REGISTERED},
    ApiKey.ALTER_PARTITION: {ErrorCode.STALE_BROKER_EPOCH},
    ApiKey.ALLOCATE_PRODUCER_IDS: {ErrorCode.BROKER_ID_NOT_REGISTERED},
    ApiKey.DELETE_TOPICS: {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION},
    ApiKey.ELECT_LEADERS: {ErrorCode.ELECTION_NOT_NEEDED},
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: {ErrorCode.NO_REASSIGNMENT_IN_PROGRESS},
    ApiKey.DESCRIBE_ACLS: {ErrorCode.SECURITY_DISABLED},
    ApiKey.CREATE_ACLS: {ErrorCode.SECURITY_DISABLED},
    ApiKey.DELETE_ACLS: {ErrorCode.SECURITY_DISABLED},
    ApiKey.CREATE_DELEGATION_TOKEN: {ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED},
    ApiKey.RENEW_DELEGATION_TOKEN: {ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED},
    ApiKey.EXPIRE_DELEGATION_TOKEN: {ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED},
    ApiKey.DESCRIBE_DELEGATION_TOKEN: {ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED},
    ApiKey.ADD_OFFSETS_TO_TXN: {ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_COORDINATOR},
    ApiKey.END_TXN: {ErrorCode.NOT_COORDINATOR},
    ApiKey.TXN_OFFSET_COMMIT: {ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS},
    ApiKey.DESCRIBE_TRANSACTIONS: {ErrorCode.NOT_COORDINATOR},
    ApiKey.SASL_HANDSHAKE: {ErrorCode.ILLEGAL_SASL_STATE},
    ApiKey.SASL_AUTHENTICATE: {ErrorCode.ILLEGAL_SASL_STATE},
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: {ErrorCode.RESOURCE_NOT_FOUND},
    ApiKey.UPDATE_FEATURES: {ErrorCode.INVALID_REQUEST},
    ApiKey.CONSUMER_GROUP_HEARTBEAT: {ErrorCode.UNSUPPORTED_VERSION},
    ApiKey.CONSUMER_GROUP_DESCRIBE: {ErrorCode.UNSUPPORTED_VERSION},
}
"""What a request that asks for nothing harmful may be told."""

WALKED = [(key, version) for key in payloads(None, 0) for version in range(ADVERTISED[key][0], ADVERTISED[key][1] + 1)]


@pytest.fixture(scope="module")
def cluster() -> Iterator[BrokerCluster]:
    with BrokerCluster(brokers=1) as cluster:
        cluster.start_all()
        cluster.create(TOPIC)
        yield cluster


@pytest.mark.spec("N2")
def test_the_advertised_versions() -> None:
    """From version 0, so that old clients are served and librdkafka keeps compression on; nothing above 3.9."""
    rows = {ApiKey(row.key): (row.min_version, row.max_version) for row in full_registry().advertised()}
    assert rows == ADVERTISED
    assert all(high <= MAX_VERSION_3_9[key] for key, (_, high) in rows.items())


def test_a_key_has_one_handler() -> None:
    @handler(ApiKey.HEARTBEAT, versions=range(0, 2), needs=nothing)
    async def handle(request: object) -> None: ...

    with pytest.raises(ValueError, match=rf"{heartbeat.__name__} and {__name__} both claim API key .*HEARTBEAT"):
        Registry([heartbeat.handle, handle])


def test_a_file_is_all_a_key_takes() -> None:
    """Every file that marks a handler is found, under one key; the others in the folder hold what several share."""
    folder = Path(heartbeat.__file__).parent
    marked = {path.stem for path in folder.glob("*.py") if re.search(r"^@handler\(", path.read_text(), re.MULTILINE)}
    registry = full_registry()
    found = [registry.find(key, version) for key in (*ApiKey, STATE_FEED_KEY, LOG_LOOK_KEY) for version in (0, 1) if key in registry]
    assert {entry.function.__module__.rpartition(".")[2] for entry in found if entry is not None} == marked


@pytest.mark.spec("N2")
@pytest.mark.parametrize(("key", "version"), WALKED, ids=lambda value: value.name if isinstance(value, ApiKey) else str(value))
def test_every_version_is_answered(cluster: BrokerCluster, key: ApiKey, version: int) -> None:
    """The answer decodes by its own version's layout; no error but those that were asked for."""
    topic_id = cluster.brokers[1].services.metadata.topic_id(TOPIC)
    answer = cluster.ask(1, key, version, payloads(topic_id, version)[key])
    assert _errors(answer) <= {ErrorCode.NONE, *EXPECTED.get(key, ())}, answer


def _errors(answer: Any) -> set[int]:
    """All error codes in an answer, however deep."""
    found: set[int] = set()
    if hasattr(answer, "_fields"):
        for name in answer._fields:
            value = getattr(answer, name)
            found |= {value} if name == "error_code" else _errors(value)
    elif isinstance(answer, (tuple, list)):
        for value in answer:
            found |= _errors(value)
    return found
