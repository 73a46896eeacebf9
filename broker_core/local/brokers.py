"""The local brokers: their property files, and starting and signalling them."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from broker_core.local.layout import Layout, known_broker
from broker_core.local.process import LocalProcess, ProcessError, allowed_environment, wait_until
from broker_core.local.services import check_port_free, tail

READY_SECONDS = 60.0
SIGNAL_SECONDS = 5.0
READY_FILE = ".ready"
"""What a broker writes into its data folder once it serves: JSON with pid, port, broker_epoch, metrics_port."""

PACKAGE_ROOT = Path(__file__).resolve().parent.parent.parent


def broker_process(layout: Layout, broker_id: int) -> LocalProcess:
    return LocalProcess(f"broker-{known_broker(broker_id)}", layout.folder("run"))


def properties(layout: Layout, broker_id: int) -> dict[str, str]:
    """The settings of a local broker: faults are seen within seconds, disks stay small."""
    return {
        "broker.id": str(broker_id),
        "listeners": f"PLAINTEXT://127.0.0.1:{layout.port_of(broker_id)}",
        "zookeeper.connect": layout.zookeeper_connect,
        "zookeeper.session.timeout.ms": "6000",
        "log.dirs": str(layout.broker_folder(broker_id) / "log"),
        "replica.lag.time.max.ms": "10000",
        "default.replication.factor": "3",
        "min.insync.replicas": "2",
        "num.partitions": "3",
        "auto.leader.rebalance.enable": "false",
        "offsets.topic.segment.bytes": "16777216",
        "log.retention.check.interval.ms": "30000",
        "log.segment.delete.delay.ms": "10000",
        "controlled.shutdown.retry.backoff.ms": "500",
        "replica.fetch.backoff.ms": "100",
        "group.initial.rebalance.delay.ms": "500",
    }


def write_properties(layout: Layout, broker_id: int) -> Path:
    """The broker's property file; one that is there already is kept, so that edits last."""
    path = layout.folder(f"broker-{broker_id}") / "server.properties"
    if not path.exists():
        path.write_text("".join(f"{name}={value}\n" for name, value in properties(layout, broker_id).items()), encoding="utf-8")
    return path


def check_ports_free(layout: Layout, broker_id: int) -> None:
    """`ConfigError` names the port that somebody else has."""
    check_port_free(layout.port_of(broker_id), f"broker {broker_id}", "HIGHWATER_BROKER_PORT")
    check_port_free(layout.metrics_port_of(broker_id), f"the metrics of broker {broker_id}", "HIGHWATER_METRICS_PORT")


def launch(layout: Layout, broker_id: int) -> None:
    """Starts a broker without waiting for it; `ProcessError` when it runs already."""
    process = broker_process(layout, broker_id)
    if process.alive():
        raise ProcessError(f"broker {broker_id} is running already")
    check_ports_free(layout, broker_id)
    config = write_properties(layout, broker_id)
    overrides = [
        f"listeners=PLAINTEXT://127.0.0.1:{layout.port_of(broker_id)}",
        f"zookeeper.connect={layout.zookeeper_connect}",
        f"highwater.metrics.port={layout.metrics_port_of(broker_id)}",
    ]
    command = [sys.executable, "-m", "broker_core", "--config", str(config), "--log-file", str(layout.log_file(process.name))]
    for override in overrides:
        command += ["--override", override]
    (layout.broker_folder(broker_id) / "log" / READY_FILE).unlink(missing_ok=True)
    environment = allowed_environment({"PYTHONPATH": str(PACKAGE_ROOT), "PYTHONUNBUFFERED": "1"})
    process.start(command, layout.log_file(process.name), environment, layout.broker_folder(broker_id))


def wait_broker(layout: Layout, broker_id: int, seconds: float = READY_SECONDS) -> None:
    """Waits until a launched broker serves; `ProcessError` with its last log lines when it does not."""
    process, log_file = broker_process(layout, broker_id), layout.log_file(f"broker-{broker_id}")
    wait_until(lambda: ready(layout, broker_id) is not None or not process.alive(), seconds)
    if not process.alive():
        raise ProcessError(f"broker {broker_id} ended while it started. The end of {log_file}:\n{tail(log_file)}")
    if ready(layout, broker_id) is None:
        raise ProcessError(f"broker {broker_id} was not ready within {seconds:.0f} s. The end of {log_file}:\n{tail(log_file)}")


def ready(layout: Layout, broker_id: int) -> dict[str, object] | None:
    """What a serving broker says of itself, None while it does not serve."""
    process = broker_process(layout, broker_id)
    try:
        found = json.loads((layout.broker_folder(broker_id) / "log" / READY_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    pid = process.pid()
    return found if isinstance(found, dict) and pid is not None and found.get("pid") == pid else None


def pause(layout: Layout, broker_id: int) -> None:
    """SIGSTOP: the process stands still, its connections stay open."""
    process = broker_process(layout, broker_id)
    if process.paused():
        raise ProcessError(f"broker {broker_id} is paused already")
    process.send(signal.SIGSTOP)
    _await(process.paused, f"broker {broker_id} did not stand still")


def resume(layout: Layout, broker_id: int) -> None:
    """SIGCONT for a paused broker."""
    process = broker_process(layout, broker_id)
    if not process.paused():
        raise ProcessError(f"broker {broker_id} is not paused")
    process.send(signal.SIGCONT)
    _await(lambda: not process.paused(), f"broker {broker_id} did not go on")


def _await(condition: Callable[[], bool], what: str) -> None:
    """Signals are asynchronous: whoever asked may count on their effect."""
    if not wait_until(condition, SIGNAL_SECONDS):
        raise ProcessError(f"{what} within {SIGNAL_SECONDS:.0f} s of the signal")
