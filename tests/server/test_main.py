"""A broker as a real process on a real ZooKeeper: ready file, metrics port, folder lock, clean stop."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from broker_core.client.request import BrokerChannel
from broker_core.coordination.store import Store
from broker_core.protocol.api import ApiKey
from broker_core.seams import Node
from broker_core.server import main
from broker_core.server.adapters.clock import RealClock
from broker_core.server.adapters.disk import RealDisk
from broker_core.server.adapters.entropy import OsEntropy
from broker_core.server.adapters.network import RealNetwork
from broker_core.server.adapters.spawn import RealSpawn
from broker_core.server.broker import Broker
from tests.support.ports import free_ports
from tests.support.zookeeper import zookeeper

__all__ = ["zookeeper"]

DEADLINE_SECONDS = 60.0


class Process:
    """One broker process with its data in a folder of the test's."""

    def __init__(self, folder: Path, zookeeper: str, broker_id: int = 1) -> None:
        folder.mkdir(exist_ok=True)
        self.folder = folder / "log"
        self.metrics_port = free_ports()
        config = folder / "server.properties"
        config.write_text(
            f"broker.id={broker_id}\nlisteners=PLAINTEXT://127.0.0.1:0\nzookeeper.connect={zookeeper}\nlog.dirs={self.folder}\n"
            f"zookeeper.session.timeout.ms=6000\noffsets.topic.replication.factor=1\nhighwater.metrics.port={self.metrics_port}\n"
        )
        self.command = [sys.executable, "-m", "broker_core", "--config", str(config), "--log-file", str(folder / "broker.log")]
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> dict[str, Any]:
        """Starts it and returns what its ready file says."""
        self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL)
        wait_until(lambda: self._ready() is not None)
        ready = self._ready()
        assert ready is not None
        return ready

    def _ready(self) -> dict[str, Any] | None:
        assert self.process is not None
        assert self.process.poll() is None, "the broker ended"
        with contextlib.suppress(FileNotFoundError):
            found: dict[str, Any] = json.loads((self.folder / ".ready").read_text())
            return found if found["pid"] == self.process.pid else None
        return None

    def end(self, number: int) -> int:
        assert self.process is not None
        self.process.send_signal(number)
        return self.process.wait(DEADLINE_SECONDS)


def wait_until(done: Callable[[], bool]) -> None:
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not done():
        assert time.monotonic() < deadline, "it did not come to that"
        time.sleep(0.05)


@pytest.fixture
def broker(tmp_path: Path, zookeeper: str) -> Iterator[Process]:
    broker = Process(tmp_path, zookeeper)
    yield broker
    if broker.process is not None and broker.process.poll() is None:
        broker.end(signal.SIGKILL)


async def ask(port: int, key: ApiKey, version: int, payload: dict[str, Any]) -> Any:
    spawn = RealSpawn()
    node = Node(RealClock(), spawn, OsEntropy(), RealDisk(), RealNetwork(), cast(Store, None))
    channel = BrokerChannel(node, "127.0.0.1", port, "test")
    try:
        return await channel.request(key, version, payload, 60_000)
    finally:
        channel.close()
        await spawn.close()


@pytest.mark.spec("O1", "N1", "S6", "Z1")
async def test_a_broker_process_from_start_to_stop(broker: Process) -> None:
    """Metrics over HTTP, a clean stop."""
    ready = broker.start()
    answer = await ask(ready["port"], ApiKey.METADATA, 12, {"topics": None, "allow_auto_topic_creation": False})
    assert [(row.node_id, row.port) for row in answer.brokers] in ([], [(1, ready["port"])])
    page = urllib.request.urlopen(f"http://127.0.0.1:{ready['metrics_port']}/metrics", timeout=60).read().decode()
    assert 'highwater_broker_api_requests_total{broker="1",api="Metadata"} 1' in page
    assert 'highwater_broker_api_stage_seconds_count{broker="1",api="Metadata",stage="total"} 1' in page
    assert 'highwater_broker_request_queue_size{broker="1"} 0' in page
    second = subprocess.run(broker.command, capture_output=True, timeout=DEADLINE_SECONDS, check=False)
    assert second.returncode == 2
    assert f"pid {ready['pid']}".encode() in second.stderr
    assert broker.end(signal.SIGTERM) == 0
    assert not (broker.folder / ".ready").exists()
    assert (broker.folder / ".kafka_cleanshutdown").exists()


@pytest.mark.spec("B13")
async def test_a_killed_broker_registers_at_once_again(broker: Process) -> None:
    """The folder's lock proves the predecessor dead, so nobody waits for its session to end."""
    first = broker.start()
    broker.end(signal.SIGKILL)
    second = broker.start()
    assert second["broker_epoch"] > first["broker_epoch"]
    assert broker.end(signal.SIGINT) == 0


async def test_a_broker_is_ready_once_it_knows_a_controller(tmp_path: Path, zookeeper: str) -> None:
    """Also where the controller has just died and its session must end first: a client that starts then would wait for minutes."""
    controller, other = Process(tmp_path / "1", zookeeper), Process(tmp_path / "2", zookeeper, broker_id=2)
    try:
        controller.start()
        controller.end(signal.SIGKILL)
        ready = other.start()
        answer = await ask(ready["port"], ApiKey.METADATA, 12, {"topics": [], "allow_auto_topic_creation": False})
        assert answer.controller_id == 2
        assert other.end(signal.SIGTERM) == 0
    finally:
        for each in (controller, other):
            if each.process is not None and each.process.poll() is None:
                each.end(signal.SIGKILL)


async def test_a_second_signal_leaves_the_handing_over() -> None:
    """With thousands of leaderships and a stop that must end, clean logs come before a smooth change of leaders."""
    left: list[str] = []

    class Reluctant:
        broker_id = 1

        async def hand_over(self) -> None:
            try:
                await asyncio.Event().wait()
            finally:
                left.append("handing over")

    loop = asyncio.get_running_loop()
    stop, hurry = loop.create_future(), loop.create_future()
    main._signalled(stop, hurry)
    assert (stop.done(), hurry.done()) == (True, False)
    leaving = asyncio.ensure_future(main._hand_over(cast(Broker, Reluctant()), hurry))
    loop.call_soon(main._signalled, stop, hurry)
    async with asyncio.timeout(DEADLINE_SECONDS):
        await leaving
    assert left == ["handing over"]


def test_a_missing_zookeeper_is_said_plainly(tmp_path: Path) -> None:
    broker = Process(tmp_path, f"127.0.0.1:{free_ports()}")
    ended = subprocess.run(
        [*broker.command[:-2], "--override", "zookeeper.connection.timeout.ms=500"],
        capture_output=True,
        timeout=DEADLINE_SECONDS,
        check=False,
    )
    assert ended.returncode == 1
    assert b"could not start" in ended.stdout
    assert b"Traceback" not in ended.stdout + ended.stderr


def test_a_taken_metrics_port_is_said_plainly(broker: Process) -> None:
    """And the data folder is left clean: the next start trusts its logs."""
    with socket.socket() as other:
        other.bind(("127.0.0.1", broker.metrics_port))
        other.listen()
        ended = subprocess.run(broker.command[:-2], capture_output=True, timeout=DEADLINE_SECONDS, check=False)
    assert ended.returncode == 1
    assert str(broker.metrics_port).encode() in ended.stdout
    assert b"Traceback" not in ended.stdout + ended.stderr
