"""What the parts of the bench run against: brokers in a folder of their own, child processes, and what /proc says of them."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from confluent_kafka.admin import AdminClient, NewTopic

from broker_core.local.services import start_zookeeper
from tests.support.cluster import TestCluster, eventually

ROOT = Path(__file__).resolve().parent.parent.parent
MEMORY_FOLDER = Path("/dev/shm")
MEMORY_FOLDER_BYTES_FREE = 6 * 1024**3
QUIET = {"log_level": 2}
"""librdkafka says at length that a stopped broker is gone."""
SINGLE = {
    "default.replication.factor": "1",
    "min.insync.replicas": "1",
    "offsets.topic.replication.factor": "1",
    "log.segment.delete.delay.ms": "100",
}


class Server(NamedTuple):
    address: str
    pid: int


@contextlib.contextmanager
def folder(*, in_memory: bool = False) -> Iterator[Path]:
    """A temporary folder; `in_memory` where the machine has one, so that no slow disk makes all servers alike."""
    roomy = in_memory and MEMORY_FOLDER.is_dir() and shutil.disk_usage(MEMORY_FOLDER).free >= MEMORY_FOLDER_BYTES_FREE
    with tempfile.TemporaryDirectory(prefix="highwater-bench-", dir=MEMORY_FOLDER if roomy else None, ignore_cleanup_errors=True) as path:
        yield Path(path)


@contextlib.contextmanager
def single_broker(data: Path, overrides: dict[str, str] | None = None) -> Iterator[TestCluster]:
    """ZooKeeper and broker 1."""
    cluster = TestCluster(data, SINGLE | (overrides or {}))
    try:
        start_zookeeper(cluster.layout)
        cluster.start(1)
        _wait_controller(server_of(cluster).address)
        yield cluster
    finally:
        cluster.down()


@contextlib.contextmanager
def three_brokers(data: Path, overrides: dict[str, str] | None = None) -> Iterator[TestCluster]:
    cluster = TestCluster(data, overrides)
    try:
        cluster.up()
        _wait_controller(cluster.bootstrap_servers)
        yield cluster
    finally:
        cluster.down()


def _wait_controller(bootstrap: str) -> None:
    """librdkafka asks for the controller once and then waits for minutes, so there has to be one."""
    client = admin(bootstrap)
    eventually(lambda: client.list_topics(timeout=10).controller_id > 0, 30, "a controller")


def server_of(cluster: TestCluster, broker_id: int = 1) -> Server:
    return Server(f"127.0.0.1:{cluster.layout.port_of(broker_id)}", cluster.pid(broker_id))


def admin(bootstrap: str) -> AdminClient:
    return AdminClient({"bootstrap.servers": bootstrap, **QUIET})


def create_topic(bootstrap: str, name: str, *, partitions: int = 1, replicas: int = 1, config: dict[str, str] | None = None) -> None:
    """Creates a topic and waits until every partition has a leader."""
    client = admin(bootstrap)
    client.create_topics([NewTopic(name, partitions, replicas, config=config or {})])[name].result(30)

    def led() -> bool:
        found = client.list_topics(name, timeout=10).topics[name].partitions
        return len(found) == partitions and all(p.leader > 0 and len(p.isrs) == replicas for p in found.values())

    eventually(led, 60, f"leaders of {name}")


def delete_topic(bootstrap: str, name: str) -> None:
    client = admin(bootstrap)
    client.delete_topics([name])[name].result(30)


def load(kind: str, server: Server, topic: str, records: int, acks: str = "1") -> dict[str, Any]:
    """Runs one client process to its end; what it measured, and the processor time of the server meanwhile."""
    before = cpu_seconds(server.pid)
    command = [sys.executable, "-m", "tests.bench.load", kind, "--bootstrap", server.address, "--topic", topic]
    done = subprocess.run(
        [*command, "--records", str(records), "--acks", acks], cwd=ROOT, capture_output=True, text=True, timeout=180, check=False
    )
    if done.returncode:
        raise RuntimeError(f"the client failed: {(done.stderr or done.stdout).strip()[-1000:]}")
    found: dict[str, Any] = json.loads(done.stdout)
    return {**found, "server_seconds": cpu_seconds(server.pid) - before}


@contextlib.contextmanager
def bare_server(kind: str, file: Path) -> Iterator[Server]:
    process = subprocess.Popen([sys.executable, "-m", "tests.bench.bare", kind, str(file)], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield Server(f"127.0.0.1:{int(process.stdout.readline())}", process.pid)
    finally:
        process.terminate()
        process.wait(10)


def rss_bytes(pid: int) -> int:
    """Resident memory of a process."""
    for line in Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"process {pid} is gone")


def cpu_seconds(pid: int) -> float:
    """Processor time that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def commit() -> str:
    """What is measured, as git names it; `unknown` outside of a repository."""
    done = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"
