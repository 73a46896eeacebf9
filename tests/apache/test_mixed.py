"""One cluster of both: an Apache Kafka broker among ours, as controller, leader and follower, coming and going.

At its defaults, where leaders of either kind ask a controller of the other for ISR changes, and with 2.7-IV1, where they write them into
the store: all have to speak the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient
from kazoo.client import KazooClient

from broker_core.errors import ErrorCode
from broker_core.protocol.api import ApiKey
from tests.apache.comparison import run
from tests.apache.conftest import SETTINGS
from tests.support.broker_process import ApacheKafka, BrokerProcess, Highwater
from tests.support.clients import produce, read_all, whole
from tests.support.cluster import eventually
from tests.support.ports import free_ports
from tests.support.zookeeper import running_zookeeper

pytestmark = pytest.mark.spec("R4", "Z5")

KAFKA, OURS = 4, (1, 2)
TOPIC = "mixed"
ASSIGNMENT = [[1, KAFKA, 2], [KAFKA, 1, 2], [2, KAFKA, 1]]
OLD = {"inter.broker.protocol.version": "2.7-IV1"}
DEFAULTS: dict[str, str] = {}


class Mixed:
    """Brokers 1 and 2 are ours, 4 is Kafka's."""

    def __init__(self, folder: Path, zookeeper: str, spoken: dict[str, str]) -> None:
        self.brokers: dict[int, BrokerProcess] = {}
        self.hosts = f"{zookeeper}/mixed"
        for broker_id in (*OURS, KAFKA):
            settings = {
                **SETTINGS,
                "broker.id": str(broker_id),
                "zookeeper.connect": self.hosts,
                "offsets.topic.replication.factor": "3",
                "controlled.shutdown.retry.backoff.ms": "500",
                "zookeeper.session.timeout.ms": "6000",
                **spoken,
            }
            kind = ApacheKafka if broker_id == KAFKA else Highwater
            self.brokers[broker_id] = kind(folder / str(broker_id), free_ports(), settings)

    @property
    def bootstrap_servers(self) -> str:
        return ",".join(f"127.0.0.1:{broker.port}" for broker in self.brokers.values())

    @property
    def admin(self) -> AdminClient:
        return AdminClient({"bootstrap.servers": self.bootstrap_servers})

    def ask(self, broker_id: int, key: ApiKey, version: int, payload: dict[str, Any]) -> Any:
        return run(self.brokers[broker_id].port, lambda side: side.raw(key, version, payload))

    def create(self) -> None:
        placed = [{"partition_index": index, "broker_ids": brokers} for index, brokers in enumerate(ASSIGNMENT)]
        topic = {"name": TOPIC, "num_partitions": -1, "replication_factor": -1, "assignments": placed}
        wanted = {**topic, "configs": [{"name": "min.insync.replicas", "value": "2"}]}
        answer = self.ask(self.controller(), ApiKey.CREATE_TOPICS, 7, {"topics": [wanted], "timeout": 30_000, "validate_only": False})
        assert answer.topics[0].error_code == ErrorCode.NONE, answer

    def metadata(self, broker_id: int) -> Any:
        return self.ask(broker_id, ApiKey.METADATA, 9, {"topics": [{"name": TOPIC}], "allow_auto_topic_creation": False})

    def leaders(self) -> list[int]:
        """By partition, as a broker of ours and Kafka's say when they say the same; else nothing."""
        running = [broker_id for broker_id, broker in self.brokers.items() if not broker.ended()]
        found = {tuple(p.leader_id for p in sorted(self.metadata(b).topics[0].partitions)) for b in running}
        return list(found.pop()) if len(found) == 1 else []

    def controller(self) -> int:
        running = next(broker_id for broker_id, broker in self.brokers.items() if not broker.ended())
        return int(self.metadata(running).controller_id)

    def let_control(self, wanted: Sequence[int]) -> None:
        """Whoever else is the controller is deposed, until one of these is the first to take its place."""
        with self.zookeeper() as client:

            def does() -> bool:
                found = client.exists("/controller") and json.loads(client.get("/controller")[0])["brokerid"]
                if found and found not in wanted:
                    client.delete("/controller")
                return found in wanted

            eventually(does, 60, f"one of {wanted} controls")
            eventually(lambda: self.controller() in wanted, 30, "all know it")

    @contextmanager
    def zookeeper(self) -> Iterator[KazooClient]:
        client = KazooClient(self.hosts)
        client.start(timeout=30)
        try:
            yield client
        finally:
            client.stop()
            client.close()

    def isr_notifications(self) -> int:
        """How often leaders that wrote ISRs themselves have said so, or were heard."""
        with self.zookeeper() as client:
            return int(client.get("/isr_change_notification")[1].cversion)

    def until_whole(self) -> None:
        eventually(lambda: whole(self.admin, TOPIC, 3), 60, "all replicas are in sync")

    def prefer(self) -> None:
        """The first replica of each partition leads again."""
        payload = {"election_type": 0, "topic_partitions": None, "timeout": 10_000}
        eventually(lambda: self.ask(self.controller(), ApiKey.ELECT_LEADERS, 2, payload).error_code == 0, 30, "an election")
        eventually(lambda: self.leaders() == [1, KAFKA, 2], 30, "preferred leaders")


