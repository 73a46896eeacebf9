"""Which clusters live: none, one of each kind with its JVM warmed, or a single new one."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from tests.kafka_bench import children
from tests.kafka_bench.cluster import Cluster
from tests.kafka_bench.kinds import KINDS, Kind
from tests.kafka_bench.loads import LARGE_BATCH, Load, ProduceTask, Throughput

WARMING = (Load(1024, acks="all", replicas=3, partitions=6), Load(1024, LARGE_BATCH, partitions=6))

MOST_WARMINGS = 8
CLEARLY = 0.95


class Lives:
    def __init__(self, folder: Path, zookeeper: str, warm_seconds: float) -> None:
        self._folder = folder
        self._zookeeper = zookeeper
        self._warm_seconds = warm_seconds
        self._both: dict[str, Cluster] = {}
        self._made = 0

    def new(self, kind: Kind) -> Cluster:
        """A cluster that was never started, with a folder and a chroot of its own."""
        self._made += 1
        return Cluster(kind, self._folder / f"{kind.name}-{self._made}", self._zookeeper)

    @contextlib.contextmanager
    def alone(self, kind: Kind) -> Iterator[Cluster]:
        """One that is not started yet; nothing else lives meanwhile."""
        self.close()
        cluster = self.new(kind)
        try:
            yield cluster
        finally:
            cluster.close()

    def beside(self, kind: Kind) -> Cluster:
        """The one of this kind while one of each kind lives; started and warmed when it is first asked for, or something of it died."""
        if not self._both or not all(cluster.whole() for cluster in self._both.values()):
            self.close()
            for each in KINDS:
                self._both[each.name] = self.new(each)
                self._both[each.name].start()
            for cluster in self._both.values():
                self._warm(cluster)
        return self._both[kind.name]

    def _warm(self, cluster: Cluster) -> None:
        """Until a turn is no longer clearly better than those before it: a JVM compiles what it has run often enough."""
        best, costs = float("inf"), list[float]()
        while len(costs) < MOST_WARMINGS and (not costs or costs[-1] < best * CLEARLY):
            best = min([*costs, best])
            costs.append(sum(self._warming(cluster, load, len(costs)) for load in WARMING))

    def _warming(self, cluster: Cluster, load: Load, number: int) -> float:
        """Brokers' CPU seconds a record: steadier than the rate on a busy machine."""
        with cluster.topic(f"warm{number}-{load.name}", load.partitions, load.replicas) as topic:
            task = ProduceTask(cluster.bootstrap, topic, load, self._warm_seconds / len(WARMING), cluster.pids())
            found = children.native(task, Throughput)
        return found.broker_cpu / found.records

    def close(self) -> None:
        for cluster in self._both.values():
            cluster.close()
        self._both.clear()
