"""A cluster of Apache Kafka and one of ours, two brokers each, with the same settings; and a JVM for the tools of each."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest

from tests.kafka_tools.jvm import Tools
from tests.kafka_tools.sides import Clusters, Side
from tests.support.broker_process import ApacheKafka, Highwater, running
from tests.support.ports import free_ports
from tests.support.zookeeper import running_zookeeper

SETTINGS = {
    "num.partitions": "2",
    "auto.leader.rebalance.enable": "false",
    "offsets.topic.num.partitions": "1",
    "offsets.topic.replication.factor": "2",
    "transaction.state.log.num.partitions": "1",
    "transaction.state.log.replication.factor": "2",
    "transaction.state.log.min.isr": "1",
    "transaction.partition.verification.enable": "false",
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "1000",
    "controlled.shutdown.retry.backoff.ms": "500",
}
KINDS = {"kafka": ApacheKafka, "ours": Highwater}


@pytest.fixture(scope="package")
def clusters(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clusters]:
    folder = tmp_path_factory.mktemp("tools")
    with contextlib.ExitStack() as ends:
        zookeeper = ends.enter_context(running_zookeeper())
        made = {
            name: [
                kind(
                    folder / f"{name}-{number}",
                    free_ports(),
                    {**SETTINGS, "broker.id": str(number), "zookeeper.connect": f"{zookeeper.hosts}/{name}"},
                )
                for number in (1, 2)
            ]
            for name, kind in KINDS.items()
        }
        ends.enter_context(running(*made["kafka"], *made["ours"]))
        sides = [Side(brokers, Tools()) for brokers in made.values()]
        for side in sides:
            ends.callback(side.close)
        yield Clusters(*sides)
