"""Transactions by three client libraries, unmodified: all or nothing for who reads what is committed."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from kafka import KafkaProducer

from tests.support.clients import produce
from tests.support.cluster import TestCluster

NewTopic = Callable[..., str]
PARTITIONS = 3

pytestmark = pytest.mark.spec("G5")


def transactional(cluster: TestCluster, transactional_id: str, **settings: Any) -> Producer:
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers, "transactional.id": transactional_id, **settings})
    producer.init_transactions(60)
    return producer


def values(cluster: TestCluster, topic: str, count: int, isolation: str = "read_committed") -> list[bytes]:
    """The first values that such a reader gets, sorted; then nothing may follow up to the ends of the partitions."""
    consumer = Consumer(
        {
            "bootstrap.servers": cluster.bootstrap_servers,
            "group.id": "reader",
            "isolation.level": isolation,
            "enable.partition.eof": True,
            "enable.auto.commit": False,
        }
    )
    numbers = list(consumer.list_topics(topic, 60).topics[topic].partitions)
    consumer.assign([TopicPartition(topic, number, 0) for number in numbers])
    found: list[bytes] = []
    ended: set[int] = set()
    while len(found) < count or ended != set(numbers):
        message = consumer.poll(60)
        assert message is not None, f"only {len(found)} of {count}"
        error = message.error()
        if error is None:
            found.append(message.value() or b"")
        else:
            assert error.code() == KafkaError._PARTITION_EOF, error
            ended.add(message.partition())
    consumer.close()
    return sorted(found)


def by_librdkafka(cluster: TestCluster, topic: str, words: list[tuple[bytes, bool]]) -> None:
    producer = transactional(cluster, f"librdkafka-{topic}")
    for word, is_commit in words:
        producer.begin_transaction()
        for partition in range(PARTITIONS):
            producer.produce(topic, word, partition=partition)
        assert producer.flush(60) == 0  # an abort leaves out what is not sent yet
        (producer.commit_transaction if is_commit else producer.abort_transaction)(60)


def by_kafka_python(cluster: TestCluster, topic: str, words: list[tuple[bytes, bool]]) -> None:
    producer = KafkaProducer(bootstrap_servers=cluster.bootstrap_servers, transactional_id=f"kafka-python-{topic}")
    producer.init_transactions()
    for word, is_commit in words:
        producer.begin_transaction()
        sent = [producer.send(topic, word, partition=partition) for partition in range(PARTITIONS)]
        if is_commit:
            producer.commit_transaction()
        else:
            [one.get(60) for one in sent]
            producer.abort_transaction()
    producer.close()


def by_aiokafka(cluster: TestCluster, topic: str, words: list[tuple[bytes, bool]]) -> None:
    async def run() -> None:
        producer = AIOKafkaProducer(bootstrap_servers=cluster.bootstrap_servers, transactional_id=f"aiokafka-{topic}")
        await producer.start()
        for word, is_commit in words:
            await producer.begin_transaction()
            for partition in range(PARTITIONS):
                await producer.send_and_wait(topic, word, partition=partition)
            await (producer.commit_transaction() if is_commit else producer.abort_transaction())
        await producer.stop()

    asyncio.run(run())


@pytest.mark.parametrize("write", [by_librdkafka, by_kafka_python, by_aiokafka])
def test_what_is_committed_is_read_and_what_is_aborted_is_not(
    cluster: TestCluster, new_topic: NewTopic, write: Callable[..., None]
) -> None:
    topic = new_topic(partitions=PARTITIONS)
    words = [(b"%d" % n, n % 3 != 1) for n in range(6)]
    write(cluster, topic, words)
    committed = sorted(word for word, is_commit in words if is_commit for _ in range(PARTITIONS))
    assert values(cluster, topic, len(committed)) == committed
    assert len(values(cluster, topic, len(words) * PARTITIONS, "read_uncommitted")) == len(words) * PARTITIONS


def test_offsets_are_committed_with_what_was_made_of_them(cluster: TestCluster, new_topic: NewTopic) -> None:
    source, target = new_topic(partitions=1), new_topic(partitions=1)
    produce(cluster, source, [b"%d" % n for n in range(10)])
    settings = {"bootstrap.servers": cluster.bootstrap_servers, "group.id": f"copies-{source}", "auto.offset.reset": "earliest"}
    consumer = Consumer({**settings, "enable.auto.commit": False})
    consumer.subscribe([source])
    producer = transactional(cluster, f"copies-{source}")
    for is_commit in (False, True):
        producer.begin_transaction()
        got = consumer.consume(10, 60)
        for message in got:
            producer.produce(target, message.value())
        ends = [TopicPartition(source, 0, got[-1].offset() + 1)]
        producer.send_offsets_to_transaction(ends, consumer.consumer_group_metadata(), 60)
        (producer.commit_transaction if is_commit else producer.abort_transaction)(60)
        (after,) = consumer.committed([TopicPartition(source, 0)], 60)
        if is_commit:
            assert after.offset == ends[0].offset
        else:
            assert after.offset < 0
            consumer.seek(TopicPartition(source, 0, 0))
    consumer.close()
    assert len(values(cluster, target, len(got))) == len(got)


def test_a_second_producer_of_the_id_fences_the_first(cluster: TestCluster, new_topic: NewTopic) -> None:
    topic = new_topic(partitions=1)
    first = transactional(cluster, f"twice-{topic}")
    first.begin_transaction()
    first.produce(topic, b"of the first")
    assert first.flush(60) == 0
    second = transactional(cluster, f"twice-{topic}")
    with pytest.raises(KafkaException) as fenced:
        first.commit_transaction(60)
    assert fenced.value.args[0].fatal()
    second.begin_transaction()
    second.produce(topic, b"of the second")
    second.commit_transaction(60)
    assert values(cluster, topic, 1) == [b"of the second"]


def test_a_transaction_that_its_producer_left_ends_by_itself(cluster: TestCluster, new_topic: NewTopic) -> None:
    topic = new_topic(partitions=1)
    left = transactional(cluster, f"left-{topic}", **{"transaction.timeout.ms": 1_000})
    left.begin_transaction()
    left.produce(topic, b"never committed")
    assert left.flush(60) == 0
    produce(cluster, topic, [b"plain"])
    assert values(cluster, topic, 1) == [b"plain"]
    with pytest.raises(KafkaException):
        left.commit_transaction(60)


@pytest.fixture
def killed_in_turn(cluster: TestCluster) -> Iterator[Callable[[], None]]:
    """Kills one broker after the other and starts it again, until the test ends."""
    stop = threading.Event()

    def run() -> None:
        broker_id = 1
        while not stop.is_set():
            cluster.kill(broker_id)
            stop.wait(1)
            cluster.start(broker_id)
            cluster.heal()
            broker_id = broker_id % 3 + 1

    thread = threading.Thread(target=run)
    yield thread.start
    stop.set()
    thread.join()


@pytest.mark.spec("C")
def test_brokers_that_are_killed_lose_double_and_leak_nothing(
    cluster: TestCluster, new_topic: NewTopic, killed_in_turn: Callable[[], None]
) -> None:
    """Each transaction whole or not at all, in order, whatever its coordinator and its leaders go through."""
    topic = new_topic(partitions=PARTITIONS)
    producer = transactional(cluster, f"through-{topic}")
    killed_in_turn()
    committed: list[bytes] = []
    for number in range(60):
        word = b"%03d" % number
        if through(producer, topic, word, is_commit=number % 4 != 0):
            committed.append(word)
    assert len(committed) > 30
    assert values(cluster, topic, len(committed) * PARTITIONS) == sorted(committed * PARTITIONS)


def through(producer: Producer, topic: str, word: bytes, *, is_commit: bool) -> bool:
    """Whether the transaction was committed. What the client says may be tried again is, and what has to be aborted is aborted."""
    producer.begin_transaction()
    for partition in range(PARTITIONS):
        producer.produce(topic, word, partition=partition)
    assert producer.flush(60) == 0
    end = producer.commit_transaction if is_commit else producer.abort_transaction
    for _ in range(60):
        try:
            end(60)
        except KafkaException as failure:
            error = failure.args[0]
            if error.txn_requires_abort():
                end = producer.abort_transaction
            else:
                assert error.retriable(), error
        else:
            return end == producer.commit_transaction
    raise AssertionError("no end of the transaction")