@contextmanager
def cluster_of_both(folder: Path, spoken: dict[str, str]) -> Iterator[Mixed]:
    with running_zookeeper() as zookeeper:
        made = Mixed(folder, zookeeper.hosts, spoken)
        try:
            made.brokers[KAFKA].start()
            for broker_id in OURS:
                made.brokers[broker_id].launch()
            for broker_id in OURS:
                made.brokers[broker_id].wait()
            eventually(lambda: len(made.metadata(1).brokers) == 3 == len(made.metadata(KAFKA).brokers), 30, "all know each other")
            yield made
        finally:
            for broker in made.brokers.values():
                broker.kill()


def write_and_read(mixed: Mixed, written: list[bytes]) -> None:
    """More records, acknowledged by all in-sync replicas, some to each partition; then all there are."""
    values = [b"%d" % (len(written) + number) for number in range(90)]
    written += values
    delivered = produce(mixed, TOPIC, values, **{"sticky.partitioning.linger.ms": 0})
    assert {message.partition() for message in delivered} == {0, 1, 2}
    assert sorted(message.value() for message in read_all(mixed, TOPIC, len(written), len(ASSIGNMENT))) == sorted(written)


def test_kafka_and_ours_are_one_cluster_that_speaks_2_7(tmp_path: Path) -> None:
    with cluster_of_both(tmp_path, OLD) as mixed:
        come_and_go(mixed)
        assert mixed.isr_notifications() > 0


def come_and_go(mixed: Mixed) -> None:
    assert mixed.controller() == KAFKA
    mixed.create()
    mixed.until_whole()
    written: list[bytes] = []
    write_and_read(mixed, written)

    mixed.brokers[KAFKA].stop()
    eventually(lambda: mixed.controller() in OURS and KAFKA not in mixed.leaders() != [], 60, "ours lead and control")
    write_and_read(mixed, written)
    mixed.brokers[KAFKA].start()
    mixed.until_whole()
    mixed.prefer()
    write_and_read(mixed, written)

    mixed.brokers[1].kill()
    eventually(lambda: mixed.leaders() == [KAFKA, KAFKA, 2], 60, "Kafka leads what broker 1 led")
    write_and_read(mixed, written)
    mixed.brokers[1].start()
    mixed.let_control([KAFKA])  # It tells no topic ids, though the logs have some since one of ours controlled.
    mixed.until_whole()
    mixed.prefer()
    write_and_read(mixed, written)

    end_alike(mixed)


def end_alike(mixed: Mixed) -> None:
    for broker in mixed.brokers.values():
        broker.stop()
    for partition in range(len(ASSIGNMENT)):
        logs = [next((broker.log_dir / f"{TOPIC}-{partition}").glob("*.log")).read_bytes() for broker in mixed.brokers.values()]
        assert logs[0] and logs[1:] == logs[:1] * 2, "each replica has the same bytes"


def test_at_kafkas_defaults_each_controls_the_other_under_kills(tmp_path: Path) -> None:
    """Whoever leads asks whoever controls: nobody writes an ISR into the store by himself."""
    with cluster_of_both(tmp_path, DEFAULTS) as mixed:
        mixed.create()
        mixed.until_whole()
        written: list[bytes] = []
        for controllers, killed in (([KAFKA], 1), (OURS, KAFKA)):
            mixed.let_control(controllers)
            mixed.prefer()
            write_and_read(mixed, written)
            mixed.brokers[killed].kill()
            eventually(lambda killed=killed: killed not in mixed.leaders() != [], 60, f"others lead what {killed} led")  # type: ignore[misc]
            write_and_read(mixed, written)
            mixed.brokers[killed].start()
            mixed.until_whole()
            assert_ids_differ(mixed)
        mixed.prefer()
        write_and_read(mixed, written)
        assert mixed.isr_notifications() == 0
        end_alike(mixed)


def assert_ids_differ(mixed: Mixed) -> None:
    """Brokers of Kafka have the controller give them producer ids, ours take them from the store: from the same row."""
    asked = {"transactional_id": None, "transaction_timeout": 60_000, "producer_id": -1, "producer_epoch": -1}
    given = []

    def is_given(broker_id: int) -> bool:
        """Kafka's refuses the first one while it asks for a block of them."""
        answer = mixed.ask(broker_id, ApiKey.INIT_PRODUCER_ID, 4, asked)
        given.extend([answer.producer_id] * (answer.error_code == ErrorCode.NONE))
        assert answer.error_code in (ErrorCode.NONE, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        return bool(answer.error_code == ErrorCode.NONE)

    for broker_id in mixed.brokers:
        eventually(lambda broker_id=broker_id: is_given(broker_id), 60, f"a producer id by {broker_id}")  # type: ignore[misc]
    assert len(set(given)) == len(mixed.brokers)
