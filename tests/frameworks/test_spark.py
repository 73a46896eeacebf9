"""Spark Structured Streaming copies one topic into another, through the Java client, while a broker dies."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from broker_core.local.services import tail
from tests.support.clients import read_all
from tests.support.cluster import TestCluster, eventually

NewTopic = Callable[..., str]
WAIT_S = 400
ROOT = Path(__file__).resolve().parent.parent.parent


class Copy:
    """The job, going on from where its last run in the folder was."""

    def __init__(self, cluster: TestCluster, source: str, target: str, folder: Path) -> None:
        self._said = folder / "copy.txt"
        command = [sys.executable, "-m", "tests.support.spark_copy", cluster.bootstrap_servers, source, target, str(folder)]
        with self._said.open("wb") as out:
            self.process = subprocess.Popen(command, cwd=ROOT, stdout=out, stderr=out)

    def finish(self) -> None:
        self.process.wait(WAIT_S)
        assert self.process.returncode == 0, tail(self._said, 3000)


@pytest.fixture
def copied(cluster: TestCluster, tmp_path: Path) -> Iterator[Callable[[str, str], Copy]]:
    """Starts a job; none is left behind by a test that failed."""
    started: list[Copy] = []

    def start(source: str, target: str) -> Copy:
        started.append(Copy(cluster, source, target, tmp_path))
        return started[-1]

    yield start
    for job in started:
        job.process.kill()
        job.process.wait()


def test_a_stream_is_written_to_a_topic_while_a_broker_dies(
    cluster: TestCluster, new_topic: NewTopic, copied: Callable[[str, str], Copy]
) -> None:
    """Spark writes at least once; without a death of its own that is once, since its producer is idempotent. Order holds for each key."""
    source, target = new_topic(partitions=3), new_topic(partitions=3)
    values = [b"order %d" % number for number in range(1500)]
    keyed(cluster, source, values)
    job = copied(source, target)
    eventually(lambda: ended(cluster, target) > 0 or job.process.poll() is not None, WAIT_S, "the first batch")
    cluster.kill(2)
    job.finish()
    cluster.start(2)
    cluster.heal()
    keyed(cluster, source, [b"late %d" % number for number in range(300)])
    copied(source, target).finish()
    found = read_all(cluster, target, len(values) + 300, partitions=3)
    by_key: dict[bytes, list[bytes]] = {}
    for message in found:
        assert message.headers() == [("kind", b"order")]
        by_key.setdefault(message.key() or b"", []).append(message.value() or b"")
    wanted: dict[bytes, list[bytes]] = {}
    for batch in (values, [b"late %d" % number for number in range(300)]):
        for number, value in enumerate(batch):
            wanted.setdefault(b"%d" % (number % 7), []).append(value.upper())
    assert by_key == wanted


def keyed(cluster: TestCluster, topic: str, values: list[bytes]) -> None:
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers, "enable.idempotence": True})
    for number, value in enumerate(values):
        producer.produce(topic, value, key=b"%d" % (number % 7), headers=[("kind", b"order")])
    assert producer.flush(60) == 0


def ended(cluster: TestCluster, topic: str) -> int:
    """How many records it holds."""
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap_servers, "group.id": "ends"})
    try:
        return sum(consumer.get_watermark_offsets(TopicPartition(topic, number), 30)[1] for number in range(3))
    finally:
        consumer.close()
