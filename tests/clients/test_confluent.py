"""confluent-kafka (librdkafka 2), unmodified: produce, consume, groups, administration."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    OffsetSpec,
    ResourceType,
)
from confluent_kafka.admin import (
    NewTopic as TopicToMake,
)

from tests.support.clients import produce, read_all
from tests.support.cluster import TestCluster, eventually

NewTopic = Callable[..., str]


@pytest.mark.spec("S7")
@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_every_codec_comes_back_as_it_was_sent(cluster: TestCluster, new_topic: NewTopic, codec: str) -> None:
    """Compressed by the producer, stored as it came."""
    topic = new_topic(partitions=1)
    values = [bytes([n % 256]) * 500 for n in range(200)]
    produce(cluster, topic, values, **{"compression.type": codec, "linger.ms": 50})
    assert [message.value() for message in read_all(cluster, topic, len(values))] == values


@pytest.mark.spec("R5")
@pytest.mark.parametrize("acks", ["0", "1", "all"])
def test_every_kind_of_acknowledgement(cluster: TestCluster, new_topic: NewTopic, acks: str) -> None:
    """Acks 0, 1 and all."""
    topic = new_topic(partitions=1)
    produce(cluster, topic, [b"a", b"b", b"c"], acks=acks)
    assert [message.value() for message in read_all(cluster, topic, 3)] == [b"a", b"b", b"c"]


@pytest.mark.spec("G4")
def test_an_idempotent_producer_numbers_its_batches(cluster: TestCluster, new_topic: NewTopic) -> None:
    topic = new_topic(partitions=1)
    delivered = produce(cluster, topic, [b"%d" % n for n in range(500)], **{"enable.idempotence": True})
    assert sorted(message.offset() for message in delivered) == list(range(500))


def test_headers_keys_timestamps_and_tombstones(cluster: TestCluster, new_topic: NewTopic) -> None:
    topic = new_topic(partitions=1)
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers})
    producer.produce(topic, b"v", b"k", timestamp=1_700_000_000_123, headers=[("h", b"1"), ("h", None)])
    producer.produce(topic, None, b"k")
    assert producer.flush(60) == 0
    first, second = read_all(cluster, topic, 2)
    assert (first.key(), first.value(), first.timestamp()[1], first.headers()) == (
        b"k",
        b"v",
        1_700_000_000_123,
        [("h", b"1"), ("h", None)],
    )
    assert second.value() is None


def test_a_record_over_the_limit_is_refused_by_the_broker(cluster: TestCluster, new_topic: NewTopic) -> None:
    """MESSAGE_TOO_LARGE by the topic's max.message.bytes; the connection and the topic live on."""
    topic = new_topic(partitions=1, max_message_bytes="1000")
    errors: list[Any] = []
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers})
    producer.produce(topic, b"x" * 5000, on_delivery=lambda error, message: errors.append(error))
    assert producer.flush(60) == 0
    assert errors[0].name() == "MSG_SIZE_TOO_LARGE"
    produce(cluster, topic, [b"small"])


@pytest.mark.spec("G2")
def test_members_share_the_partitions_and_take_over(cluster: TestCluster, new_topic: NewTopic) -> None:
    """A rebalance when one joins and when one leaves; one owner a partition."""
    topic = new_topic(partitions=4)
    settings = {
        "bootstrap.servers": cluster.bootstrap_servers,
        "group.id": f"g-{topic}",
        "auto.offset.reset": "earliest",
        "session.timeout.ms": 6000,
    }
    first, second = Consumer(settings), Consumer(settings)

    def owned(*members: Consumer) -> list[int]:
        for member in members:
            member.poll(0.1)
        return [len(member.assignment()) for member in members]

    first.subscribe([topic])
    eventually(lambda: owned(first) == [4], 60, "one member owns all")
    second.subscribe([topic])
    eventually(lambda: owned(first, second) == [2, 2], 60, "two members share")
    second.close()
    eventually(lambda: owned(first) == [4], 60, "the one left owns all")
    first.close()


