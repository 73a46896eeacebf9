"""The brokers that a suite is run against: of either kind, over a ZooKeeper of their own, on free ports of loopback."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from tests.support.broker_process import ApacheKafka, BrokerProcess, Highwater, running
from tests.support.kafka_jars import KAFKA_VERSION
from tests.support.ports import free_ports
from tests.support.zookeeper import running_zookeeper

KINDS: dict[str, type[BrokerProcess]] = {"highwater": Highwater, "kafka": ApacheKafka}
LABELS = {"highwater": "Highwater", "kafka": f"Apache Kafka {KAFKA_VERSION}"}
SETTINGS = {
    "group.initial.rebalance.delay.ms": "0",
    "controlled.shutdown.retry.backoff.ms": "500",
    "log.segment.delete.delay.ms": "1000",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
}


class World(Struct, frozen=True):
    """Where they listen; `folder` is for what a suite writes."""

    kind: str
    ports: tuple[int, ...]
    zookeeper: str
    folder: Path

    @property
    def bootstrap(self) -> str:
        return ",".join(f"127.0.0.1:{port}" for port in self.ports)


@contextlib.contextmanager
def brokers(kind: str, count: int, settings: Mapping[str, str], first_id: int = 1) -> Iterator[World]:
    """So many of them, up and knowing a controller; their ids begin with `first_id`."""
    replicas = str(min(count, 3))
    internal = {
        "offsets.topic.replication.factor": replicas,
        "transaction.state.log.replication.factor": replicas,
        "transaction.state.log.min.isr": str(min(count, 2)),
    }
    with tempfile.TemporaryDirectory(prefix="highwater-conformance-", ignore_cleanup_errors=True) as path, running_zookeeper() as zookeeper:
        folder = Path(path)
        made = [
            KINDS[kind](
                folder / f"broker-{number}",
                free_ports(),
                {**SETTINGS, **internal, **settings, "broker.id": str(number), "zookeeper.connect": zookeeper.hosts},
            )
            for number in range(first_id, first_id + count)
        ]
        with running(*made):
            yield World(kind, tuple(broker.port for broker in made), zookeeper.hosts, folder)
