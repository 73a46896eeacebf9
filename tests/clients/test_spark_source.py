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
    done = subprocess.run(command(cluster, topic, folder), cwd=ROOT, capture_output=True, text=True, timeout=400, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, object] = json.loads((folder / "summary.json").read_text())
    return found


def test_the_driver_reads_each_sample_once_and_goes_on_where_it_was(cluster: TestCluster, new_topic: NewTopic, tmp_path: Path) -> None:
    topic = new_topic(partitions=3)
    now_ms = int(time.time() * 1000) // 60000 * 60000
    produce(cluster, topic, [sample(now_ms - 20000 + n * 1000, n * 50) for n in range(10)])
    first = drive(cluster, topic, tmp_path)
    produce(cluster, topic, [sample(now_ms - 20000 + n * 1000, n * 50) for n in range(10, 15)] + [b"no sample"])
    second = drive(cluster, topic, tmp_path)
    assert (first["samples"], second["samples"]) == (10, 15)
    assert second["aside"]["counts"] == {"no sample": 1}  # type: ignore[index]
    (row,) = rows(second, "topics")
    assert row["messages_mean"] == pytest.approx(50)
    assert row["bytes_mean"] == pytest.approx(5000)
    assert (tmp_path / "tables" / "topics.csv").read_text().startswith("cluster,topic,window_start,")


KILLED_WHEN: dict[str, Callable[[Path], bool]] = {
    "its first batch is planned": lambda folder: any((folder / "store/checkpoint/offsets").glob("[0-9]*")),
    "its samples are in their folder": lambda folder: any((folder / "store/samples").glob("day=*/batch=*/*.parquet")),
    "it answers": lambda folder: json.loads((folder / "progress.json").read_text())["done"] >= 3,
}
"""What is seen of the driver's work at the moment that it is killed; the rest of that moment is left to chance."""


def kill_when(seen: Callable[[Path], bool], what: str, cluster: TestCluster, topic: str, folder: Path) -> None:
    (folder / "progress.json").unlink(missing_ok=True)
    driver = subprocess.Popen(command(cluster, topic, folder), cwd=ROOT, stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        eventually(lambda: driver.poll() is not None or ((folder / "progress.json").exists() and seen(folder)), WAIT_S, what)
        assert driver.poll() is None, "it was done before it could be killed"
    finally:
        os.killpg(driver.pid, signal.SIGKILL)
        driver.wait()


@pytest.mark.timeout(WAIT_S * 4)
def test_whatever_is_killed_no_sample_is_lost_or_counted_twice(cluster: TestCluster, new_topic: NewTopic, tmp_path: Path) -> None:
    """The driver three times, with its JVM, and a broker while the second one reads."""
    topic = new_topic(partitions=3, replication_factor=3)
    now_ms = int(time.time() * 1000) // 60000 * 60000
    written = 0
    for what, seen in KILLED_WHEN.items():
        produce(cluster, topic, [sample(now_ms - 60000 + n * 1000, n * 50) for n in range(written, written + 10)])
        written += 10
        if written == 20:
            cluster.kill(3)
        kill_when(seen, what, cluster, topic, tmp_path)
    produce(cluster, topic, [sample(now_ms - 60000 + n * 1000, n * 50) for n in range(written, written + 10)])
    found = drive(cluster, topic, tmp_path)
    assert found["samples"] == written + 10
    (row,) = rows(found, "topics")
    assert row["messages_mean"] == pytest.approx(50), "a window that had a sample twice, or none, would say otherwise"


def rows(summary: dict[str, Any], table: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = summary["tables"][table]["rows"]
    return found
