"""The system under chaos: `highwater up` as a user runs it, with broker 2's log on a disk that can fail."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

from broker_core.cli import system as programs
from broker_core.cli.tokens import make_token
from broker_core.errors import HighwaterError
from broker_core.local import control
from broker_core.local.layout import BROKER_IDS
from broker_core.local.process import LocalProcess, wait_until
from tests.chaos.disk import FlakyDisk
from tests.support.console_system import ConsoleSystem
from tests.support.rest import Rest

DISK_OWNER = 2
READY_SECONDS = 180.0
DOWN_SECONDS = 120.0
SETTINGS = {"log.retention.ms": "-1"}


class ChaosSystem(ConsoleSystem):
    """`up` and `down` run the command; what it prints is in `DATA/up.txt`."""

    def __init__(self, base: Path) -> None:
        self.disk = FlakyDisk(base)
        super().__init__(base / "data", SETTINGS)
        (self.layout.broker_folder(DISK_OWNER) / "log").symlink_to(self.disk.folder)
        self.words = base / "up.txt"
        self._process: subprocess.Popen[bytes] | None = None

    def up(self) -> None:
        with self.words.open("wb") as out:
            command = [sys.executable, "-m", "broker_core.cli.main", "--data", str(self.data), "up", "--no-demo"]
            self._process = subprocess.Popen(command, stdout=out, stderr=out, cwd=programs.ROOT, start_new_session=True)
        ready = wait_until(lambda: "Ready after" in self.words.read_text() or self._process.poll() is not None, READY_SECONDS)
        assert ready and self._process.poll() is None, self.words.read_text()
        found = re.search(r"password: (\S+)", self.words.read_text())
        assert found, self.words.read_text()
        self.password = found[1]

    def down(self) -> None:
        try:
            if self._process is not None and self._process.poll() is None:
                self.resume_all()
                self._process.send_signal(signal.SIGTERM)
                self._process.wait(DOWN_SECONDS)
        finally:
            self.disk.close()

    def named(self, name: str) -> LocalProcess:
        """Any process of the system: `broker-2`, `zookeeper`, `live` …"""
        return programs.process_of(self.layout, name)

    def signal(self, name: str, number: signal.Signals) -> None:
        pid = self.named(name).pid()
        if pid is not None:
            os.kill(pid, number)

    def resume_all(self) -> None:
        for name in ("zookeeper", *(f"broker-{broker_id}" for broker_id in BROKER_IDS)):
            self.signal(name, signal.SIGCONT)

    def start_all(self) -> None:
        """Starts the brokers that stand; `up` may be quicker, and thousands of logs may take longer than a start is waited for."""
        for broker in control.status(self.data)["brokers"]:
            if broker["state"] == "stopped":
                try:
                    self.start(broker["broker_id"])
                except HighwaterError as error:
                    if "already" not in str(error) and "was not ready" not in str(error):
                        raise

    def rest(self) -> Rest:
        return Rest(self.layout.console_port, make_token(self.layout, "chaos", "admin", None, save=False).token)
