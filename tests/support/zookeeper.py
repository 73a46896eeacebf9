"""A real ZooKeeper from the jars inside PySpark, on a free loopback port, for tests.

`zookeeper` is a session fixture: import it in a test module (or a conftest) and ask for it by name; it gives the
connection string. `running_zookeeper()` is the same as a context manager.
"""

from __future__ import annotations

import contextlib
import importlib.util
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.ports import free_ports

JARS = (
    "zookeeper-*",
    "slf4j-api-*",
    "log4j-slf4j2-impl-*",
    "log4j-api-*",
    "log4j-core-*",
    "netty*",
    "metrics-core-*",
    "snappy-java-*",
    "commons-io-*",
    "commons-cli-*",
)
TICK_MS = 500
READY_TIMEOUT_S = 60.0


def classpath() -> str:
    spec = importlib.util.find_spec("pyspark")
    assert spec is not None and spec.origin is not None
    folder = Path(spec.origin).parent / "jars"
    return ":".join(str(jar) for pattern in JARS for jar in sorted(folder.glob(f"{pattern}.jar")))


class ZooKeeperProcess:
    """One server; `pause` and `resume` stop its answers without ending it, `restart` keeps its data and port."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_ports()
        self.process: subprocess.Popen[bytes] | None = None
        (folder / "zoo.cfg").write_text(
            f"dataDir={folder / 'data'}\ntickTime={TICK_MS}\nclientPort={self.port}\nclientPortAddress=127.0.0.1\n"
            "admin.enableServer=false\nmaxClientCnxns=0\n4lw.commands.whitelist=ruok\n"
        )

    @property
    def hosts(self) -> str:
        return f"127.0.0.1:{self.port}"

    def start(self) -> None:
        command = ["java", "-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", classpath()]
        with (self.folder / "zookeeper.log").open("ab") as log:
            self.process = subprocess.Popen(
                [*command, "org.apache.zookeeper.server.ZooKeeperServerMain", str(self.folder / "zoo.cfg")], stdout=log, stderr=log
            )
        self._wait_until_ready()

    def _wait_until_ready(self) -> None:
        deadline = time.monotonic() + READY_TIMEOUT_S
        while time.monotonic() < deadline:
            assert self.process is not None and self.process.poll() is None, (self.folder / "zookeeper.log").read_text()
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=1) as probe:
                probe.sendall(b"ruok")
                if probe.recv(16) == b"imok":
                    return
            time.sleep(0.05)
        raise TimeoutError("ZooKeeper did not come up")

    def pause(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGCONT)

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


@contextlib.contextmanager
def running_zookeeper() -> Iterator[ZooKeeperProcess]:
    folder = Path(tempfile.mkdtemp(prefix="highwater-zookeeper-"))
    server = ZooKeeperProcess(folder)
    try:
        server.start()
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def zookeeper() -> Iterator[str]:
    with running_zookeeper() as server:
        yield server.hosts
