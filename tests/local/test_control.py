"""Start, stop, kill, pause and resume by broker id, on processes that stand for brokers; what each command says when it cannot."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from broker_core.errors import ConfigError
from broker_core.local import brokers, control
from broker_core.local.layout import Layout
from broker_core.local.process import LocalProcess, ProcessError, allowed_environment, exclusive, wait_until

STAND_IN = """
import signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, [15])
print("up", flush=True)
signal.sigwait([15])
print("clean", flush=True)
"""
PORTS = {
    "HIGHWATER_ZOOKEEPER_PORT": "31181",
    "HIGHWATER_REDIS_PORT": "31182",
    "HIGHWATER_BROKER_PORT": "31183",
    "HIGHWATER_CONSOLE_PORT": "31186",
    "HIGHWATER_METRICS_PORT": "31187",
}


@pytest.fixture
def layout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Layout]:
    for name, value in PORTS.items():
        monkeypatch.setenv(name, value)
    made = Layout.from_environment(tmp_path)
    yield made
    for name in ("broker-1", "broker-2", "broker-3", "zookeeper"):
        LocalProcess(name, made.folder("run")).kill()


def stand_in(layout: Layout, name: str) -> LocalProcess:
    """A running process under a broker's name; SIGTERM lets it print "clean"."""
    process = LocalProcess(name, layout.folder("run"))
    log = layout.log_file(name)
    process.start([sys.executable, "-c", STAND_IN], log, allowed_environment(), layout.root)
    assert wait_until(lambda: "up" in log.read_text() and process.pid() is not None, 60)
    return process


def say_ready(layout: Layout, broker_id: int, pid: int | None) -> None:
    folder = layout.folder(f"broker-{broker_id}", "log")
    (folder / brokers.READY_FILE).write_text(json.dumps({"pid": pid, "broker_epoch": 7}))


def states(layout: Layout) -> list[str]:
    return [row["state"] for row in control.status(layout.root)["brokers"]]


def test_a_brokers_state_from_its_start_to_its_stop(layout: Layout) -> None:
    assert states(layout) == ["stopped"] * 3
    say_ready(layout, 1, 1)
    process = stand_in(layout, "broker-1")
    assert states(layout)[0] == "starting", "what it wrote in an earlier life does not count"
    say_ready(layout, 1, process.pid())
    row = control.status(layout.root)["brokers"][0]
    assert row == {"broker_id": 1, "state": "running", "pid": process.pid(), "port": 31183, "broker_epoch": 7}
    control.pause_broker(layout.root, 1)
    assert states(layout)[0] == "paused"
    with pytest.raises(ProcessError, match="paused already"):
        control.pause_broker(layout.root, 1)
    control.resume_broker(layout.root, 1)
    assert states(layout)[0] == "running"
    with pytest.raises(ProcessError, match="not paused"):
        control.resume_broker(layout.root, 1)
    control.stop_broker(layout.root, 1)
    assert states(layout)[0] == "stopped"


@pytest.mark.parametrize("paused", [False, True])
def test_a_stop_lets_a_broker_end_cleanly(layout: Layout, paused: bool) -> None:
    """A paused one as well: it is woken first."""
    stand_in(layout, "broker-1")
    if paused:
        control.pause_broker(layout.root, 1)
    control.stop_broker(layout.root, 1)
    assert layout.log_file("broker-1").read_text().split() == ["up", "clean"]


def test_a_kill_gives_no_time(layout: Layout) -> None:
    stand_in(layout, "broker-2")
    control.kill_broker(layout.root, 2)
    assert layout.log_file("broker-2").read_text().split() == ["up"]


@pytest.mark.parametrize("command", [control.stop_broker, control.kill_broker, control.pause_broker, control.resume_broker])
def test_a_command_to_a_broker_that_does_not_run_says_so(layout: Layout, command: Any) -> None:
    with pytest.raises(ProcessError, match=r"broker.2 is not (running|paused)"):
        command(layout.root, 2)


def test_all_stop_and_zookeeper_last(layout: Layout) -> None:
    for name in ("broker-1", "broker-2", "broker-3", "zookeeper"):
        stand_in(layout, name)
    control.pause_broker(layout.root, 2)
    told: list[str] = []
    control.cluster_down(layout.root, told.append)
    assert states(layout) == ["stopped"] * 3
    assert control.status(layout.root)["zookeeper"]["state"] == "stopped"
    assert told == ["stopping broker-1, broker-2, broker-3 …", "ZooKeeper stopped"]
    for name in ("broker-1", "broker-2", "broker-3", "zookeeper"):
        assert layout.log_file(name).read_text().split() == ["up", "clean"]
    control.cluster_down(layout.root, told.append)
    assert len(told) == 2, "nothing ran any more"


def test_two_commands_wait_for_each_other(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(layout, "broker-1")
    monkeypatch.setattr(control, "exclusive", lambda path, what: exclusive(path, what, seconds=0.1))
    with exclusive(layout.folder("run") / "change.lock", "another"), pytest.raises(ProcessError, match="the kill of broker 1"):
        control.kill_broker(layout.root, 1)
    assert states(layout)[0] != "stopped"


class Starts:
    """What would have been started."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.commands: list[list[str]] = []
        monkeypatch.setattr(LocalProcess, "start", lambda process, command, *_: self.start(command))

    def start(self, command: Sequence[str]) -> None:
        self.commands.append(list(command))


def test_a_broker_is_started_with_its_file_and_the_ports_of_today(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    """Edits of the file last, but for what the environment says."""
    starts = Starts(monkeypatch)
    brokers.launch(layout, 2)
    path = layout.broker_folder(2) / "server.properties"
    path.write_text("num.partitions=9\n")
    say_ready(layout, 2, 1)
    brokers.launch(layout, 2)
    assert path.read_text() == "num.partitions=9\n"
    assert not (layout.broker_folder(2) / "log" / brokers.READY_FILE).exists()
    command = starts.commands[-1]
    assert command[command.index("--config") + 1] == str(path)
    overrides = [command[at + 1] for at, word in enumerate(command) if word == "--override"]
    assert overrides == ["listeners=PLAINTEXT://127.0.0.1:31184", "zookeeper.connect=127.0.0.1:31181", "highwater.metrics.port=31188"]


def test_a_broker_is_not_started_twice(layout: Layout) -> None:
    stand_in(layout, "broker-1")
    with pytest.raises(ProcessError, match="running already"):
        brokers.launch(layout, 1)


def test_a_broker_that_ends_while_it_starts_shows_its_last_words(layout: Layout) -> None:
    layout.log_file("broker-3").write_text("x" * 5000 + "\nno space left\n")
    with pytest.raises(ProcessError, match="ended while it started") as told:
        brokers.wait_broker(layout, 3, 0.1)
    assert "no space left" in str(told.value)
    assert len(str(told.value)) < 3000


def test_a_broker_that_does_not_get_ready_is_not_waited_for_for_ever(layout: Layout) -> None:
    stand_in(layout, "broker-3")
    with pytest.raises(ProcessError, match="was not ready within 0 s"):
        brokers.wait_broker(layout, 3, 0.1)


def test_no_signal_reaches_an_unknown_broker(layout: Layout) -> None:
    with pytest.raises(ConfigError, match="no broker 4"):
        brokers.broker_process(layout, 4).send(signal.SIGKILL)
