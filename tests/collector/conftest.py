"""Two clusters that are none of ours, and the console that collects them: started once, side by side."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.broker_process import ApacheKafka, BrokerProcess
from tests.support.collected import Collected, collecting
from tests.support.kraft import kraft_brokers
from tests.support.ports import free_ports
from tests.support.zookeeper import running_zookeeper

SETTINGS = {
    "auto.create.topics.enable": "false",
    "auto.leader.rebalance.enable": "false",
    "default.replication.factor": "2",
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "3",
    "offsets.topic.replication.factor": "2",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "1",
    "transaction.state.log.replication.factor": "2",
}


@dataclass
class Foreign:
    """One registered cluster; `brokers` are its processes, of which the first is, or may become, the controller."""

    name: str
    brokers: list[Any]
    system: Collected

    @property
    def path(self) -> str:
        return f"/api/v1/clusters/{self.name}"

    @property
    def servers(self) -> str:
        return ",".join(f"127.0.0.1:{broker.port}" for broker in self.brokers)

    def get(self, path: str = "") -> Any:
        return self.system.rest.get(self.path + path)

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        return self.system.rest.ask(method, self.path + path, body)

    def partitions(self, topic: str) -> list[dict[str, Any]]:
        answer = self.system.rest.ask("GET", f"{self.path}/topics/{topic}/partitions?limit=500")
        return list(answer.body["items"]) if answer.status == 200 else []

    def events(self) -> list[str]:
        return [event["sentence"] for event in self.get("/events?limit=200")["items"]]


@pytest.fixture(scope="package")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Foreign]]:
    """Apache Kafka 3.9 with ZooKeeper and Apache Kafka 4 in KRaft mode, two brokers each."""
    folder = tmp_path_factory.mktemp("foreign")
    with ExitStack() as stack:
        zookeeper = stack.enter_context(running_zookeeper())
        old = [_old(folder / f"old-{n}", n, zookeeper.hosts) for n in (1, 2)]
        new = kraft_brokers(folder, 2, SETTINGS)
        stack.enter_context(ended(*old, *new))
        for broker in old:
            broker.launch()
        system = stack.enter_context(collecting(tmp_path_factory.mktemp("console")))
        for broker in old:
            broker.wait()
        for broker in new:
            broker.launch()
        for broker in new:
            broker.wait()
        found = [Foreign("kafka-3", old, system), Foreign("kafka-4", new, system)]
        for one in found:
            system.register(one.name, one.servers)
        yield found


@contextmanager
def ended(*brokers: BrokerProcess) -> Iterator[None]:
    """Those that were started are surely gone afterwards."""
    try:
        yield
    finally:
        for broker in brokers:
            broker.kill()


def _old(folder: Path, broker_id: int, zookeeper: str) -> BrokerProcess:
    own = {"broker.id": str(broker_id), "broker.rack": f"rack-{broker_id}", "zookeeper.connect": zookeeper}
    return ApacheKafka(folder, free_ports(), {**SETTINGS, **own})