def test_static_members_come_back_without_a_rebalance(cluster: TestCluster, new_topic: NewTopic) -> None:
    """KIP-345."""
    topic = new_topic(partitions=2)
    settings = {
        "bootstrap.servers": cluster.bootstrap_servers,
        "group.id": f"g-{topic}",
        "group.instance.id": "one",
        "session.timeout.ms": 10000,
    }
    member = Consumer(settings)
    member.subscribe([topic])
    eventually(lambda: member.poll(0.1) or len(member.assignment()) == 2, 60, "assigned")
    member.close()
    again = Consumer(settings)
    again.subscribe([topic])
    eventually(lambda: again.poll(0.1) or len(again.assignment()) == 2, 60, "assigned again")
    again.close()


@pytest.mark.spec("G3")
def test_committed_offsets_are_where_the_group_goes_on(cluster: TestCluster, new_topic: NewTopic) -> None:
    """Sync commits, read back by another member."""
    topic = new_topic(partitions=1)
    produce(cluster, topic, [b"0", b"1", b"2"])
    settings = {
        "bootstrap.servers": cluster.bootstrap_servers,
        "group.id": f"g-{topic}",
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
    }
    reader = Consumer(settings)
    reader.subscribe([topic])
    message = eventually(lambda: reader.poll(0.2), 60, "the first record")
    reader.commit(message, asynchronous=False)
    reader.close()
    again = Consumer(settings)
    again.subscribe([topic])
    assert eventually(lambda: again.poll(0.2), 60, "the next record").value() == b"1"
    again.close()


@pytest.mark.spec("Z4", "O1")
def test_topics_are_made_grown_configured_and_deleted(cluster: TestCluster, admin: AdminClient, new_topic: NewTopic) -> None:
    topic = new_topic(partitions=1)
    admin.create_partitions([NewPartitions(topic, 4)])[topic].result(60)
    eventually(lambda: len(admin.list_topics(topic, timeout=10).topics[topic].partitions) == 4, 60, "four partitions")
    resource = ConfigResource(ResourceType.TOPIC, topic)
    change = ConfigEntry("retention.ms", "86400000", incremental_operation=AlterConfigOpType.SET)
    admin.incremental_alter_configs([ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[change])])[resource].result(60)
    eventually(lambda: admin.describe_configs([resource])[resource].result(60)["retention.ms"].value == "86400000", 60, "the new setting")
    admin.delete_topics([topic])[topic].result(60)
    eventually(lambda: topic not in admin.list_topics(timeout=10).topics, 60, "the topic is gone")


@pytest.mark.parametrize(
    ("name", "partitions", "replicas", "config", "error"),
    [
        ("bad name!", 1, 1, {}, "TOPIC_EXCEPTION"),
        ("..", 1, 1, {}, "TOPIC_EXCEPTION"),
        ("x" * 250, 1, 1, {}, "TOPIC_EXCEPTION"),
        ("too-many-replicas", 1, 4, {}, "INVALID_REPLICATION_FACTOR"),
        ("wrong-config", 1, 1, {"retention.ms": "soon"}, "INVALID_CONFIG"),
        ("unknown-config", 1, 1, {"retention": "1"}, "INVALID_CONFIG"),
    ],
)
def test_a_topic_that_kafka_refuses_is_refused(
    admin: AdminClient, name: str, partitions: int, replicas: int, config: dict[str, str], error: str
) -> None:
    with pytest.raises(KafkaException) as refused:
        admin.create_topics([TopicToMake(name, partitions, replicas, config=config)])[name].result(60)
    assert refused.value.args[0].name() == error


def test_describes_cluster_groups_and_offsets(cluster: TestCluster, admin: AdminClient, new_topic: NewTopic) -> None:
    topic = new_topic(partitions=1)
    produce(cluster, topic, [b"a", b"b"])
    described = admin.describe_cluster().result(60)
    assert {node.id for node in described.nodes} == {1, 2, 3}
    assert described.controller.id in {1, 2, 3}
    place = TopicPartition(topic, 0)
    assert admin.list_offsets({place: OffsetSpec.latest()})[place].result(60).offset == 2
    assert admin.list_offsets({place: OffsetSpec.earliest()})[place].result(60).offset == 0
    request = ConsumerGroupTopicPartitions(f"g-{topic}", [TopicPartition(topic, 0, 1)])
    admin.alter_consumer_group_offsets([request])[request.group_id].result(60)
    listed = admin.list_consumer_groups().result(60)
    assert request.group_id in {group.group_id for group in listed.valid}
    admin.delete_consumer_groups([request.group_id])[request.group_id].result(60)
