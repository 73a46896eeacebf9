"""What shell, web and jobs call: every change is serialised by one lock of the data folder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from broker_core.local import brokers
from broker_core.local.layout import BROKER_IDS, Layout
from broker_core.local.orders import Order, forget, order_down, ordered_down
from broker_core.local.process import ProcessError, exclusive
from broker_core.local.services import redis_process, start_zookeeper, zookeeper_process

Say = Callable[[str], None]

CHANGE_LOCK = "change.lock"
HAND_OVER_SECONDS = 5.0
"""So long a broker may hand its leaderships over; the rest of the wait is for closing its logs clean."""
TOGETHER_SECONDS = 0.5
"""The same where all brokers stop: there is soon nobody left to hand over to."""


def start_broker(data: Path, broker_id: int) -> None:
    """Starts a stopped broker and waits until it serves."""
    layout = Layout.from_environment(data)
    with _changing(layout, f"the start of broker {broker_id}"):
        brokers.launch(layout, broker_id)
        forget(layout, brokers.broker_process(layout, broker_id).name)
    brokers.wait_broker(layout, broker_id)


def stop_broker(data: Path, broker_id: int) -> None:
    """Stops a broker cleanly: it hands its leaderships over first; killed when that takes too long. It stays down until started."""
    layout = Layout.from_environment(data)
    with _changing(layout, f"the stop of broker {broker_id}"):
        process = brokers.broker_process(layout, broker_id)
        order_down(layout, process.name, "stopped")
        _require(process.stop(insist_after=HAND_OVER_SECONDS), broker_id)


def restart_broker(data: Path, broker_id: int) -> None:
    """A clean stop and a start: what brings a data folder back that went offline. Waits until the broker serves."""
    stop_broker(data, broker_id)
    start_broker(data, broker_id)


def kill_broker(data: Path, broker_id: int) -> None:
    """SIGKILL: the broker's last bytes may be torn, its session stays until it expires. It stays down until started."""
    layout = Layout.from_environment(data)
    with _changing(layout, f"the kill of broker {broker_id}"):
        process = brokers.broker_process(layout, broker_id)
        order_down(layout, process.name, "killed")
        _require(process.kill(), broker_id)


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


def cluster_up(data: Path, say: Say, broker_ids: Sequence[int] = BROKER_IDS) -> None:
    """Starts ZooKeeper and those of the brokers that do not run, whoever stopped them, and waits until they serve."""
    layout = Layout.from_environment(data)
    layout.prepare()
    with _changing(layout, "the start of the cluster"):
        say("ZooKeeper …")
        start_zookeeper(layout)
        forget(layout, zookeeper_process(layout).name)
        say(f"brokers {', '.join(map(str, broker_ids))} …" if broker_ids else "no broker")
        for broker_id in broker_ids:
            process = brokers.broker_process(layout, broker_id)
            if not process.alive():
                brokers.launch(layout, broker_id)
            forget(layout, process.name)
    for broker_id in broker_ids:
        brokers.wait_broker(layout, broker_id)


def cluster_down(data: Path, say: Say, *, ordered: bool = True) -> None:
    """Stops the brokers (all at once, paused ones too), then ZooKeeper; what does not run is fine. Unless the stop is not
    `ordered` by anybody, all stays down until it is started."""
    layout = Layout.from_environment(data)
    with _changing(layout, "the stop of the cluster"):
        if ordered:
            _order_all_down(layout)
        running = [p for p in (brokers.broker_process(layout, i) for i in BROKER_IDS) if p.alive()]
        if running:
            say(f"stopping {', '.join(p.name for p in running)} …")
            with ThreadPoolExecutor(len(running)) as pool:
                list(pool.map(lambda process: process.stop(insist_after=TOGETHER_SECONDS), running))
        if zookeeper_process(layout).stop():
            say("ZooKeeper stopped")


def _order_all_down(layout: Layout) -> None:
    """What somebody stopped or killed by itself before keeps that order."""
    for name in (*(brokers.broker_process(layout, i).name for i in BROKER_IDS), zookeeper_process(layout).name):
        if ordered_down(layout, name) is None:
            order_down(layout, name, "down")


def wanted_brokers(layout: Layout) -> dict[int, Order | None]:
    """Each broker, and the order of its own that keeps it down; that of the whole cluster is not one."""
    orders = {i: ordered_down(layout, brokers.broker_process(layout, i).name) for i in BROKER_IDS}
    return {i: None if order and order.how == "down" else order for i, order in orders.items()}


def changing_now(layout: Layout) -> AbstractContextManager[None]:
    """The lock of all who start and stop, at once or not at all (`Busy`)."""
    return exclusive(layout.folder("run") / CHANGE_LOCK, "", seconds=0.0)


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
        raise ProcessError(f"broker {broker_id} is not running, and stays so until it is started")


def _changing(layout: Layout, what: str) -> Any:
    return exclusive(layout.folder("run") / CHANGE_LOCK, what)
