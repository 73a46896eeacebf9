"""What `highwater up` does about ZooKeeper and brokers that end: stand-ins for them, real signals, a clock of the test's own."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from broker_core.cli import up, watch
from broker_core.errors import ConfigError
from broker_core.local import brokers, control, process_events
from broker_core.local.layout import BROKER_IDS, Layout
from broker_core.local.process import LocalProcess, allowed_environment, exclusive, wait_until
from broker_core.local.services import zookeeper_process

ENDS_BY = """
import os, signal, sys
signal.signal(signal.SIGUSR1, lambda *_: os._exit(75))
while True: signal.pause()
"""
NAMES = ("zookeeper", "broker-1", "broker-2", "broker-3")
PORTS = {
    f"HIGHWATER_{name}_PORT": str(port) for name, port in (("ZOOKEEPER", 31281), ("REDIS", 31282), ("BROKER", 31283), ("CONSOLE", 31286))
}


def start(layout: Layout, name: str) -> None:
    LocalProcess(name, layout.folder("run")).start(
        [sys.executable, "-S", "-c", ENDS_BY], layout.log_file(name), allowed_environment(), layout.root
    )


def launch(layout: Layout, broker_id: int) -> None:
    start(layout, f"broker-{broker_id}")


class World:
    """A watch over four stand-ins; `look` lets seconds pass."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.said: list[str] = []
        self.watch = watch.Watch(layout, self.said.append)
        self.now_ms = 0

    def look(self, seconds: float = 0.0) -> None:
        self.now_ms += int(seconds * 1000)
        self.watch.look(self.now_ms)

    def process(self, name: str) -> LocalProcess:
        return LocalProcess(name, self.layout.folder("run"))

    def alive(self) -> list[str]:
        return [name for name in NAMES if self.process(name).alive()]

    def end(self, name: str, number: signal.Signals) -> None:
        """A stranger's signal."""
        process = self.process(name)
        pid = process.pid()
        assert pid is not None
        os.kill(pid, number)
        assert wait_until(lambda: not process.alive(), 60)

    def told(self) -> list[str]:
        return [entry.sentence for entry in process_events.read(self.layout.root)]


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    for name, value in PORTS.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(brokers, "launch", launch)
    monkeypatch.setattr(brokers, "wait_broker", lambda layout, broker_id: None)
    monkeypatch.setattr(watch, "launch_zookeeper", partial(start, name="zookeeper"))
    monkeypatch.setattr(control, "start_zookeeper", lambda layout: zookeeper_process(layout).alive() or start(layout, "zookeeper"))
    layout = Layout.from_environment(tmp_path / "data")
    control.cluster_up(layout.root, lambda words: None)
    made = World(layout)
    for name in NAMES:
        assert wait_until(lambda name=name: _is_waiting(made.process(name)), 60)  # type: ignore[misc]
    made.look()
    yield made
    for name in NAMES:
        made.process(name).kill()


def _is_waiting(process: LocalProcess) -> bool:
    """Whether SIGUSR1 has its handler: bit 9 of the mask of those that are caught."""
    pid = process.pid()
    status = Path(f"/proc/{pid}/status").read_text() if pid else "SigCgt: 0"
    caught = next(line for line in status.splitlines() if line.startswith("SigCgt"))
    return bool(int(caught.split()[1], 16) >> (signal.SIGUSR1 - 1) & 1)


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (signal.SIGSEGV, "signal 11, SIGSEGV"),
        (signal.SIGKILL, "signal 9, SIGKILL"),
        (signal.SIGUSR1, "its watchdog: the loop had stood still for 10 s"),
    ],
)
def test_a_broker_that_ends_by_itself_comes_back_and_it_is_told(world: World, number: signal.Signals, words: str) -> None:
    world.end("broker-2", number)
    world.look(2)
    assert world.told() == [f"broker 2 ended by itself ({words}): it is started again in 2 s."]
    world.look(1.9)
    assert "broker-2" not in world.alive()
    world.look(0.1)
    assert world.alive() == list(NAMES)
    assert world.told()[1:] == [f"broker 2 was started again 2 s after it had ended by itself ({words})."]
    assert world.said == world.told()
    assert [entry.broker_id for entry in process_events.read(world.layout.root)] == [2, 2]
    world.look(2)
    assert len(world.told()) == 2


