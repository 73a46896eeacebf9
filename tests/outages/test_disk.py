"""A disk that is full, and data folders with rubbish in them (SOURCES S2, S6)."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import KafkaError, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from tests.support.clients import produce, read_all, whole
from tests.support.cluster import TestCluster, eventually

MakeTopic = Callable[..., str]
DISK_BYTES = 24 * 1024 * 1024
VICTIM = 2


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of a few MB for one broker's folder."""
    folder = tmp_path / "disk"
    folder.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", str(folder)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        pytest.skip(f"no file system can be mounted here: {done.stderr.strip()}")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def one_replica_topic(cluster: TestCluster, admin: AdminClient, name: str) -> str:
    wanted = NewTopic(name, num_partitions=1, replica_assignment=[[VICTIM]], config={"min.insync.replicas": "1"})
    admin.create_topics([wanted])[name].result(30)
    eventually(lambda: whole(admin, name, 1), 30, f"{name} is whole")
    return name


def delivery_error(cluster: TestCluster, topic: str) -> KafkaError | None:
    """What one record's delivery says, without retries."""
    found: list[KafkaError | None] = []
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers, "acks": "all", "retries": 0, "delivery.timeout.ms": 10000})
    producer.produce(topic, bytes(50_000), on_delivery=lambda error, message: found.append(error))
    producer.flush(20)
    return found[0]


def test_a_full_disk_is_an_error_to_producers_and_heals(tmp_path: Path, small_disk: Path) -> None:
    """KAFKA_STORAGE_ERROR from the broker whose disk is full; it lives on, serves reads, and writes again once there is space."""
    cluster = TestCluster(tmp_path / "data")
    cluster.layout.folder(f"broker-{VICTIM}")
    (cluster.data / f"broker-{VICTIM}" / "log").symlink_to(small_disk)
    try:
        cluster.up()
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
        topic = one_replica_topic(cluster, admin, "on-the-small-disk")
        pid = cluster.pid(VICTIM)
        stored = len(produce(cluster, topic, [b"before"] * 10))
        ballast = small_disk / "ballast"
        with ballast.open("wb") as file:
            free = os.statvfs(small_disk)
            file.write(bytes(free.f_bavail * free.f_frsize - 100_000))
        refused = eventually(lambda: delivery_error(cluster, topic), 30, "a write is refused")
        assert refused.code() == KafkaError.KAFKA_STORAGE_ERROR, refused
        assert cluster.pid(VICTIM) == pid
        assert len(read_all(cluster, topic, stored)) >= stored
        ballast.unlink()
        eventually(lambda: delivery_error(cluster, topic) is None, 60, "writes are taken again")
        assert cluster.pid(VICTIM) == pid, "the broker has not been restarted"
    finally:
        cluster.down()


def test_rubbish_in_the_data_folder_does_not_stop_a_start(cluster: TestCluster, admin: AdminClient, new_topic: MakeTopic) -> None:
    """Broken checkpoints, torn segments, foreign files: the broker starts, says so, and gets from its peers what it lost."""
    topic = new_topic(partitions=1)
    produce(cluster, topic, [b"%d" % number for number in range(1000)])
    cluster.kill(VICTIM)
    folder = cluster.layout.broker_folder(VICTIM) / "log"
    for name in ("recovery-point-offset-checkpoint", "replication-offset-checkpoint", "log-start-offset-checkpoint"):
        (folder / name).write_bytes(b"\xff\x00 not a checkpoint\n" * 10)
    (folder / "coordination-session.json").write_bytes(b"{")
    log = folder / f"{topic}-0"
    with (log / "00000000000000000000.log").open("r+b") as file:
        file.seek(200)
        file.write(b"\xde\xad" * 40)
    (log / "00000000000000000000.index").write_bytes(b"\x01" * 333)
    (log / "00000000000000000000.timeindex").write_bytes(b"\x02" * 77)
    (log / "leader-epoch-checkpoint").write_text("0\n1\nnonsense\n")
    (log / "partition.metadata").write_text("version: 0\ntopic_id: nonsense\n")
    (log / "00000000000000000900.snapshot").write_bytes(b"\x00" * 13)
    (log / "99999.log").write_bytes(b"x")
    (log / "notes.txt").write_text("mine")
    (folder / "not-a-partition").mkdir()
    (folder / "topic-x-0").mkdir()
    (folder / "half-7.0123456789abcdef0123456789abcdef-delete").mkdir()
    (folder / "file-3").write_text("a file, not a folder")
    cluster.start(VICTIM)
    eventually(lambda: whole(admin, topic, 3), 60, "the broker is back in the ISR")
    assert [int(message.value() or b"-1") for message in read_all(cluster, topic, 1000)] == list(range(1000))


def test_a_folder_of_another_broker_or_cluster_is_refused(cluster: TestCluster, admin: AdminClient) -> None:
    """The process ends with a sentence; the cluster goes on, and the right folder starts."""
    cluster.stop(VICTIM)
    meta = cluster.layout.broker_folder(VICTIM) / "log" / "meta.properties"
    kept = meta.read_text()
    for wrong, words in (
        (kept.replace(f"broker.id={VICTIM}", "broker.id=7"), "7"),
        ("version=0\nbroker.id=2\ncluster.id=AAAAAAAAAAAAAAAAAAAAAA\n", "AAAAAAAAAAAAAAAAAAAAAA"),
        ("\0\0rubbish", "meta.properties"),
    ):
        meta.write_text(wrong)
        with pytest.raises(Exception, match=words) as caught:
            cluster.start(VICTIM)
        assert "Traceback" not in str(caught.value)
    meta.write_text(kept)
    cluster.start(VICTIM)


def test_a_lost_folder_is_filled_again(cluster: TestCluster, admin: AdminClient, new_topic: MakeTopic) -> None:
    topic = new_topic(partitions=1)
    produce(cluster, topic, [b"%d" % number for number in range(100)])
    cluster.kill(VICTIM)
    shutil.rmtree(cluster.layout.broker_folder(VICTIM) / "log")
    cluster.start(VICTIM)
    eventually(lambda: whole(admin, topic, 3), 60, "the broker is back in the ISR")
    for other in (1, 3):
        cluster.kill(other)
    cluster.heal()
    assert [int(message.value() or b"-1") for message in read_all(cluster, topic, 100)] == list(range(100))
