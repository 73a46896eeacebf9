"""Consumers read from the replica of their own rack (KIP-392), by real clients; brokers with racks, in a cluster of their own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tests.support import clients
from tests.support.cluster import TestCluster, eventually
from tests.support.shared import running

TOPIC = "near"
RACKS = {1: "north", 2: "east", 3: "south"}

pytestmark = pytest.mark.spec("R10")


@pytest.fixture(scope="module")
def racked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestCluster]:
    selector = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
    cluster = TestCluster(tmp_path_factory.mktemp("racked") / "data", {"replica.selector.class": selector})
    for broker_id, rack in RACKS.items():
        with (cluster.layout.folder(f"broker-{broker_id}") / "server.properties").open("a") as file:
            file.write(f"broker.rack={rack}\n")
    yield from running(cluster)


@pytest.fixture(scope="module")
def topic(racked: TestCluster) -> str:
    clients.make(AdminClient({"bootstrap.servers": racked.bootstrap_servers}), NewTopic(TOPIC, 1, replica_assignment=[[1, 2, 3]]))
    clients.produce(racked, TOPIC, [b"%d" % number for number in range(100)])
    return TOPIC


class Reader:
    """Reads the topic from its beginning, and knows from librdkafka's statistics which broker it has the records from."""

    def __init__(self, cluster: TestCluster, topic: str, rack: str) -> None:
        self.topic = topic
        self.read: list[bytes] = []
        self.source: int | None = None
        settings = {"bootstrap.servers": cluster.bootstrap_servers, "group.id": rack, "client.rack": rack, "enable.auto.commit": False}
        self._consumer = Consumer({**settings, "statistics.interval.ms": 200, "stats_cb": self._told})
        self._consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])

    def _told(self, text: str) -> None:
        topics: dict[str, Any] = json.loads(text)["topics"]
        partition = topics.get(self.topic, {}).get("partitions", {}).get("0")
        self.source = partition["broker"] if partition else None

    def go_on(self) -> None:
        self.read += [message.value() or b"" for message in self._consumer.consume(500, 0.2) if message.error() is None]

    def until(self, count: int, source: int) -> None:
        """Has read so many records, and reads on from that broker."""

        def so() -> bool:
            self.go_on()
            return len(self.read) >= count and self.source == source

        eventually(so, 60, f"{count} records read and broker {source} read from; {len(self.read)} from {self.source}")

    def close(self) -> None:
        self._consumer.close()


@pytest.mark.parametrize(("rack", "broker_id"), [("north", 1), ("east", 2), ("south", 3), ("nowhere", 1)])
def test_a_consumer_reads_from_its_own_rack(racked: TestCluster, topic: str, rack: str, broker_id: int) -> None:
    """Broker 1 leads; who is in no broker's rack reads from it."""
    reader = Reader(racked, topic, rack)
    reader.until(100, broker_id)
    reader.close()


def test_a_consumer_reads_on_when_the_broker_of_its_rack_dies(racked: TestCluster, topic: str) -> None:
    """From the leader, and from its own rack again once that replica is back in sync; each record once."""
    reader = Reader(racked, topic, "east")
    reader.until(100, 2)
    racked.kill(2)
    clients.produce(racked, topic, [b"%d" % number for number in range(100, 200)])
    reader.until(200, 1)
    racked.start(2)
    racked.heal()
    clients.produce(racked, topic, [b"%d" % number for number in range(200, 300)])
    reader.until(300, 2)
    assert [int(value) for value in reader.read] == list(range(300))
    reader.close()
