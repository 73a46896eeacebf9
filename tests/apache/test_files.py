"""The data folder is Kafka's: its tools read ours, and a folder serves one broker after the other.

Ours writes, Apache Kafka goes on in the same folder with the same znodes, then ours again; each finds all that was there.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kazoo.client import KazooClient

from broker_core.local.process import wait_until
from broker_core.local.services import java_binary
from broker_core.protocol.api import ApiKey
from broker_core.records.batch import Codec, Record, build_batch
from tests.apache.comparison import run
from tests.apache.conftest import SETTINGS
from tests.apache.side import Side, batch
from tests.apache.test_groups import Group
from tests.support.broker_process import ApacheKafka, BrokerProcess, Highwater
from tests.support.kafka_jars import classpath
from tests.support.ports import free_ports
from tests.support.zookeeper import running_zookeeper

pytestmark = pytest.mark.spec("S1", "S6")

LOG_FILES = (".log", ".index", ".timeindex", ".snapshot")
COMPLAINTS = ("isvalid: false", "Mismatches in", "Non-consecutive", "Found timestamp mismatch", "Found out of order", "index is corrupt")
PRODUCER = 5
WRITTEN = 60
START_MS = int(time.time() * 1000) - 1000 * WRITTEN
"""Producers that were last heard of a day ago are forgotten."""


class Folder:
    """One data folder and cluster for whichever broker runs."""

    def __init__(self, root: Path, zookeeper: str) -> None:
        self.zookeeper = f"{zookeeper}/files"
        settings = {
            **SETTINGS,
            "zookeeper.connect": self.zookeeper,
            "log.index.interval.bytes": "100",
        }
        self.port = free_ports()
        self.kafka = ApacheKafka(root, self.port, {**settings, "zookeeper.session.timeout.ms": "10000"})
        self.ours = Highwater(root, self.port, {**settings, "zookeeper.session.timeout.ms": "6000"})

    def wait_until_forgotten(self) -> None:
        """Until the session of a killed broker has expired."""
        client = KazooClient(self.zookeeper)
        client.start()
        try:
            assert wait_until(lambda: client.exists("/brokers/ids/1") is None, 30)
        finally:
            client.stop()
            client.close()

    @property
    def logs(self) -> list[Path]:
        return sorted(path for path in self.ours.log_dir.rglob("*") if path.suffix in LOG_FILES)


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Folder]:
    with running_zookeeper() as zookeeper:
        made = Folder(tmp_path / "broker", zookeeper.hosts)
        try:
            yield made
        finally:
            made.kafka.kill()
            made.ours.kill()


def write(side: Side) -> None:
    """Several segments of an idempotent producer's, each codec once, a compacted topic and a group's offset."""
    side.create("x-many", segment_bytes="3000")
    for number in range(WRITTEN):
        sequence = {"producer_id": PRODUCER, "producer_epoch": 0, "base_sequence": 2 * number}
        side.produce("x-many", batch(f"{number}", "v" * 50, time_ms=START_MS + 1000 * number, **sequence))
    side.create("x-codecs")
    for codec in Codec:
        side.produce("x-codecs", batch("x" * 100, "y" * 100, compression=codec))
    side.create("x-compacted", cleanup_policy="compact")
    for number in range(10):
        side.produce("x-compacted", build_batch([Record(0, START_MS, b"%d" % (number % 3), b"v", ())]))
    Group(side, "x-group").commit("x-many", 7)


def read(side: Side) -> Any:
    """All that a client sees of what was written."""
    for topic in ("x-many", "x-codecs", "x-compacted"):
        side.until_led(topic)
    ends = [offset(side, "x-many", stamp) for stamp in (-2, -1, -3, START_MS + 1500, START_MS + 30_000)]
    fetched = [side.fetch("x-many", start) for start in (0, 41, 2 * WRITTEN - 1)]
    return ends, fetched, side.fetch("x-codecs"), side.fetch("x-compacted"), Group(side, "x-group").offsets(None)


def offset(side: Side, topic: str, timestamp: int) -> Any:
    row = {"partition_index": 0, "timestamp": timestamp, "current_leader_epoch": -1}
    found = side.ask(ApiKey.LIST_OFFSETS, 7, {"replica_id": -1, "isolation_level": 0, "topics": [{"name": topic, "partitions": [row]}]})
    partition = found["topics"][0]["partitions"][0]
    return partition["offset"], partition["timestamp"]


def go_on(sequence: int, value: str) -> Any:
    """The producer's last batch again, which is known, and the next one."""

    def script(side: Side) -> Any:
        same = {"producer_id": PRODUCER, "producer_epoch": 0}
        side.until_led("x-many")
        count = 2 if sequence == 2 * WRITTEN else 1
        repeated = side.produce("x-many", batch(*["again"] * count, base_sequence=sequence - count, **same))
        following = side.produce("x-many", batch(value, base_sequence=sequence, **same))
        return [answer["responses"][0]["partition_responses"][0] for answer in (repeated, following)]

    return script


