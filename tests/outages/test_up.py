"""`highwater up` and `highwater cluster`: taken ports, two at once, killed and started again, stopped with a paused broker.

At the end of each test no process of its data folder may be left.
"""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.request import urlopen

import pytest

from broker_core.cli import system
from broker_core.errors import ConfigError
from broker_core.local import control
from broker_core.local.layout import Layout
from tests.support.cluster import TestCluster, eventually

START_SECONDS = 90
LOOPBACK = ("0100007F", "00000000000000000000000001000000", "0000000000000000FFFF00000100007F")


class Up:
    """`highwater up --no-demo` in a data folder of its own, on free ports."""

    def __init__(self, data: Path) -> None:
        self.cluster = TestCluster(data)
        self.data = data
        self.output = data.parent / f"{data.name}.out"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "broker_core.cli.main", "--data", str(self.data), "up", "--no-demo"]
        with self.output.open("wb") as file:
            self.process = subprocess.Popen(command, stdout=file, stderr=file, cwd=system.ROOT, start_new_session=True)
        return self.process

    def said(self) -> str:
        return self.output.read_text()

    def ready(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, self.said()
        return "Ready after" in self.said()

    def end(self, number: signal.Signals = signal.SIGINT) -> int:
        assert self.process is not None
        self.process.send_signal(number)
        return self.process.wait(120)


@pytest.fixture
def up(tmp_path: Path) -> Iterator[Up]:
    made = Up(tmp_path / "data")
    yield made
    if made.process is not None and made.process.poll() is None:
        made.end(signal.SIGTERM)
    system.stop_all(made.cluster.layout, lambda words: None)
    made.cluster.down()


def processes_of(data: Path) -> dict[int, str]:
    """Every process whose command line, working folder or environment names the data folder."""
    found = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and int(folder.name) != os.getpid():
            try:
                words = (folder / "cmdline").read_bytes() + (folder / "environ").read_bytes()
                if str(data).encode() in words or os.readlink(folder / "cwd").startswith(str(data)):
                    found[int(folder.name)] = words[:200].replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
    return found


def listeners_of(pids: set[int]) -> dict[str, int]:
    """`{local address in hex: pid}` of every TCP socket that these processes listen on."""
    inodes = {}
    for pid in pids:
        try:
            for entry in Path(f"/proc/{pid}/fd").iterdir():
                match = re.fullmatch(r"socket:\[(\d+)\]", os.readlink(entry))
                if match:
                    inodes[match[1]] = pid
        except OSError:
            continue
    found = {}
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in Path(table).read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and fields[9] in inodes:
                found[fields[1]] = inodes[fields[9]]
    return found


def test_a_whole_life(up: Up) -> None:
    """Up; only loopback; a second one refused; kill -9; up again over the leftovers; Ctrl-C with a paused broker."""
    killed = up.start()
    eventually(up.ready, START_SECONDS, "up is ready")
    running = processes_of(up.data)
    assert len(running) >= 9, running
    listening = listeners_of(set(running))
    assert len(listening) >= 6
    assert not [address for address in listening if address.partition(":")[0] not in LOOPBACK], listening
    told = urlopen(f"http://127.0.0.1:{up.cluster.layout.metrics_port_of(2)}/metrics", timeout=60).read().decode()
    assert 'broker="2"' in told

    second = subprocess.run(
        [sys.executable, "-m", "broker_core.cli.main", "--data", str(up.data), "up", "--no-demo"],
        cwd=system.ROOT, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert second.returncode == 1
    assert "another one" in second.stderr
    assert "Traceback" not in second.stderr
    assert up.ready(), "the first is untouched"
    assert up.cluster.running() == [1, 2, 3]

    killed.kill()
    killed.wait(60)
    up.cluster.pause(3)
    assert up.cluster.running() == [1, 2], "brokers outlive their starter"
    up.start()
    eventually(up.ready, START_SECONDS, "up is ready again")
    assert up.cluster.running() == [1, 2, 3]

    up.cluster.pause(2)
    assert up.end() == 0, up.said()
    assert processes_of(up.data) == {}


def test_down_from_another_shell_ends_it_all(up: Up) -> None:
    """The `up` in the foreground too: it would start again what ends."""
    foreground = up.start()
    eventually(up.ready, START_SECONDS, "up is ready")
    command = [sys.executable, "-m", "broker_core.cli.main", "--data", str(up.data), "down"]
    down = subprocess.run(command, cwd=system.ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert down.returncode == 0, down.stderr
    assert foreground.wait(60) == 0, up.said()
    assert "started again" not in up.said()
    assert processes_of(up.data) == {}


def test_interrupted_while_it_starts(up: Up) -> None:
    """Ctrl-C before it is ready stops what has been started."""
    up.start()
    eventually(lambda: "brokers" in up.said(), START_SECONDS, "brokers are being started")
    assert up.end() in (0, 1)
    assert "Traceback" not in up.said()
    assert processes_of(up.data) == {}


@pytest.mark.parametrize(
    ("part", "variable"),
    [
        ("zookeeper_port", "HIGHWATER_ZOOKEEPER_PORT"),
        ("broker_port", "HIGHWATER_BROKER_PORT"),
        ("metrics_port", "HIGHWATER_METRICS_PORT"),
        ("console_port", "HIGHWATER_CONSOLE_PORT"),
        ("redis_port", "HIGHWATER_REDIS_PORT"),
    ],
)
def test_a_taken_port_is_named_and_nothing_is_left(up: Up, part: str, variable: str) -> None:
    layout: Layout = up.cluster.layout
    with socket.create_server(("127.0.0.1", getattr(layout, part))):
        process = up.start()
        assert process.wait(START_SECONDS) == 1, up.said()
    assert variable in up.said()
    assert str(getattr(layout, part)) in up.said()
    assert "Traceback" not in up.said()
    assert processes_of(up.data) == {}


def test_cluster_up_names_a_taken_port_as_well(tmp_path: Path) -> None:
    cluster = TestCluster(tmp_path / "data")
    try:
        port = cluster.layout.port_of(2)
        with socket.create_server(("127.0.0.1", port)), pytest.raises(ConfigError, match=str(port)):
            cluster.up()
        cluster.up()
        assert control.status(cluster.data)["zookeeper"]["state"] == "running"
        assert cluster.running() == [1, 2, 3]
    finally:
        cluster.down()
    assert processes_of(cluster.data) == {}
