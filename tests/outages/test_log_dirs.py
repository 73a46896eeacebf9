"""Three broker processes with two data folders each: one folder is taken away, and a replica moves under load and a kill -9."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from broker_core.errors import ErrorCode
from broker_core.local import brokers
from broker_core.local.layout import BROKER_IDS
from broker_core.protocol.api import ApiKey
from tests.apache.side import Side
from tests.support.clients import make, read_all, whole
from tests.support.cluster import TestCluster, eventually

pytestmark = pytest.mark.spec("S6")

VICTIM = 2
SECONDS = 150.0
RECORD_BYTES = 1_000
COPIED_PER_SECOND = 1_000_000


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestCluster]:
    made = TestCluster(tmp_path_factory.mktemp("folders") / "data")
    for broker_id in BROKER_IDS:
        properties = brokers.write_properties(made.layout, broker_id)
        lines = [line for line in properties.read_text().splitlines() if not line.startswith("log.dirs=")]
        folders = ",".join(map(str, folders_of(made, broker_id)))
        throttle = f"replica.alter.log.dirs.io.max.bytes.per.second={COPIED_PER_SECOND}"
        properties.write_text("\n".join([*lines, f"log.dirs={folders}", throttle]) + "\n")
    try:
        made.up()
        yield made
    finally:
        made.down()


@pytest.fixture
def admin(cluster: TestCluster) -> AdminClient:
    return AdminClient({"bootstrap.servers": cluster.bootstrap_servers})


def folders_of(cluster: TestCluster, broker_id: int) -> tuple[Path, Path]:
    folder = cluster.layout.broker_folder(broker_id)
    return folder / "log", folder / "more"


def ask(cluster: TestCluster, broker_id: int, key: ApiKey, version: int, payload: dict[str, Any]) -> Any:
    with closing(Side(cluster.layout.port_of(broker_id))) as side:
        return side.raw(key, version, payload)


def described(cluster: TestCluster, broker_id: int) -> dict[str, Any]:
    return {row.log_dir: row for row in ask(cluster, broker_id, ApiKey.DESCRIBE_LOG_DIRS, 4, {"topics": None}).results}


def where(cluster: TestCluster, broker_id: int, topic: str) -> dict[int, Path]:
    """Each partition's folder, by the names on disk."""
    found = {}
    for folder in folders_of(cluster, broker_id):
        for path in folder.glob(f"{topic}-*"):
            number = path.name.removeprefix(f"{topic}-")
            if number.isdigit():
                found[int(number)] = folder
    return found


def leaders(admin: AdminClient, topic: str) -> dict[int, int]:
    return {number: partition.leader for number, partition in admin.list_topics(topic, timeout=10).topics[topic].partitions.items()}


class Load:
    """An idempotent producer and a consumer that go on until `stop`; `sent` were acknowledged, `read` came."""

    def __init__(self, cluster: TestCluster, topic: str, partitions: int) -> None:
        self.sent: set[int] = set()
        self.failed: list[Any] = []
        self.read: set[int] = set()
        self._over = threading.Event()
        self._topic, self._partitions = topic, partitions
        servers = {"bootstrap.servers": cluster.bootstrap_servers}
        self._producer = Producer({**servers, "enable.idempotence": True, "linger.ms": 20, "message.timeout.ms": 240_000})
        self._consumer = Consumer({**servers, "group.id": topic, "auto.offset.reset": "earliest"})
        self._threads = [threading.Thread(target=self._produce), threading.Thread(target=self._consume)]
        for thread in self._threads:
            thread.start()

    def _produce(self) -> None:
        number = 0
        while not self._over.wait(0.005):
            self._producer.produce(
                self._topic,
                b"%d " % number + bytes(RECORD_BYTES),
                partition=number % self._partitions,
                on_delivery=lambda error, _, number=number: self.failed.append(error) if error else self.sent.add(number),
            )
            self._producer.poll(0)
            number += 1
        self._producer.flush(200)

    def _consume(self) -> None:
        self._consumer.subscribe([self._topic])
        while self._threads[0].is_alive() or not self.sent <= self.read:
            for message in self._consumer.consume(500, 0.2):
                if message.error() is None:
                    self.read.add(int((message.value() or b"").split()[0]))
        self._consumer.close()

    def stop(self) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join(SECONDS)
            assert not thread.is_alive(), f"{len(self.sent - self.read)} of {len(self.sent)} records were not read"
        assert not self.failed


