"""Quotas as unmodified clients see them: set by one, kept by all, and told in their own figures."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic
from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import KafkaAdminClient

from broker_core.errors import ErrorCode
from console.gateway.quotas import alter, describe
from tests.support.cluster import TestCluster, eventually

pytestmark = pytest.mark.spec("N4")

RATE = 100_000.0
MakeTopic = Callable[..., str]


@pytest.fixture
def limit(cluster: TestCluster) -> Iterator[Callable[..., None]]:
    """Sets limits of an entity, as the console does, and returns once a client of every broker would feel them."""
    admin = KafkaAdminClient(bootstrap_servers=cluster.bootstrap_servers)

    def put(entity: str, **limits: float | None) -> None:
        alter(admin, entity, limits)
        wanted = {key: value for key, value in limits.items() if value is not None}
        assert describe(admin).get(entity, {}) == wanted
        time.sleep(1.0)  # each broker's watch on the notification

    yield put
    for entity, limits in describe(admin).items():
        alter(admin, entity, dict.fromkeys(limits))
    admin.close()


def test_librdkafka_produces_at_its_rate_and_says_how_long_it_was_throttled(
    cluster: TestCluster, new_topic: MakeTopic, limit: Callable[..., None]
) -> None:
    topic = new_topic(partitions=1)
    limit("client-id=limited", producer_byte_rate=RATE)
    told: list[int] = []
    throttle: list[int] = []
    producer = Producer(
        {
            "bootstrap.servers": cluster.bootstrap_servers,
            "client.id": "limited",
            "linger.ms": 5,
            "batch.size": 60_000,
            "statistics.interval.ms": 500,
            "stats_cb": lambda text: throttle.extend(broker["throttle"]["max"] for broker in json.loads(text)["brokers"].values()),
            "throttle_cb": lambda event: told.append(int(event.throttle_time * 1000)),
        }
    )
    began = time.monotonic()
    for _ in range(48):
        producer.produce(topic, b"x" * 50_000, partition=0)
        producer.poll(0)
    assert producer.flush(120) == 0
    took = time.monotonic() - began
    producer.poll(1)
    assert 48 * 50_000 / took < 2 * RATE
    assert max(told) > 100 and max(throttle) > 100

    unlimited = Producer(
        {"bootstrap.servers": cluster.bootstrap_servers, "client.id": "free", "throttle_cb": lambda event: told.append(-1)}
    )
    for _ in range(48):
        unlimited.produce(topic, b"x" * 50_000, partition=0)
    assert unlimited.flush(60) == 0 and -1 not in told


def test_librdkafka_consumes_at_its_rate(cluster: TestCluster, new_topic: MakeTopic, limit: Callable[..., None]) -> None:
    topic = new_topic(partitions=1)
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers, "batch.size": 60_000})
    for _ in range(48):
        producer.produce(topic, b"x" * 50_000, partition=0)
    assert producer.flush(60) == 0
    limit("user=ANONYMOUS,client-id=slow", consumer_byte_rate=RATE)
    told: list[int] = []
    consumer = Consumer(
        {
            "bootstrap.servers": cluster.bootstrap_servers,
            "client.id": "slow",
            "group.id": f"g-{topic}",
            "auto.offset.reset": "earliest",
            "throttle_cb": lambda event: told.append(int(event.throttle_time * 1000)),
        }
    )
    consumer.subscribe([topic])
    found, began = 0, 0.0
    while found < 48:
        message = consumer.poll(60)
        assert message is not None and message.error() is None, message and message.error()
        began = began or time.monotonic()
        found += 1
    took = time.monotonic() - began
    consumer.close()
    assert 48 * 50_000 / took < 2 * RATE and max(told) > 100


def test_kafka_python_shows_the_throttle_time(cluster: TestCluster, new_topic: MakeTopic, limit: Callable[..., None]) -> None:
    """In its metrics, of a producer and of a consumer."""
    topic = new_topic(partitions=1)
    limit("user=<default>", producer_byte_rate=RATE, consumer_byte_rate=RATE)
    producer = KafkaProducer(bootstrap_servers=cluster.bootstrap_servers, batch_size=0, acks=1)
    began = time.monotonic()
    for _ in range(30):
        producer.send(topic, b"x" * 50_000, partition=0).get(60)
    took = time.monotonic() - began
    assert figure(producer.metrics(), "throttle-time-max") > 100
    producer.close()
    assert 30 * 50_000 / took < 2 * RATE
    consumer = KafkaConsumer(bootstrap_servers=cluster.bootstrap_servers, auto_offset_reset="earliest")
    consumer.assign([TopicPartition(topic, 0)])
    found: list[Any] = []

    def read() -> bool:
        found.extend(record for records in consumer.poll(timeout_ms=500).values() for record in records)
        return len(found) == 30

    eventually(read, 90, "all records")
    assert figure(consumer.metrics(), "throttle-time-max") > 100
    consumer.close()


def figure(metrics: dict[str, dict[str, float]], name: str) -> float:
    return max((group[name] for group in metrics.values() if name in group), default=0.0)


def test_topics_above_the_quota_are_refused_or_waited_for(cluster: TestCluster, admin: AdminClient, limit: Callable[..., None]) -> None:
    """kafka-python knows THROTTLING_QUOTA_EXCEEDED; librdkafka speaks CreateTopics v4, so it gets its topics and has to wait."""
    limit("client-id=knows", controller_mutation_rate=1.0)
    knows = KafkaAdminClient(bootstrap_servers=cluster.bootstrap_servers, client_id="knows")
    wanted = {f"quota-{number}": {"num_partitions": 50, "replication_factor": 1} for number in range(2)}
    answer = knows.create_topics(wanted, timeout_ms=60_000, raise_errors=False)
    assert [topic["error_code"] for topic in answer["topics"]] == [0, ErrorCode.THROTTLING_QUOTA_EXCEEDED]
    knows.close()
    limit("client-id=rdkafka", controller_mutation_rate=2.0)
    began = time.monotonic()
    for name in ("quota-2", "quota-3"):
        admin.create_topics([NewTopic(name, 30, 1)], request_timeout=60)[name].result(90)
    assert time.monotonic() - began >= 3.5, "8 of the first 30 were too many, at 2 a second"
    limit("client-id=rdkafka", controller_mutation_rate=None)
    names = ["quota-0", "quota-2", "quota-3"]
    for future in admin.delete_topics(names, request_timeout=60).values():
        future.result(90)


def test_an_address_opens_no_more_connections_than_it_may(cluster: TestCluster, limit: Callable[..., None]) -> None:
    """A connection too many is closed after a while; the brokers' own from this address are no exception, nor are they in Kafka."""
    limit("ip=127.0.0.1", connection_creation_rate=5.0)
    host, port = cluster.bootstrap_servers.split(",")[0].split(":")
    closed = 0
    for _ in range(60):
        with socket.create_connection((host, int(port)), timeout=30) as connection:
            connection.settimeout(0.001)
            try:
                closed += connection.recv(1) == b""
            except TimeoutError:
                continue
    late = socket.create_connection((host, int(port)), timeout=30)
    with suppress(ConnectionError):
        assert late.recv(1) == b"", "closed, and not at once"
    late.close()
    limit("ip=127.0.0.1", connection_creation_rate=None)
