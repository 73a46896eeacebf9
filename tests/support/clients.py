"""What tests do with confluent-kafka again and again."""

from __future__ import annotations

import uuid
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from tests.support.cluster import TestCluster, eventually


def whole(admin: AdminClient, topic: str, replication_factor: int) -> bool:
    """Whether all partitions have a leader and all replicas in sync."""
    try:
        found = admin.list_topics(topic, timeout=10).topics[topic]
    except KafkaException:
        return False
    return (
        found.error is None
        and bool(found.partitions)
        and all(p.leader >= 0 and len(p.isrs) == replication_factor for p in found.partitions.values())
    )


def produce(cluster: TestCluster, topic: str, values: list[bytes], **settings: Any) -> list[Message]:
    """Sends all and returns the delivered messages; fails on the first that was not."""
    delivered: list[Message] = []
    failed: list[Any] = []

    def report(error: Any, message: Message) -> None:
        (failed if error else delivered).append(error or message)

    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers, "acks": "all", **settings})
    for value in values:
        producer.produce(topic, value, on_delivery=report)
    assert producer.flush(30) == 0
    assert not failed, failed[0]
    return delivered


def read_all(cluster: TestCluster, topic: str, count: int, partitions: int = 1, **settings: Any) -> list[Message]:
    """What these partitions hold up to their ends, at least `count`: writers that had to try again leave more than was acknowledged."""
    consumer = Consumer(
        {
            "bootstrap.servers": cluster.bootstrap_servers,
            "group.id": str(uuid.uuid4()),
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            **settings,
        }
    )
    found: list[Message] = []
    ended: set[int | None] = set()

    def at_the_ends() -> bool:
        for message in consumer.consume(1000, 0.2):
            error = message.error()
            if error is None:
                found.append(message)
                ended.discard(message.partition())
            else:
                assert error.code() == KafkaError._PARTITION_EOF, error
                ended.add(message.partition())
        return len(found) >= count and len(ended) == partitions

    try:
        consumer.assign([TopicPartition(topic, number, OFFSET_BEGINNING) for number in range(partitions)])
        eventually(at_the_ends, 30, f"{count} records of {topic}")
        return found
    finally:
        consumer.close()
