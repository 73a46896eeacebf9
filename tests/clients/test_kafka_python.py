"""kafka-python 3, unmodified: produce, consume, groups, administration with reassignment."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import KafkaAdminClient

from tests.support.cluster import TestCluster, eventually

pytestmark = pytest.mark.spec("G1")

NewTopic = Callable[..., str]


def test_produces_and_a_group_consumes(cluster: TestCluster, new_topic: NewTopic) -> None:
    topic = new_topic(partitions=3)
    producer = KafkaProducer(bootstrap_servers=cluster.bootstrap_servers, acks="all", compression_type="gzip")
    sent = [producer.send(topic, b"%d" % n, key=b"%d" % n) for n in range(100)]
    assert sorted({(f.get(60).partition, f.get(60).offset) for f in sent}) == sorted((f.get(60).partition, f.get(60).offset) for f in sent)
    producer.close()
    consumer = KafkaConsumer(
        topic, bootstrap_servers=cluster.bootstrap_servers, group_id=f"g-{topic}", auto_offset_reset="earliest", consumer_timeout_ms=60000
    )
    found = sorted(int(next(consumer).value) for _ in range(100))
    consumer.close()
    assert found == list(range(100))


def test_commits_are_seen_by_the_admin(cluster: TestCluster, new_topic: NewTopic) -> None:
    topic = new_topic(partitions=1)
    producer = KafkaProducer(bootstrap_servers=cluster.bootstrap_servers)
    producer.send(topic, b"x").get(60)
    producer.close()
    consumer = KafkaConsumer(topic, bootstrap_servers=cluster.bootstrap_servers, group_id=f"g-{topic}", auto_offset_reset="earliest")
    eventually(lambda: consumer.poll(timeout_ms=500), 60, "the record")
    consumer.commit()
    consumer.close()
    admin = KafkaAdminClient(bootstrap_servers=cluster.bootstrap_servers)
    try:
        found = admin.list_group_offsets(f"g-{topic}")
        assert TopicPartition(topic, 0) in (found.get(f"g-{topic}", found) if isinstance(found, dict) else found)
    finally:
        admin.close()


def test_seeks_by_time(cluster: TestCluster, new_topic: NewTopic) -> None:
    topic = new_topic(partitions=1)
    producer = KafkaProducer(bootstrap_servers=cluster.bootstrap_servers)
    for n in range(3):
        producer.send(topic, b"%d" % n, timestamp_ms=1_700_000_000_000 + n * 1000).get(60)
    producer.close()
    consumer = KafkaConsumer(bootstrap_servers=cluster.bootstrap_servers)
    place = TopicPartition(topic, 0)
    consumer.assign([place])
    assert consumer.offsets_for_times({place: 1_700_000_001_000})[place].offset == 1
    assert consumer.beginning_offsets([place])[place] == 0
    assert consumer.end_offsets([place])[place] == 3
    consumer.close()
