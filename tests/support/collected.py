"""The console beside clusters that are not ours: Redis, database, `manage.py collect`, a reader, a worker and the pages, each a process."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from broker_core.local.process import wait_until
from tests.support.ports import free_ports
from tests.support.redis import redis_server
from tests.support.rest import Rest, ask

ROOT = Path(__file__).resolve().parent.parent.parent
ASK_S = 2
START_S = 240.0
SHOWN_S = 240.0
"""Generous: the machine may be three times slower and busy with other tests."""
T = TypeVar("T")


class Collected:
    def __init__(self, folder: Path, redis_url: str) -> None:
        self.folder, self.port = folder, free_ports()
        self._environment = {
            **{name: value for name, value in os.environ.items() if name != "DATABASE_URL" and not name.startswith("HIGHWATER_")},
            "HIGHWATER_DATA": str(folder),
            "HIGHWATER_REDIS_URL": redis_url,
            "HIGHWATER_CONSOLE_PORT": str(self.port),
            "HIGHWATER_BOOTSTRAP_SERVERS": "127.0.0.1:1",
            "HIGHWATER_ZOOKEEPER": "127.0.0.1:1",
            "HIGHWATER_ASK_SECONDS": str(ASK_S),
            "PYTHONUNBUFFERED": "1",
        }
        self._running: list[subprocess.Popen[bytes]] = []
        self.rest, self.password = Rest(self.port, None), ""

    def manage(self, *arguments: str) -> str:
        command = [sys.executable, "manage.py", *arguments]
        done = subprocess.run(command, cwd=ROOT, env=self._environment, capture_output=True, text=True, timeout=START_S, check=False)
        assert done.returncode == 0, done.stderr[-3000:]
        return done.stdout

    def start(self) -> None:
        self.password = self.manage("bootstrap").split()[-1]
        self.rest = Rest(self.port, self.manage("token_create", "test", "--role", "admin").split()[-1])
        serve = ("-m", "uvicorn", "console.asgi:application", "--host", "127.0.0.1", "--port", str(self.port), "--lifespan", "off")
        self._launch("console", *serve, "--ws", "websockets-sansio", "--no-access-log")
        self._launch("collect", "manage.py", "collect")
        self._launch("reader", "-m", "workers.reader")
        beat = ("-B", "-s", str(self.folder / "beat-schedule"))
        self._launch("worker", "-m", "celery", "-A", "workers.app", "worker", "-Q", "jobs", "-c", "1", "-l", "info", *beat)
        wait_until(self._serves, START_S)

    def _launch(self, name: str, *arguments: str) -> None:
        with (self.folder / f"{name}.log").open("ab") as out:
            self._running.append(subprocess.Popen([sys.executable, *arguments], stdout=out, stderr=out, cwd=ROOT, env=self._environment))

    def _serves(self) -> bool:
        with contextlib.suppress(OSError):
            return ask(self.port, "GET", "/healthz").status == 200
        return False

    def register(self, cluster_id: str, servers: str) -> None:
        answer = self.rest.ask("POST", "/api/v1/clusters", {"id": cluster_id, "name": cluster_id, "bootstrap_servers": servers})
        assert answer.status == 201, answer

    def stop(self) -> None:
        for process in reversed(self._running):
            process.terminate()
        for process in self._running:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(START_S)
            process.kill()
            process.wait()

    def said(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text(errors="replace")


def until(find: Callable[[], T], holds: Callable[[T], Any], what: str, seconds: float = SHOWN_S) -> T:
    """The first finding that holds."""
    deadline = time.monotonic() + seconds
    while not holds(found := find()):
        assert time.monotonic() < deadline, f"{what}: {found}"
        time.sleep(0.1)
    return found


@contextlib.contextmanager
def collecting(folder: Path) -> Iterator[Collected]:
    with redis_server() as url:
        system = Collected(folder, url)
        try:
            system.start()
            yield system
        finally:
            system.stop()
