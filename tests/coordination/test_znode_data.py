"""What znodes hold, as Kafka 3.9 writes it."""

from __future__ import annotations

import json
from collections.abc import Callable
from uuid import UUID

import pytest
from msgspec import structs

from broker_core.coordination import znode_data as data
from broker_core.coordination.store import StoreError
from broker_core.model import BrokerInfo, Endpoint, LeaderAndIsr, TopicPartition

pytestmark = pytest.mark.spec("Z1")

T0 = TopicPartition("t", 0)
TOPIC_ID = UUID("f0f1f2f3-0001-4002-8003-000405060708")


def test_kafka_s_own_topic_znode() -> None:
    """As Kafka writes it while partition 1 is moved; the id is what `kafka-topics.sh` prints."""
    text = (
        b'{"removing_replicas":{"1":[0]},"partitions":{"0":[0,1],"1":[2,1,0]},'
        b'"topic_id":"8PHy8wABQAKAAwAEBQYHCA","adding_replicas":{"1":[2]},"version":3}'
    )
    decoded = data.decode_topic("t", text)
    assert decoded == data.TopicAssignment(TOPIC_ID, {0: (0, 1), 1: (2, 1, 0)}, {1: (2,)}, {1: (0,)})
    assert json.loads(data.encode_topic(decoded)) == json.loads(text)


def test_kafka_s_own_broker_znode() -> None:
    text = (
        b'{"features":{},"listener_security_protocol_map":{"PLAINTEXT":"PLAINTEXT","IN":"SSL"},'
        b'"endpoints":["PLAINTEXT://a.b:9092","IN://[::1]:9093"],"jmx_port":-1,"port":9092,"host":"a.b",'
        b'"version":5,"timestamp":"17","rack":"r"}'
    )
    info = data.decode_broker(4, text, 99)
    assert info == BrokerInfo(4, (Endpoint("PLAINTEXT", "a.b", 9092), Endpoint("IN", "::1", 9093, "SSL")), "r", 99)
    assert json.loads(data.encode_broker(info, 17)) == json.loads(text)
    again = structs.replace(info, first_epoch=7)
    assert data.decode_broker(4, data.encode_broker(again, 17), 99) == again


def test_kafka_s_own_state_znode() -> None:
    text = b'{"controller_epoch":3,"leader":1,"version":1,"leader_epoch":5,"isr":[1,2]}'
    state, controller_epoch = data.decode_partition_state(T0, text, 8)
    assert (state, controller_epoch) == (LeaderAndIsr(1, 5, (1, 2), 8), 3)
    assert json.loads(data.encode_partition_state(state, 3)) == json.loads(text)


def test_round_trips() -> None:
    assert data.decode_controller(data.encode_controller(3, 17)) == 3
    assert data.decode_isr_change(data.encode_isr_change([T0])) == [T0]
    assert data.decode_preferred_election(data.encode_preferred_election([T0])) == [T0]
    assert data.decode_reassignment(data.encode_reassignment({T0: [1, 2]})) == {T0: (1, 2)}
    assert data.decode_log_dir_event(data.encode_log_dir_event(2)) == 2
    assert data.decode_config(data.encode_config({"a": "b"})) == {"a": "b"}
    assert data.decode_config_change(data.encode_config_change("topics/t")) == "topics/t"
    assert data.decode_config_change(b'{"version":1,"entity_type":"topics","entity_name":"t"}') == "topics/t"
    assert data.decode_cluster_id(data.encode_cluster_id("x")) == "x"


DECODERS: dict[str, Callable[[bytes], object]] = {
    "broker": lambda raw: data.decode_broker(1, raw, 0),
    "topic": lambda raw: data.decode_topic("t", raw),
    "state": lambda raw: data.decode_partition_state(T0, raw, 0),
    "controller": data.decode_controller,
    "controller epoch": data.decode_controller_epoch,
    "isr": data.decode_isr_change,
    "election": data.decode_preferred_election,
    "reassignment": data.decode_reassignment,
    "log dir": data.decode_log_dir_event,
    "config change": data.decode_config_change,
    "cluster id": data.decode_cluster_id,
}


@pytest.mark.parametrize(
    ("name", "raw"),
    [
        ("broker", b'{"endpoints":["PLAINTEXT://h:65536"]}'),
        ("broker", b'{"endpoints":["PLAINTEXT://h:-1"]}'),
        ("broker", b'{"endpoints":[]}'),
        ("topic", b'{"partitions":{"0":[2147483648]}}'),
        ("topic", b'{"partitions":{"0":[-1]}}'),
        ("topic", b'{"partitions":{"2147483648":[1]}}'),
        ("topic", b'{"partitions":{"0":[Infinity]}}'),
        ("state", b'{"controller_epoch":3,"leader":2147483648,"leader_epoch":5,"isr":[1]}'),
        ("state", b'{"controller_epoch":3,"leader":1,"leader_epoch":2147483647,"isr":[1]}'),
        ("state", b'{"controller_epoch":3,"leader":1,"leader_epoch":5,"isr":[2147483648]}'),
        ("controller epoch", b"2147483647"),
    ],
)
def test_numbers_that_no_request_can_carry_are_malformed(name: str, raw: bytes) -> None:
    """The epochs are raised by one before they are told."""
    with pytest.raises(StoreError):
        DECODERS[name](raw)


@pytest.mark.parametrize("name", sorted(DECODERS))
@pytest.mark.parametrize("raw", [b"", b"\xff", b"[]", b"{}", b'{"partitions":7,"endpoints":3,"isr":"x","brokerid":[],"broker":{}}'])
def test_malformed(name: str, raw: bytes) -> None:
    with pytest.raises(StoreError):
        DECODERS[name](raw)
