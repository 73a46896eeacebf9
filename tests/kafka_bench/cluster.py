"""Three brokers of one kind, in a chroot of the one ZooKeeper, with the same settings whatever their kind."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, NewTopic

from broker_core.local.process import wait_until
from tests.bench.world import QUIET, cpu_seconds, rss_bytes
from tests.kafka_bench.kinds import Kind
from tests.support.broker_process import BrokerProcess
from tests.support.metadata import metadata_of
from tests.support.ports import free_ports

BROKER_IDS = (1, 2, 3)
SETTINGS = {
    "zookeeper.session.timeout.ms": "6000",
    "default.replication.factor": "3",
    "offsets.topic.replication.factor": "3",
    "auto.create.topics.enable": "false",
    "group.initial.rebalance.delay.ms": "0",
    "log.segment.delete.delay.ms": "100",
    "controlled.shutdown.retry.backoff.ms": "500",
}
START_SECONDS = 120.0
READY_SECONDS = 180.0
DELETE_SECONDS = 60.0


class Failed(Exception):
    """The cluster did not become what it should have in time; the message says what."""


class Cluster:
    def __init__(self, kind: Kind, folder: Path, zookeeper: str) -> None:
        self.kind = kind
        self.folder = folder
        chroot = f"{zookeeper}/{folder.name}"
        self.brokers: dict[int, BrokerProcess] = {
            broker_id: kind.broker(
                folder / str(broker_id), free_ports(), {**SETTINGS, "broker.id": str(broker_id), "zookeeper.connect": chroot}
            )
            for broker_id in BROKER_IDS
        }
        self._admin: AdminClient | None = None

    @property
    def bootstrap(self) -> str:
        return ",".join(f"127.0.0.1:{broker.port}" for broker in self.brokers.values())

    @property
    def admin(self) -> AdminClient:
        self._admin = self._admin or AdminClient({"bootstrap.servers": self.bootstrap, **QUIET})
        return self._admin

    def start(self) -> None:
        """Returns once each of the three names all three and a controller."""
        for broker in self.brokers.values():
            broker.launch()
        until(self.agreed, START_SECONDS, "three brokers that know each other")

    def agreed(self) -> bool:
        """Whether each of the three names all three and a controller, the same."""
        told = [metadata_of(broker.port) for broker in self.brokers.values()]
        known = {answer and (answer.controller_id, len(answer.brokers)) for answer in told}
        return len(known) == 1 and known <= {(broker_id, len(BROKER_IDS)) for broker_id in BROKER_IDS}

    def kill(self, broker_id: int) -> None:
        self.brokers[broker_id].kill()

    def close(self) -> None:
        """Whatever lives is killed."""
        for broker in self.brokers.values():
            broker.kill()

    def pids(self) -> list[int]:
        return [broker.process.pid for broker in self.brokers.values() if broker.process is not None]

    def whole(self) -> bool:
        """Whether none of its processes has ended."""
        return not any(broker.ended() for broker in self.brokers.values())

    def cpu_seconds(self) -> float:
        """Processor time that the living brokers have used."""
        return sum(map(cpu_seconds, self.pids()))

    def rss_mb(self) -> float:
        """Resident memory of all brokers together."""
        return sum(map(rss_bytes, self.pids())) / 1e6

    def controller(self, of: int | None = None) -> int:
        """The controller's id as a living broker, or one of them, names it; -1 while there is none."""
        for broker_id, broker in self.brokers.items():
            if not broker.ended() and of in (None, broker_id) and (answer := metadata_of(broker.port)) is not None:
                return int(answer.controller_id)
        return -1

    def partitions(self, topic: str | None = None) -> list[Any]:
        """Partitions as the metadata of one living broker has them: `leader`, `replicas`, `isrs`; none where none answers."""
        try:
            topics = self.admin.list_topics(topic, timeout=30).topics
        except KafkaException:
            return []
        return [p for name, found in topics.items() if not name.startswith("__") for p in found.partitions.values()]

    @contextlib.contextmanager
    def topic(self, name: str, partitions: int, replicas: int) -> Iterator[str]:
        """A topic all of whose replicas are in sync; gone from all disks afterwards, so that no other row pays for its deletion."""
        self.create([name], partitions, replicas)
        yield name
        self.delete(name)

    def create(self, names: list[str], partitions: int, replicas: int) -> None:
        """Topics of so many partitions each, in one request; returns once all replicas are in sync."""
        asked = self.admin.create_topics([NewTopic(name, partitions, replicas) for name in names], operation_timeout=0)
        for future in asked.values():
            future.result(READY_SECONDS)
        topic = names[0] if len(names) == 1 else None
        until(lambda: self.in_sync(partitions * len(names), replicas, topic), READY_SECONDS, "replicas in sync")

    def in_sync(self, count: int, replicas: int, topic: str | None = None) -> bool:
        found = self.partitions(topic)
        return len(found) >= count and all(p.leader > 0 and len(p.isrs) >= replicas for p in found)

    def delete(self, name: str) -> None:
        self.admin.delete_topics([name], operation_timeout=30)[name].result(DELETE_SECONDS)
        until(lambda: not any(self.folder.glob(f"*/log/{name}-*")), DELETE_SECONDS, f"{name} deleted from disk")


def until(condition: Callable[[], object], seconds: float, what: str) -> float:
    """Seconds until it held; `Failed` names what did not."""
    began = time.monotonic()
    if not wait_until(lambda: bool(condition()), seconds):
        raise Failed(f"no {what} within {seconds:.0f} s")
    return time.monotonic() - began
