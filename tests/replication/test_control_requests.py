"""Control requests of all versions as orders."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest

from broker_core.errors import ErrorCode
from broker_core.model import TopicPartition
from broker_core.protocol.api import ApiKey
from broker_core.protocol.codec import decode_request, decode_response, encode_request, encode_response
from broker_core.replication.control_requests import (
    StopOrder,
    leader_and_isr_payload,
    leader_orders,
    stop_orders,
    stop_replica_payload,
)

pytestmark = pytest.mark.spec("Z5")

ID = UUID(int=4)
TP = TopicPartition("t", 3)


def leader_and_isr(version: int) -> Any:
    state = {
        "topic_name": "t",
        "partition_index": 3,
        "controller_epoch": 6,
        "leader": 1,
        "leader_epoch": 8,
        "isr": [1, 2],
        "partition_epoch": 11,
        "replicas": [1, 2, 3],
        "adding_replicas": [3],
        "removing_replicas": [],
        "is_new": False,
    }
    payload = {
        "controller_id": 0,
        "controller_epoch": 6,
        "broker_epoch": 5,
        "type_": 0,
        "ungrouped_partition_states": [state],
        "topic_states": [{"topic_name": "t", "topic_id": ID, "partition_states": [state]}],
        "live_leaders": [],
    }
    return decode_request(ApiKey.LEADER_AND_ISR, version, encode_request(ApiKey.LEADER_AND_ISR, version, payload), 0)


@pytest.mark.parametrize("version", range(8))
def test_leader_and_isr(version: int) -> None:
    (order,) = leader_orders(leader_and_isr(version))
    assert (order.tp, order.leader, order.leader_epoch, order.isr, order.zk_version) == (TP, 1, 8, (1, 2), 11)
    assert (order.replicas, order.controller_epoch) == ((1, 2, 3), 6)
    assert order.topic_id == (ID if version >= 5 else None)
    assert order.adding == ((3,) if version >= 3 else ())
    payload = leader_and_isr_payload(ErrorCode.NONE, [(order, ErrorCode.STALE_CONTROLLER_EPOCH)])
    answer = decode_response(ApiKey.LEADER_AND_ISR, version, encode_response(ApiKey.LEADER_AND_ISR, version, payload), 0)
    rows = answer.topics[0].partition_errors if version >= 5 else answer.partition_errors
    assert [(row.partition_index, row.error_code) for row in rows] == [(3, ErrorCode.STALE_CONTROLLER_EPOCH)]


@pytest.mark.parametrize("version", range(5))
def test_stop_replica(version: int) -> None:
    payload = {
        "controller_id": 0,
        "controller_epoch": 6,
        "broker_epoch": 5,
        "delete_partitions": True,
        "ungrouped_partitions": [{"topic_name": "t", "partition_index": 3}],
        "topics": [{"name": "t", "partition_indexes": [3]}],
        "topic_states": [{"topic_name": "t", "partition_states": [{"partition_index": 3, "leader_epoch": 8, "delete_partition": True}]}],
    }
    request = decode_request(ApiKey.STOP_REPLICA, version, encode_request(ApiKey.STOP_REPLICA, version, payload), 0)
    assert stop_orders(request) == [StopOrder(TP, 8 if version >= 3 else -1, True)]
    answer = encode_response(ApiKey.STOP_REPLICA, version, stop_replica_payload(ErrorCode.NONE, [(TP, ErrorCode.NONE)]))
    decoded = decode_response(ApiKey.STOP_REPLICA, version, answer, 0)
    assert [(row.topic_name, row.partition_index) for row in decoded.partition_errors] == [("t", 3)]


def test_nothing_ordered() -> None:
    assert leader_orders(SimpleNamespace()) == []
    assert stop_orders(SimpleNamespace()) == []
