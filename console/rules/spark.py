"""What is said of Spark's installation. Pure."""

from __future__ import annotations

from datetime import UTC, datetime

from broker_core.contract.installs import Install
from console.rules.words import THIN, whole

AGAIN = ".venv/bin/highwater spark"


def sentence(install: Install, now: datetime) -> str:
    """How far it is, or why analyses cannot run; empty once they can."""
    match install.state:
        case "installing":
            return f"PySpark is being installed{_how_far(install)}{_since(install, now)}."
        case "failed":
            return f"PySpark could not be installed: {install.why.rstrip('.')}. Try again: {AGAIN}, or make up."
        case "absent":
            return f"PySpark is not installed: run {AGAIN}, or make up."
        case "ready":
            return ""


def share(install: Install) -> int | None:
    """Of the download, in percent; None while its size is not known."""
    return round(100 * install.done_bytes / install.total_bytes) if install.total_bytes else None


def _how_far(install: Install) -> str:
    if install.step == "jars":
        return ": the jars of its Kafka source are fetched"
    if not install.total_bytes:
        return ""
    total = f"{_mb(install.total_bytes)}{THIN}MB"
    if install.done_bytes < install.total_bytes:
        return f": {_mb(install.done_bytes)} of {total}"
    return f": all {total} have come and are unpacked"


def _mb(count: int) -> str:
    return whole(count / 1_000_000)


def _since(install: Install, now: datetime) -> str:
    """The time of day; with the date on any day but that of `now`."""
    if not install.since_ms:
        return ""
    began = datetime.fromtimestamp(install.since_ms / 1000, UTC)
    return f", since {began:{'%H:%M' if began.date() == now.date() else '%d %b %H:%M'}}"