def test_zookeeper_comes_back_too(world: World) -> None:
    world.end("zookeeper", signal.SIGKILL)
    world.look(2)
    world.look(2)
    assert world.alive() == list(NAMES)
    assert world.told()[1] == "ZooKeeper was started again 2 s after it had ended by itself (signal 9, SIGKILL)."


def test_one_that_ends_again_and_again_waits_longer_and_longer(world: World) -> None:
    for pause_s in (2, 4, 8):
        world.end("broker-1", signal.SIGKILL)
        world.look(1)
        assert world.told()[-1].endswith(f"it is started again in {pause_s} s.")
        world.look(pause_s)
        assert world.alive() == list(NAMES)


@pytest.mark.parametrize("order", [control.stop_broker, control.kill_broker])
def test_one_that_was_stopped_on_purpose_stays_down_until_it_is_started(world: World, order: Callable[[Path, int], None]) -> None:
    order(world.layout.root, 2)
    for _ in range(5):
        world.look(100)
    assert world.alive() == ["zookeeper", "broker-1", "broker-3"]
    assert world.told() == []
    another = World(world.layout)
    another.look(100)
    assert "broker-2" not in another.alive(), "a watch that begins later knows of the order"
    control.start_broker(world.layout.root, 2)
    world.look(2)
    world.end("broker-2", signal.SIGKILL)
    world.look(2)
    world.look(2)
    assert world.alive() == list(NAMES)


def test_a_stop_while_it_waits_for_its_next_start_keeps_it_down(world: World) -> None:
    world.end("broker-3", signal.SIGKILL)
    world.look(1)
    with pytest.raises(Exception, match="broker 3 is not running, and stays so until it is started"):
        control.stop_broker(world.layout.root, 3)
    world.look(100)
    assert "broker-3" not in world.alive()


def test_a_cluster_that_was_told_to_stop_stays_down_but_up_takes_that_back(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    control.kill_broker(world.layout.root, 3)
    control.cluster_down(world.layout.root, lambda words: None)
    world.look(100)
    assert world.alive() == []
    assert up._wanted(world.layout) == [1, 2], "what was killed on purpose before stays down"
    assert "broker 3 was killed on purpose and stays down until: highwater broker start 3" in capsys.readouterr().out
    control.cluster_up(world.layout.root, lambda words: None, [1, 2])
    world.look(2)
    assert world.alive() == ["zookeeper", "broker-1", "broker-2"]
    control.cluster_up(world.layout.root, lambda words: None)
    assert up._wanted(world.layout) == list(BROKER_IDS), "who asks for the whole cluster gets it"


def test_the_end_of_up_itself_is_no_order(world: World) -> None:
    control.kill_broker(world.layout.root, 3)
    control.cluster_down(world.layout.root, lambda words: None, ordered=False)
    assert up._wanted(world.layout) == [1, 2]


def test_nothing_is_started_while_somebody_else_starts_or_stops(world: World) -> None:
    world.end("broker-1", signal.SIGKILL)
    world.look(1)
    with exclusive(world.layout.folder("run") / control.CHANGE_LOCK, "a stop"):
        world.look(10)
        assert "broker-1" not in world.alive()
    world.look(2)
    assert world.alive() == list(NAMES)


def test_what_cannot_be_started_is_told_and_tried_again_later(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(layout: Layout, broker_id: int) -> None:
        raise ConfigError("Port 31283 is taken")

    monkeypatch.setattr(brokers, "launch", refuse)
    refused = World(world.layout)
    refused.look()
    refused.end("broker-1", signal.SIGKILL)
    refused.look(1)
    refused.look(2)
    assert refused.told()[1] == "broker 1 could not be started again: Port 31283 is taken. The next try is in 4 s."
    refused.look(3.9)
    assert len(refused.told()) == 2
    refused.look(0.1)
    assert refused.told()[2].endswith("The next try is in 8 s.")
