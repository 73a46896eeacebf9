"""What tests do with confluent-kafka again and again."""

from __future__ import annotations

import uuid
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tests.support.cluster import TestCluster, eventually
from tests.support.metadata import metadata_of

NOT_YET = (KafkaError.NOT_CONTROLLER, KafkaError.REQUEST_TIMED_OUT, KafkaError.INVALID_REPLICATION_FACTOR)


def whole(admin: AdminClient, topic: str, replication_factor: int) -> bool:
    """Whether every broker knows a leader of each partition and all its replicas in sync: whichever a client asks next."""
    try:
        brokers = admin.list_topics(timeout=10).brokers.values()
    except KafkaException:
        return False
    return bool(brokers) and all(_whole(metadata_of(broker.port, [topic]), replication_factor) for broker in brokers)


def _whole(answer: Any, replication_factor: int) -> bool:
    found = answer and answer.topics[0].partitions
    return bool(found) and all(p.leader_id >= 0 and len(p.isr_nodes) == replication_factor for p in found)


def make(admin: AdminClient, topic: NewTopic) -> None:
    """Makes a topic and waits until it is whole."""
    replicas = len(topic.replica_assignment[0]) if topic.replica_assignment else topic.replication_factor
    eventually(lambda: _made(admin, topic), what=f"{topic.topic} is made")
    eventually(lambda: whole(admin, topic.topic, replicas), what=f"{topic.topic} is whole")


def _made(admin: AdminClient, topic: NewTopic) -> bool:
    """False while there is no controller, or the one that was asked is not it any more.

    librdkafka leaves trying again to us, and asks the broker it knew as controller until its metadata is fresh.
    """
    try:
        admin.list_topics(timeout=10)
        admin.create_topics([topic])[topic.topic].result(30)
    except KafkaException as error:
        code = error.args[0].code()
        assert code in (KafkaError.TOPIC_ALREADY_EXISTS, *NOT_YET), error
        return bool(code == KafkaError.TOPIC_ALREADY_EXISTS)
    return True


def produce(cluster: TestCluster, topic: str, values: list[bytes], **settings: Any) -> list[Message]:
    """Sends all and returns the delivered messages; fails on the first that was not. Without `acks` each is there once, in order."""
    delivered: list[Message] = []
    failed: list[Any] = []

    def report(error: Any, message: Message) -> None:
        (failed if error else delivered).append(error or message)

    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers, "enable.idempotence": "acks" not in settings, **settings})
    for value in values:
        producer.produce(topic, value, on_delivery=report)
    assert producer.flush(60) == 0
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
        eventually(at_the_ends, 60, f"{count} records of {topic}")
        return found
    finally:
        consumer.close()
