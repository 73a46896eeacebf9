"""kill -9 and pause of brokers under load: nothing acknowledged is lost, clients go on by themselves."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import Consumer, Message, Producer
from confluent_kafka.admin import AdminClient
from kazoo.client import KazooClient

from tests.support.clients import read_all, whole
from tests.support.cluster import TestCluster, eventually

pytestmark = pytest.mark.spec("R8", "R9", "Z3")

NewTopic = Callable[..., str]


class Load:
    """An idempotent acks=all producer and a group's member, each in a thread, until `stop`."""

    def __init__(self, cluster: TestCluster, topic: str) -> None:
        self.group = f"g-{topic}"
        self.acknowledged: list[int] = []
        self.consumed: set[int] = set()
        self.failed: list[str] = []
        self._topic = topic
        self._servers = cluster.bootstrap_servers
        self._stop = threading.Event()
        self._drained = threading.Event()
        self._threads = [threading.Thread(target=self._produce), threading.Thread(target=self._consume)]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Ends the producer after its last acknowledgement and the consumer after it has read all of them."""
        self._stop.set()
        self._threads[0].join(90)
        eventually(lambda: self.consumed >= set(self.acknowledged), 60, "the group has read everything acknowledged")
        self._drained.set()
        self._threads[1].join(30)

    def _produce(self) -> None:
        producer = Producer({"bootstrap.servers": self._servers, "enable.idempotence": True, "linger.ms": 5, "delivery.timeout.ms": 90000})
        number = 0
        while not self._stop.wait(0.005):
            producer.produce(self._topic, b"%d" % number, key=b"%d" % number, on_delivery=self._report)
            producer.poll(0)
            number += 1
        producer.flush(80)

    def _report(self, error: object, message: Message) -> None:
        if error:
            self.failed.append(str(error))
        else:
            self.acknowledged.append(int(message.value() or b"-1"))

    def _consume(self) -> None:
        settings = {
            "bootstrap.servers": self._servers,
            "group.id": self.group,
            "auto.offset.reset": "earliest",
            "session.timeout.ms": 10000,
        }
        consumer = Consumer(settings)
        consumer.subscribe([self._topic])
        while not self._drained.is_set():
            for message in consumer.consume(500, 0.2):
                if not message.error():
                    self.consumed.add(int(message.value() or b"-1"))
        consumer.close()


@pytest.fixture
def load(cluster: TestCluster, new_topic: NewTopic) -> Iterator[tuple[Load, str]]:
    topic = new_topic(partitions=3, min_insync_replicas="2")
    made = Load(cluster, topic)
    made.start()
    eventually(lambda: len(made.acknowledged) > 50 and len(made.consumed) > 20, 60, "load runs")
    yield made, topic
    made._stop.set()
    made._drained.set()


def leader(admin: AdminClient, topic: str, group: str) -> int:
    return int(admin.list_topics(topic, timeout=10).topics[topic].partitions[0].leader)


def controller(admin: AdminClient, topic: str, group: str) -> int:
    return int(admin.describe_cluster().result(20).controller.id)


def coordinator(admin: AdminClient, topic: str, group: str) -> int:
    return int(admin.describe_consumer_groups([group])[group].result(20).coordinator.id)


@pytest.mark.parametrize("victim_of", [leader, controller, coordinator])
def test_a_killed_broker_loses_nothing_acknowledged(
    cluster: TestCluster, admin: AdminClient, load: tuple[Load, str], victim_of: Callable[[AdminClient, str, str], int]
) -> None:
    """Killed with SIGKILL under load, started again once clients go on without it; at the end every record is there once."""
    running, topic = load
    victim = victim_of(admin, topic, running.group)
    cluster.kill(victim)
    before = len(running.acknowledged), len(running.consumed)
    eventually(lambda: len(running.acknowledged) > before[0] + 1000, 90, "the producer goes on")
    eventually(lambda: len(running.consumed) > before[1] + 500, 90, "the group goes on")
    cluster.start(victim)
    eventually(lambda: whole(admin, topic, 3), 60, "all replicas are in sync again")
    running.stop()
    assert not running.failed
    stored = [int(message.value() or b"-1") for message in read_all(cluster, topic, len(running.acknowledged), partitions=3)]
    assert sorted(stored) == sorted(set(stored)), "a record is stored twice"
    assert set(running.acknowledged) <= set(stored)


@pytest.fixture
def zookeeper(cluster: TestCluster) -> Iterator[KazooClient]:
    client = KazooClient(cluster.layout.zookeeper_connect)
    client.start(20)
    yield client
    client.stop()
    client.close()


@pytest.mark.spec("Z2", "Z4")
@pytest.mark.parametrize("victim_of", [leader, controller])
def test_a_killed_broker_is_replaced_while_its_session_lives(
    cluster: TestCluster,
    admin: AdminClient,
    zookeeper: KazooClient,
    new_topic: NewTopic,
    victim_of: Callable[[AdminClient, str, str], int],
) -> None:
    """An idempotent producer's next record is acknowledged, and stored once, by a leader that was elected before ZooKeeper had noticed."""
    topic = new_topic(partitions=3, min_insync_replicas="2")
    victim = victim_of(admin, topic, "")
    partitions = admin.list_topics(topic, timeout=10).topics[topic].partitions
    partition = next(number for number, row in partitions.items() if row.leader == victim)
    producer, acknowledged = Producer({"bootstrap.servers": cluster.bootstrap_servers, "enable.idempotence": True}), []
    for value in (b"before", b"after"):
        producer.produce(topic, value, partition=partition, on_delivery=lambda error, message: acknowledged.append(error))
        if value == b"before":
            assert producer.flush(60) == 0
            cluster.kill(victim)
    eventually(lambda: state(zookeeper, topic, partition)["leader"] not in (victim, -1), 60, "another leads")
    assert zookeeper.exists(f"/brokers/ids/{victim}"), "its session had ended first"
    assert producer.flush(60) == 0
    assert acknowledged == [None, None]
    stored = [message.value() for message in read_all(cluster, topic, 2, partitions=3)]
    assert stored == [b"before", b"after"]


def state(zookeeper: KazooClient, topic: str, partition: int) -> dict[str, int]:
    return dict(json.loads(zookeeper.get(f"/brokers/topics/{topic}/partitions/{partition}/state")[0]))


@pytest.mark.spec("B3")
def test_a_broker_paused_beyond_its_session_takes_nothing_with_it(cluster: TestCluster, admin: AdminClient, load: tuple[Load, str]) -> None:
    """It wakes believing to lead; what it then holds is cut to what the new leader has."""
    running, topic = load
    victim = leader(admin, topic, running.group)
    cluster.pause(victim)
    before = len(running.acknowledged)
    eventually(lambda: len(running.acknowledged) > before + 1000, 120, "the producer goes on")
    cluster.resume(victim)
    eventually(lambda: whole(admin, topic, 3), 60, "all replicas are in sync again")
    running.stop()
    stored = [int(message.value() or b"-1") for message in read_all(cluster, topic, len(running.acknowledged), partitions=3)]
    assert set(running.acknowledged) <= set(stored)
