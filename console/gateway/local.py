"""The processes of the local cluster: start, stop, restart, kill, pause, resume, and what runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.conf import settings

from broker_core.errors import HighwaterError
from broker_core.local import control
from broker_core.local import process_events as noted
from broker_core.local.process_events import ProcessEvent
from console.gateway.errors import GatewayError

__all__ = ["ACTIONS", "ProcessEvent", "act", "process_events", "processes"]

ACTIONS: dict[str, Callable[[Path, int], None]] = {
    "start": control.start_broker,
    "stop": control.stop_broker,
    "restart": control.restart_broker,
    "kill": control.kill_broker,
    "pause": control.pause_broker,
    "resume": control.resume_broker,
}


def act(action: str, broker_id: int) -> None:
    """Blocking (a stop takes up to 10 s, a start up to 40 s); `GatewayError` says why it could not be done."""
    try:
        ACTIONS[action](settings.DATA_DIR, broker_id)
    except HighwaterError as error:
        raise GatewayError("NOT_DONE", str(error)) from error


def processes() -> dict[int, str]:
    """`{broker_id: running|starting|paused|stopped}`; empty when there is no local cluster in the data folder."""
    try:
        found: dict[str, Any] = control.status(settings.DATA_DIR)
    except (HighwaterError, OSError):
        return {}
    return {broker["broker_id"]: broker["state"] for broker in found["brokers"]}


def process_events(after_ms: int) -> list[ProcessEvent]:
    """What ended by itself later than `after_ms`, and what became of it; `OSError` when that cannot be read."""
    return noted.read(settings.DATA_DIR, after_ms)