def during(broker: BrokerProcess, *scripts: Any) -> list[Any]:
    """What the scripts find while the broker runs; it is stopped cleanly."""
    broker.start()
    try:
        return [run(broker.port, script) for script in scripts]
    finally:
        broker.stop()


def dumped(files: list[Path], *options: str) -> str:
    command = [java_binary(), "-Xmx256m", "-XX:TieredStopAtLevel=1", "-cp", classpath(), "kafka.tools.DumpLogSegments", *options]
    done = subprocess.run([*command, "--files", ",".join(map(str, files))], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert not [line for line in done.stdout.splitlines() if any(complaint in line for complaint in COMPLAINTS)]
    return done.stdout


def test_kafkas_tool_finds_nothing_wrong_with_our_files(folder: Folder) -> None:
    during(folder.ours, write)
    files = folder.logs
    assert len([path for path in files if path.suffix == ".log" and path.parent.name == "x-many-0"]) > 2
    deep = dumped(files, "--deep-iteration")
    assert deep.count("isvalid: true") >= WRITTEN + len(Codec) + 10
    assert f"producerId: {PRODUCER} producerEpoch: 0" in deep
    sane = dumped(files, "--index-sanity-check")
    indexes = [path for path in files if path.suffix in (".index", ".timeindex")]
    assert sane.count("passed sanity check.") + sane.count(".index is empty.") == len(indexes)
    dumped(files, "--verify-index-only")


def test_a_folder_serves_our_broker_then_kafka_then_ours(folder: Folder) -> None:
    _, at_first = during(folder.ours, write, read)
    at_kafkas, (known, written), then = during(folder.kafka, read, go_on(2 * WRITTEN, "by Kafka"), read)
    assert at_kafkas == at_first
    assert (known["error_code"], known["base_offset"]) == ("NONE", 2 * WRITTEN - 2)
    assert (written["error_code"], written["base_offset"]) == ("NONE", 2 * WRITTEN)
    again, (known, written), _ = during(folder.ours, read, go_on(2 * WRITTEN + 1, "by ours"), read)
    assert again == then
    assert (known["error_code"], known["base_offset"]) == ("NONE", 2 * WRITTEN)
    assert (written["error_code"], written["base_offset"]) == ("NONE", 2 * WRITTEN + 1)


def test_our_broker_recovers_what_kafka_left_when_it_was_killed(folder: Folder) -> None:
    folder.kafka.start()
    run(folder.port, write)
    found = run(folder.port, read)
    folder.kafka.kill()
    assert during(folder.ours, read) == [found]


def test_kafka_recovers_what_our_broker_left_when_it_was_killed(folder: Folder) -> None:
    folder.ours.start()
    run(folder.port, write)
    found = run(folder.port, read)
    folder.ours.kill()
    folder.wait_until_forgotten()
    assert during(folder.kafka, read) == [found]
