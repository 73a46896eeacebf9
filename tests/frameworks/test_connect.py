"""Kafka Connect, distributed: two workers form a group on our brokers, share what there is to run, and one takes over from the other.

Its group has another protocol type than consumers' (`connect`), and its source connector writes in transactions.
"""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient

from tests.clients.test_transactions import values
from tests.support import framework_jars
from tests.support.cluster import TestCluster, eventually
from tests.support.java_program import JavaProgram, properties_file
from tests.support.ports import free_ports

NewTopic = Callable[..., str]
STRINGS = "org.apache.kafka.connect.storage.StringConverter"
WAIT_S = 120

pytestmark = pytest.mark.spec("G2")


class Worker:
    """One process of the pair, with its REST."""

    def __init__(self, cluster: TestCluster, folder: Path, name: str) -> None:
        self.port = free_ports()
        self.id = f"127.0.0.1:{self.port}"
        settings = {
            "bootstrap.servers": cluster.bootstrap_servers,
            "group.id": "connect-pair",
            "key.converter": STRINGS,
            "value.converter": STRINGS,
            "config.storage.topic": "connect-configs",
            "offset.storage.topic": "connect-offsets",
            "status.storage.topic": "connect-status",
            "offset.storage.partitions": "3",
            "status.storage.partitions": "2",
            "offset.flush.interval.ms": "500",
            "exactly.once.source.support": "enabled",
            "scheduled.rebalance.max.delay.ms": "1000",  # by default what a dead worker ran waits five minutes for its return
            "session.timeout.ms": "6000",
            "heartbeat.interval.ms": "1500",
            "listeners": f"http://{self.id}",
            "plugin.discovery": "only_scan",
        }
        path = properties_file(folder / f"{name}.properties", settings)
        main = "org.apache.kafka.connect.cli.ConnectDistributed"
        self.program = JavaProgram(folder, name, framework_jars.classpath(framework_jars.CONNECT), main, path)

    def ask(self, path: str, method: str = "GET", body: Any = None) -> Any:
        """What its REST answers; None while it cannot, as during a rebalance."""
        assert not self.program.ended(), self.program.said()
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"http://{self.id}{path}", data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return json.load(answer)
        except (OSError, urllib.error.HTTPError):
            return None

    def where(self, connector: str) -> tuple[str, str] | None:
        """Who runs the connector, and who its task; None unless both run."""
        status = self.ask(f"/connectors/{connector}/status")
        parts = [status["connector"], *status["tasks"]] if status else []
        if len(parts) != 2 or any(part["state"] != "RUNNING" for part in parts):
            return None
        return parts[0]["worker_id"], parts[1]["worker_id"]


@pytest.fixture
def workers(cluster: TestCluster, tmp_path: Path) -> Iterator[list[Worker]]:
    pair = [Worker(cluster, tmp_path, f"worker-{number}") for number in (1, 2)]
    for worker in pair:
        worker.program.start()
    yield pair
    for worker in pair:
        worker.program.kill()


def connector(name: str, kind: str, **settings: str) -> dict[str, Any]:
    main = f"org.apache.kafka.connect.file.FileStream{kind}Connector"
    return {"name": name, "config": {"connector.class": main, "tasks.max": "1", **settings}}


def test_a_worker_takes_over_what_a_killed_one_ran(
    cluster: TestCluster, new_topic: NewTopic, admin: AdminClient, workers: list[Worker], tmp_path: Path
) -> None:
    topic = new_topic(partitions=1)
    source, sink = tmp_path / "source.txt", tmp_path / "sink.txt"
    written: list[str] = []

    def write(count: int) -> None:
        lines = [f"line {number}" for number in range(len(written), len(written) + count)]
        with source.open("a") as file:
            file.writelines(f"{line}\n" for line in lines)
        written.extend(lines)

    def arrived() -> bool:
        return sink.exists() and set(sink.read_text().splitlines()) >= set(written)

    write(100)
    first = workers[0]
    made = (
        connector("from-file", "Source", file=str(source), topic=topic),
        connector("to-file", "Sink", file=str(sink), topics=topic),
    )
    for one in made:
        eventually(lambda one=one: first.ask(f"/connectors/{one['name']}") or first.ask("/connectors", "POST", one), WAIT_S, "a connector")
    eventually(arrived, WAIT_S, "the lines in the sink")
    eventually(lambda: {*(first.where("from-file") or ()), *(first.where("to-file") or ())} == {worker.id for worker in workers}, WAIT_S)

    reading = first.where("from-file")
    assert reading is not None
    victim = next(worker for worker in workers if worker.id == reading[1])
    left = next(worker for worker in workers if worker is not victim)
    write(100)
    victim.program.kill()
    write(100)
    eventually(lambda: left.where("from-file") == left.where("to-file") == (left.id, left.id), WAIT_S, "all on the worker that is left")
    eventually(arrived, WAIT_S, "the lines in the sink after the takeover")
    assert values(cluster, topic, len(written)) == sorted(line.encode() for line in written)
