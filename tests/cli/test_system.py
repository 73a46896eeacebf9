"""What `highwater up` does about programs that end by themselves."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from broker_core.cli import system
from broker_core.cli.system import Program
from broker_core.contract.installs import Install, InstallState
from broker_core.local.layout import Layout
from broker_core.local.process import LocalProcess
from broker_core.local.services import redis_process, start_redis
from tests.support.ports import free_ports

SLEEPER = Program("worker", ("-c", "import signal; signal.pause()"))
CONSOLE = Program("console", ("-c", "import signal; signal.pause()"))


@pytest.fixture
def layout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Layout]:
    ports = {"HIGHWATER_REDIS_PORT": str(free_ports()), "HIGHWATER_CONSOLE_PORT": str(free_ports())}
    made = Layout.from_environment(tmp_path / "data", ports)
    made.prepare()
    monkeypatch.setattr(system, "programs", lambda layout, demo: [CONSOLE, SLEEPER])
    start_redis(made)
    yield made
    for process in (redis_process(made), *(system.process_of(made, program.name) for program in (CONSOLE, SLEEPER))):
        process.kill()


def test_a_token_before_the_first_start_is_refused_with_words(tmp_path: Path) -> None:
    """There is no database yet."""
    command = [sys.executable, "-m", "broker_core.cli.main", "--data", str(tmp_path / "new"), "token", "create", "ci", "--role", "viewer"]
    done = subprocess.run(command, cwd=system.ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.strip() == "highwater: The database is not set up: run make up once."


def test_the_console_believes_no_header_of_a_stranger(tmp_path: Path) -> None:
    """uvicorn takes the source address from X-Forwarded-For of whoever comes from the loopback, unless it is told not to."""
    console = next(program for program in system.programs(Layout.from_environment(tmp_path), demo=False) if program.name == "console")
    assert "--no-proxy-headers" in console.arguments


def test_what_ended_is_started_again_redis_too(layout: Layout) -> None:
    said: list[str] = []
    redis_process(layout).kill()
    system.restart_dead(layout, demo=False, say=said.append)
    assert redis_process(layout).alive()
    assert [words.partition(" ")[0] for words in said] == ["redis", "console", "worker"]
    system.restart_dead(layout, demo=False, say=said.append)
    assert len(said) == 3, "all live"


def test_what_cannot_be_started_again_stops_nothing_else(layout: Layout) -> None:
    """Nor the brokers, which an error out of here would end; it is tried again at the next look."""
    said: list[str] = []
    with socket.create_server(("127.0.0.1", layout.console_port)):
        system.restart_dead(layout, demo=False, say=said.append)
    assert str(layout.console_port) in said[1]
    assert system.process_of(layout, "worker").alive()
    system.restart_dead(layout, demo=False, say=said.append)
    assert system.process_of(layout, "console").alive()


@pytest.mark.parametrize(("state", "started"), [("absent", 1), ("failed", 1), ("installing", 0), ("ready", 0)])
def test_pyspark_is_installed_once_beside_the_cluster(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, state: InstallState, started: int
) -> None:
    commands: list[Sequence[str]] = []
    monkeypatch.setattr(LocalProcess, "start", lambda process, command, *_: commands.append(command))
    monkeypatch.setattr(system.spark_install, "status", lambda: Install(state=state))
    said: list[str] = []
    system.install_spark(Layout.from_environment(tmp_path, {}), said.append)
    assert len(commands) == len(said) == started
