"""What shell, web and jobs call: every change is serialised by one lock of the data folder."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from broker_core.local import brokers
from broker_core.local.layout import BROKER_IDS, Layout
from broker_core.local.process import ProcessError, exclusive
from broker_core.local.services import redis_process, start_zookeeper, zookeeper_process

Progress = Callable[[str], None]

HAND_OVER_SECONDS = 5.0
"""So long a broker may hand its leaderships over; the rest of the wait is for closing its logs clean."""
TOGETHER_SECONDS = 0.5
"""The same where all brokers stop: there is soon nobody left to hand over to."""


def start_broker(data: Path, broker_id: int) -> None:
    """Starts a stopped broker and waits until it serves."""
    layout = Layout.from_environment(data)
    with _changing(layout, f"the start of broker {broker_id}"):
        brokers.launch(layout, broker_id)
    brokers.wait_broker(layout, broker_id)


def stop_broker(data: Path, broker_id: int) -> None:
    """Stops a broker cleanly: it hands its leaderships over first; killed when that takes too long."""
    layout = Layout.from_environment(data)
    with _changing(layout, f"the stop of broker {broker_id}"):
        _require(brokers.broker_process(layout, broker_id).stop(insist_after=HAND_OVER_SECONDS), broker_id)


def restart_broker(data: Path, broker_id: int) -> None:
    """A clean stop and a start: what brings a data folder back that went offline. Waits until the broker serves."""
    stop_broker(data, broker_id)
    start_broker(data, broker_id)


def kill_broker(data: Path, broker_id: int) -> None:
    """SIGKILL: the broker's last bytes may be torn, its session stays until it expires."""
    layout = Layout.from_environment(data)
    with _changing(layout, f"the kill of broker {broker_id}"):
        _require(brokers.broker_process(layout, broker_id).kill(), broker_id)


def pause_broker(data: Path, broker_id: int) -> None:
    """SIGSTOP: as a long garbage collection or a hanging disk would look."""
    layout = Layout.from_environment(data)
    with _changing(layout, f"the pause of broker {broker_id}"):
        brokers.pause(layout, broker_id)


def resume_broker(data: Path, broker_id: int) -> None:
    """SIGCONT for a paused broker."""
    layout = Layout.from_environment(data)
    with _changing(layout, f"the resumption of broker {broker_id}"):
        brokers.resume(layout, broker_id)


def cluster_up(data: Path, progress: Progress) -> None:
    """Starts ZooKeeper and all brokers that do not run, and waits until they serve."""
    layout = Layout.from_environment(data)
    layout.prepare()
    with _changing(layout, "the start of the cluster"):
        progress("ZooKeeper …")
        start_zookeeper(layout)
        progress(f"brokers {', '.join(map(str, BROKER_IDS))} …")
        for broker_id in BROKER_IDS:
            if not brokers.broker_process(layout, broker_id).alive():
                brokers.launch(layout, broker_id)
    for broker_id in BROKER_IDS:
        brokers.wait_broker(layout, broker_id)


def cluster_down(data: Path, progress: Progress) -> None:
    """Stops the brokers (all at once, paused ones too), then ZooKeeper; what does not run is fine."""
    layout = Layout.from_environment(data)
    with _changing(layout, "the stop of the cluster"):
        running = [p for p in (brokers.broker_process(layout, i) for i in BROKER_IDS) if p.alive()]
        if running:
            progress(f"stopping {', '.join(p.name for p in running)} …")
            with ThreadPoolExecutor(len(running)) as pool:
                list(pool.map(lambda process: process.stop(insist_after=TOGETHER_SECONDS), running))
        if zookeeper_process(layout).stop():
            progress("ZooKeeper stopped")


def status(data: Path) -> dict[str, Any]:
    """What runs: `{"zookeeper": {...}, "redis": {...}, "brokers": [{broker_id, state, pid, port, epoch}]}`.

    A broker's state is `running`, `starting`, `paused` or `stopped`.
    """
    layout = Layout.from_environment(data)
    return {
        "zookeeper": {"state": _state(zookeeper_process(layout).alive()), "port": layout.zookeeper_port},
        "redis": {"state": _state(redis_process(layout).alive()), "port": layout.redis_port},
        "brokers": [_broker_status(layout, broker_id) for broker_id in BROKER_IDS],
    }


def _broker_status(layout: Layout, broker_id: int) -> dict[str, Any]:
    process = brokers.broker_process(layout, broker_id)
    pid = process.pid()
    ready = brokers.ready(layout, broker_id)
    state = "stopped" if pid is None else "paused" if process.paused() else "running" if ready else "starting"
    epoch = ready.get("broker_epoch") if ready else None
    return {"broker_id": broker_id, "state": state, "pid": pid, "port": layout.port_of(broker_id), "broker_epoch": epoch}


def _state(alive: bool) -> str:
    return "running" if alive else "stopped"


def _require(was_running: bool, broker_id: int) -> None:
    if not was_running:
        raise ProcessError(f"broker {broker_id} is not running")


def _changing(layout: Layout, what: str) -> Any:
    return exclusive(layout.folder("run") / "change.lock", what)