def test_one_folder_is_taken_away_and_the_other_serves(cluster: TestCluster, admin: AdminClient) -> None:
    topic, partitions = "taken", 6
    make(admin, NewTopic(topic, partitions, 3))
    lost, kept = folders_of(cluster, VICTIM)[::-1]
    places = where(cluster, VICTIM, topic)
    gone = sorted(number for number, folder in places.items() if folder == lost)
    assert 0 < len(gone) < partitions
    pid = cluster.pid(VICTIM)
    load = Load(cluster, topic, partitions)
    eventually(lambda: len(load.sent) > 200, SECONDS, "records are acknowledged")
    aside = lost.with_name("aside")
    lost.rename(aside)
    lost.write_text("no folder any more")
    try:
        eventually(lambda: VICTIM not in {leaders(admin, topic)[number] for number in gone}, SECONDS, "others lead what was there")
        eventually(
            lambda: VICTIM in {leaders(admin, topic)[n] for n in places if n not in gone} or described(cluster, VICTIM), SECONDS, "it lives"
        )
        before = len(load.sent)
        eventually(lambda: len(load.sent) > before + 500, SECONDS, "the load goes on")
        assert cluster.pid(VICTIM) == pid, "the broker lives on"
        rows = described(cluster, VICTIM)
        assert rows[str(lost)].error_code == ErrorCode.KAFKA_STORAGE_ERROR
        well = rows[str(kept)]
        assert well.error_code == ErrorCode.NONE
        assert 0 < well.usable_bytes <= well.total_bytes
        assert {each.partition_index for each in next(row for row in well.topics if row.name == topic).partitions} == set(places) - set(
            gone
        )

        cluster.stop(VICTIM)
        cluster.start(VICTIM)
        assert described(cluster, VICTIM)[str(lost)].error_code == ErrorCode.KAFKA_STORAGE_ERROR, "it starts without the folder"
        assert not any(number in where(cluster, VICTIM, topic) for number in gone), "nothing is made anew"
        cluster.stop(VICTIM)
    finally:
        lost.unlink()
        aside.rename(lost)
    cluster.start(VICTIM)
    eventually(lambda: whole(admin, topic, 3), SECONDS, "the folder is back and its replicas are in sync")
    assert where(cluster, VICTIM, topic) == places
    load.stop()
    values = sorted(int((message.value() or b"").split()[0]) for message in read_all(cluster, topic, len(load.sent), partitions))
    assert values == sorted(load.sent)


def test_a_replica_moves_under_load_and_a_kill(cluster: TestCluster, admin: AdminClient) -> None:
    """The leader's: it is killed in the middle, goes on after its start, and has the same bytes as the others in the end."""
    topic = "moved"
    make(admin, NewTopic(topic, 1, 3, config={"segment.bytes": "3000000"}))
    load = Load(cluster, topic, 1)
    eventually(lambda: len(load.sent) > 6_000, SECONDS, "there is something to move")
    mover = leaders(admin, topic)[0]
    source = where(cluster, mover, topic)[0]
    target = next(folder for folder in folders_of(cluster, mover) if folder != source)
    rows = [{"path": str(target), "topics": [{"name": topic, "partitions": [0]}]}]
    answer = ask(cluster, mover, ApiKey.ALTER_REPLICA_LOG_DIRS, 2, {"dirs": rows})
    assert answer.results[0].partitions[0].error_code == ErrorCode.NONE
    future = eventually(lambda: list(target.glob(f"{topic}-0.*-future")), SECONDS, "the future log is there")[0]
    eventually(lambda: sum(file.stat().st_size for file in future.glob("*.log")) > 1_000_000, SECONDS, "some is copied")
    cluster.kill(mover)
    assert future.is_dir(), "it was killed in the middle"
    assert where(cluster, mover, topic) == {0: source}
    cluster.start(mover)
    eventually(lambda: where(cluster, mover, topic) == {0: target}, SECONDS, "the move has ended")
    eventually(lambda: not list(source.glob(f"{topic}-0*")), SECONDS, "nothing is left where it was")
    load.stop()
    eventually(lambda: whole(admin, topic, 3), SECONDS, "all are in sync")

    def contents(broker_id: int) -> bytes:
        folder = where(cluster, broker_id, topic)[0] / f"{topic}-0"
        return b"".join(file.read_bytes() for file in sorted(folder.glob("*.log")))

    eventually(lambda: len({contents(broker_id) for broker_id in BROKER_IDS}) == 1, SECONDS, "the bytes are equal")
    values = [int((message.value() or b"").split()[0]) for message in read_all(cluster, topic, len(load.sent))]
    assert sorted(values) == sorted(load.sent)
