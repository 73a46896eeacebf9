"""What control requests say, and that Kafka's schema can carry it."""

from __future__ import annotations

from uuid import UUID

import pytest

from broker_core.config.inter_broker import inter_broker_protocol
from broker_core.controller.channels.requests import (
    LEADER_AND_ISR_KEY,
    STOP_REPLICA_KEY,
    UPDATE_METADATA_KEY,
    BrokerRequestBatch,
    ControlRequest,
)
from broker_core.controller.context import ControllerContext, Leadership
from broker_core.controller.deciders.reassignment import ReplicaAssignment
from broker_core.model import BrokerInfo, Endpoint, LeaderAndIsr, TopicPartition
from broker_core.protocol.codec import decode_request, encode_request, field

pytestmark = pytest.mark.spec("Z5")

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
TOPIC_ID = UUID(int=5)
PROTOCOL = inter_broker_protocol("3.9")


def context() -> ControllerContext:
    made = ControllerContext(3, 0, topic_ids={"t": TOPIC_ID})
    for broker_id in (1, 2):
        made.brokers[broker_id] = BrokerInfo(broker_id, (Endpoint("PLAINTEXT", "127.0.0.1", 9090 + broker_id),), "r", 40 + broker_id)
    for tp in (T0, T1):
        made.set_assignment(tp, ReplicaAssignment((1, 2, 7), (2,), (7,)))
        made.leadership[tp] = Leadership(LeaderAndIsr(1, 6, (1, 7), 8), 2)
    return made


def build() -> list[ControlRequest]:
    made = context()
    batch = BrokerRequestBatch(1, made, PROTOCOL)
    for tp in (T0, T1):
        batch.leader_and_isr((1, 2, 7), tp, made.leadership[tp], made.assignment(tp))
    batch.leader_and_isr((2,), T0, made.leadership[T0], made.assignment(T0), is_new=True)
    batch.stop_replica(2, T1, delete=False)
    batch.stop_replica(2, T1, delete=True)
    requests = batch.build()
    assert batch.build() == []
    return requests


def test_leaders_are_told_by_the_listener_between_brokers() -> None:
    made = context()
    inside, outside = Endpoint("INTERNAL", "broker-1", 9094), Endpoint("HOST", "127.0.0.1", 9092)
    made.brokers[1] = BrokerInfo(1, (outside, inside), None, 41)
    for wanted, told in (("internal", inside), ("HOST", outside), (None, outside)):
        made.inter_broker_listener = wanted
        batch = BrokerRequestBatch(1, made, PROTOCOL)
        batch.leader_and_isr((2,), T0, made.leadership[T0], made.assignment(T0))
        leaders = batch.build()[0].payload["live_leaders"]
        assert leaders == [{"broker_id": 1, "host_name": told.host, "port": told.port}]


def test_one_request_of_each_kind_per_registered_broker() -> None:
    """Broker 7 is not registered; the order is LeaderAndIsr, UpdateMetadata, StopReplica; epochs are each broker's own."""
    assert [(r.broker_id, r.api_key, r.broker_epoch) for r in build()] == [(1, 4, 41), (2, 4, 42), (1, 6, 41), (2, 6, 42), (2, 5, 42)]


def test_leader_and_isr_in_kafka_s_schema() -> None:
    request = build()[1]
    body = decode_request(request.api_key, request.version, encode_request(request.api_key, request.version, request.payload), 0)
    assert (body.controller_id, body.controller_epoch, body.broker_epoch) == (1, 3, 42)
    (topic,) = body.topic_states
    assert (topic.topic_name, topic.topic_id) == ("t", TOPIC_ID)
    first, second = topic.partition_states
    assert (first.leader, first.leader_epoch, first.isr, first.partition_epoch) == (1, 6, (1, 7), 8)
    assert (first.replicas, first.adding_replicas, first.removing_replicas) == ((1, 2, 7), (2,), (7,))
    assert (first.is_new, second.is_new) == (True, False)
    assert [(leader.broker_id, leader.port) for leader in body.live_leaders] == [(1, 9091)]


def test_update_metadata_in_kafka_s_schema() -> None:
    request = build()[2]
    body = decode_request(request.api_key, request.version, encode_request(request.api_key, request.version, request.payload), 0)
    assert [(broker.id_, broker.rack, broker.endpoints[0].port) for broker in body.live_brokers] == [(1, "r", 9091), (2, "r", 9092)]
    part = body.topic_states[0].partition_states[0]
    assert (part.leader, part.isr, part.offline_replicas, part.controller_epoch) == (1, (1, 7), (7,), 2)


def test_stop_replica_in_kafka_s_schema() -> None:
    """A deletion asked for in the same batch wins over a mere stop."""
    request = build()[-1]
    body = decode_request(request.api_key, request.version, encode_request(request.api_key, request.version, request.payload), 0)
    part = body.topic_states[0].partition_states[0]
    assert (part.partition_index, part.leader_epoch, part.delete_partition) == (1, 6, True)
    assert request.deleted() == [T1]


@pytest.mark.parametrize(
    ("spoken", "versions"),
    [("2.7-IV1", (4, 6, 3)), ("2.8-IV0", (4, 6, 3)), ("2.8", (5, 7, 3)), ("3.2", (6, 7, 3)), ("3.4", (7, 8, 4)), ("3.9", (7, 8, 4))],
)
def test_versions_follow_the_protocol_between_brokers(spoken: str, versions: tuple[int, int, int]) -> None:
    """And whether brokers are told topic ids, and that a leader was not in the ISR when it was elected (KIP-704)."""
    made = context()
    made.leadership[T0] = Leadership(LeaderAndIsr(1, 6, (1,), 8, recovering=True), 2)
    batch = BrokerRequestBatch(1, made, inter_broker_protocol(spoken))
    batch.leader_and_isr((1,), T0, made.leadership[T0], made.assignment(T0))
    batch.stop_replica(1, T1, delete=False)
    by_key = {request.api_key: request for request in batch.build() if request.broker_id == 1}
    assert tuple(by_key[key].version for key in (LEADER_AND_ISR_KEY, UPDATE_METADATA_KEY, STOP_REPLICA_KEY)) == versions
    bodies = {key: decode_request(key, each.version, encode_request(key, each.version, each.payload), 0) for key, each in by_key.items()}
    led = bodies[LEADER_AND_ISR_KEY].topic_states[0]
    assert field(led, "topic_id", None) == (TOPIC_ID if versions[0] >= 5 else None)
    assert field(led.partition_states[0], "leader_recovery_state", 0) == int(versions[0] >= 6)
    assert field(bodies[UPDATE_METADATA_KEY].topic_states[0], "topic_id", None) == (TOPIC_ID if versions[1] >= 7 else None)
    assert bodies[STOP_REPLICA_KEY].topic_states[0].partition_states[0].leader_epoch == 6


def test_a_topic_being_deleted_has_the_sentinels() -> None:
    """StopReplica with epoch −2 overrides any other; the metadata's leader is −2."""
    made = context()
    made.queued_for_deletion.add("t")
    batch = BrokerRequestBatch(1, made, PROTOCOL)
    batch.stop_replica(1, T0, delete=True)
    batch.update_metadata([1], [T0])
    metadata, stop = batch.build()
    assert stop.partitions[T0]["leader_epoch"] == -2
    assert metadata.partitions[T0]["leader"] == -2
