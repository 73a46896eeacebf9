"""The row of a leader's sudden end: from kill -9 to the next acknowledgement of a record sent after it."""

from __future__ import annotations

import time

from confluent_kafka import Producer

from tests.bench.world import QUIET
from tests.kafka_bench.cluster import READY_SECONDS, Cluster, Failed, until
from tests.kafka_bench.row import Better, Measure, Row, Turn

PARTITIONS = 6
BEFORE_SECONDS = 1.0
MOST_SECONDS = 60.0
PAUSE_SECONDS = 0.01
PRODUCER = {"acks": "all", "linger.ms": 0, "topic.metadata.refresh.fast.interval.ms": 100, "reconnect.backoff.max.ms": 500, **QUIET}


class Probe:
    """Sends a small record every hundredth of a second to one partition."""

    def __init__(self, bootstrap: str, topic: str, partition: int) -> None:
        self._producer = Producer({"bootstrap.servers": bootstrap, **PRODUCER})
        self._topic, self._partition = topic, partition
        self.acknowledged: list[tuple[float, float]] = []
        """When it was sent, when that was acknowledged."""

    def send(self) -> None:
        sent = time.monotonic()

        def taken(error: object, _: object) -> None:
            if error is None:
                self.acknowledged.append((sent, time.monotonic()))

        self._producer.produce(self._topic, b"probe", partition=self._partition, on_delivery=taken)
        self._producer.poll(PAUSE_SECONDS)

    def close(self) -> None:
        self._producer.purge()
        self._producer.flush(5)


def failover(turn: Turn) -> None:
    """The topic stays: Kafka is half a minute about deleting one whose broker was killed, and nothing waits for it."""
    cluster, topic = turn.cluster, f"f{turn.number}"
    cluster.create([topic], PARTITIONS, 3)
    partition, leader = led_by_no_controller(cluster, topic)
    probe = Probe(cluster.bootstrap, topic, partition)
    try:
        turn.figures["failover_s"] = _next_ack(cluster, probe, leader)
    finally:
        probe.close()
    cluster.brokers[leader].launch()
    until(lambda: cluster.agreed() and cluster.in_sync(PARTITIONS, 3, topic), READY_SECONDS, "replicas in sync again")


def led_by_no_controller(cluster: Cluster, topic: str) -> tuple[int, int]:
    """A partition and its leader, where the leader's end is not the controller's end as well: that is another row."""
    controller = cluster.controller()
    found: list[tuple[int, int]] = []

    def known() -> bool:
        """A broker that was asked before may know the topic sooner than the next."""
        found[:] = [(p.id, p.leader) for p in cluster.partitions(topic) if p.leader not in (controller, -1)]
        return bool(found)

    until(known, READY_SECONDS, "leader that is not the controller")
    return found[0]


def _next_ack(cluster: Cluster, probe: Probe, leader: int) -> float:
    """Seconds."""
    began = time.monotonic()
    while time.monotonic() - began < BEFORE_SECONDS or not probe.acknowledged:
        probe.send()
    killed = time.monotonic()
    cluster.kill(leader)
    while not (found := [at for sent, at in probe.acknowledged if sent > killed]):
        if time.monotonic() - killed > MOST_SECONDS:
            raise Failed(f"nothing was acknowledged for {MOST_SECONDS:.0f} s")
        probe.send()
    return min(found) - killed


ROWS = (
    Row(
        "failover",
        "the leader is killed, session 6 s",
        "Failure",
        (Measure("failover_s", "kill -9 → next acknowledgement", "s", Better.LESS, goal=0.3),),
        failover,
    ),
)
