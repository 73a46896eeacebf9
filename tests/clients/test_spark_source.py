"""Spark's own Kafka source (the Java client) reads a topic, and the analytics driver reads each sample once."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.clients import produce
from tests.support.cluster import TestCluster

NewTopic = Callable[..., str]
WAIT_S = 400
ROOT = Path(__file__).resolve().parent.parent.parent


def sample(at_ms: int, end: int) -> bytes:
    base = {"v": 1, "kind": "partition", "cluster": "local", "topic": "orders", "partition": 0, "log_start_offset": 0}
    return json.dumps({**base, "at_ms": at_ms, "log_end_offset": end, "size_bytes": end * 100}).encode()


def drive(cluster: TestCluster, topic: str, folder: Path) -> dict[str, object]:
    command = [sys.executable, "-m", "workers.spark.job", "--bootstrap-servers", cluster.bootstrap_servers]
    done = subprocess.run(
        [*command, "--topic", topic, "--folder", str(folder)], cwd=ROOT, capture_output=True, text=True, timeout=400, check=False
    )
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


def rows(summary: dict[str, Any], table: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = summary["tables"][table]["rows"]
    return found
