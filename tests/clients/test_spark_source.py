"""Spark's own Kafka source (the Java client) reads a topic, and the analytics driver reads each sample once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.clients import produce
from tests.support.cluster import TestCluster, eventually
from tests.support.jvm import SHORT_LIVED

NewTopic = Callable[..., str]
WAIT_S = 400
ROOT = Path(__file__).resolve().parent.parent.parent


def sample(at_ms: int, end: int) -> bytes:
    base = {"v": 1, "kind": "partition", "cluster": "local", "topic": "orders", "partition": 0, "log_start_offset": 0}
    return json.dumps({**base, "at_ms": at_ms, "log_end_offset": end, "size_bytes": end * 100}).encode()


def command(cluster: TestCluster, topic: str, folder: Path) -> list[str]:
    driver = [sys.executable, "-m", "workers.spark.job", "--bootstrap-servers", cluster.bootstrap_servers]
    return [*driver, "--topic", topic, "--folder", str(folder)]


def drive(cluster: TestCluster, topic: str, folder: Path) -> dict[str, object]:
    environment = os.environ | SHORT_LIVED
    done = subprocess.run(
        command(cluster, topic, folder), cwd=ROOT, env=environment, capture_output=True, text=True, timeout=400, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, object] = json.loads((folder / "summary.json").read_text())
    return found


KILLED_WHEN: dict[str, Callable[[Path], bool]] = {
    "its batch is planned": lambda store: (store / "checkpoint/offsets/0").exists(),
    "the batch's samples are in their folder": lambda store: any((store / "samples").glob("day=*/batch=0/*.parquet")),
}
"""What is seen of the driver's work when it is killed; where in its next steps it then is, is left to chance."""


def kill_when(seen: Callable[[Path], bool], what: str, driver: subprocess.Popen[bytes], folder: Path) -> None:
    """The driver and its JVM."""
    try:
        eventually(lambda: driver.poll() is not None or seen(folder / "store"), WAIT_S, what)
        assert driver.poll() is None, "it was done before it could be killed"
    finally:
        os.killpg(driver.pid, signal.SIGKILL)
        driver.wait()


@pytest.mark.timeout(WAIT_S * 4)
def test_the_driver_reads_each_sample_once_whatever_is_killed(cluster: TestCluster, new_topic: NewTopic, tmp_path: Path) -> None:
    """It is killed twice, and a broker while it reads; each time it goes on where it was."""
    topic = new_topic(partitions=3)
    minute_ms = int(time.time() * 1000) // 60000 * 60000 - 60000
    written = 0

    def write(*more: bytes) -> None:
        nonlocal written
        produce(cluster, topic, [*(sample(minute_ms + n * 1000, n * 50) for n in range(written, written + 10)), *more])
        written += 10

    for broker, (what, seen) in zip((3, 2), KILLED_WHEN.items(), strict=True):
        write()
        driver = subprocess.Popen(
            command(cluster, topic, tmp_path),
            cwd=ROOT,
            env=os.environ | SHORT_LIVED,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        cluster.kill(broker)
        kill_when(seen, what, driver, tmp_path)
        cluster.start(broker)
    write(b"no sample")
    last = drive(cluster, topic, tmp_path)
    assert last["samples"] == written
    assert last["aside"]["counts"] == {"no sample": 1}  # type: ignore[index]
    (row,) = rows(last, "topics")
    assert row["messages_mean"] == pytest.approx(50), "with a sample twice, or lost, it would be another"
    assert row["bytes_mean"] == pytest.approx(5000)
    assert (tmp_path / "tables" / "topics.csv").read_text().startswith("cluster,topic,window_start,")


def rows(summary: dict[str, Any], table: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = summary["tables"][table]["rows"]
    return found
