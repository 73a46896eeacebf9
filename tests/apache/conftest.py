"""Apache Kafka and our broker side by side: one ZooKeeper, one broker each in a chroot of its own, the same settings."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.apache.comparison import Pair
from tests.support.broker_process import ApacheKafka, Highwater, running
from tests.support.ports import free_ports
from tests.support.zookeeper import running_zookeeper

SETTINGS = {
    "broker.id": "1",
    "num.partitions": "2",
    "auto.leader.rebalance.enable": "false",
    "offsets.topic.num.partitions": "3",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.num.partitions": "3",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "1000",
}


@pytest.fixture(scope="package")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    folder = tmp_path_factory.mktemp("compared")
    with running_zookeeper() as zookeeper:
        kafka = ApacheKafka(folder / "kafka", free_ports(), {**SETTINGS, "zookeeper.connect": f"{zookeeper.hosts}/kafka"})
        ours = Highwater(folder / "ours", free_ports(), {**SETTINGS, "zookeeper.connect": f"{zookeeper.hosts}/ours"})
        with running(kafka, ours):
            yield Pair(kafka.port, ours.port, zookeeper.hosts)
