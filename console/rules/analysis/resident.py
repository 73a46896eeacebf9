"""What is said of the driver that stays: whether it lives, what it does, and when it is tried again. Pure.

It is known by two documents: what the driver says of itself (`progress.json`), and what became of it by whoever looks after it.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from msgspec import Struct

SILENT_AFTER = timedelta(minutes=20)
"""It says nothing while Spark answers; longer than this it hangs."""
LATE_AFTER = timedelta(seconds=60)
"""It tells of each part of an answer as it begins it."""
WAITING_LATE_AFTER = timedelta(seconds=15)
"""While it waits it says so every 5 s."""
START_LATE_AFTER = timedelta(minutes=3)
FIRST_RETRY, LAST_RETRY = timedelta(minutes=1), timedelta(minutes=15)
AT_ONCE = timedelta(seconds=5)
"""For one that had answered: it was killed, or its cluster went away for a while."""


class Resident(Struct, frozen=True):
    """`is_running`: it was started and has not been seen ended. `why` it is not there, `again_at` it is tried next."""

    is_running: bool
    since: datetime | None
    heard_at: datetime | None
    does: str
    next_at: datetime | None
    why: str
    again_at: datetime | None
    tries: int


def resident(kept: Mapping[str, Any] | None, progress: Mapping[str, Any] | None) -> Resident:
    """From what lies in the driver's folder; a field that is no moment or text is as if it were not there."""
    kept = kept or {}
    running = kept.get("state") == "running"
    said = (progress or {}) if running else {}
    tries = kept.get("tries")
    return Resident(
        is_running=running,
        since=_moment(kept.get("since_ms")) if running else None,
        heard_at=_moment(said.get("at_ms")),
        does=str(said.get("message", ""))[:200],
        next_at=_moment(said.get("next_ms")),
        why=str(kept.get("why", ""))[:1000],
        again_at=None if running else _moment(kept.get("again_ms")),
        tries=tries if isinstance(tries, int) and 0 <= tries < 1000 else 0,
    )


def retry_after(tries: int) -> timedelta:
    """From an end to the next start, by how many ended without an answer before it."""
    return min(FIRST_RETRY * (1 << min(tries - 1, 10)), LAST_RETRY) if tries else AT_ONCE


def level(found: Resident, now: datetime) -> str:
    if found.is_running:
        return "unknown" if _is_late(found, now) else "ok"
    return "warn" if found.why else "unknown"


def sentence(found: Resident, now: datetime) -> str:
    """What the page says in one or two sentences."""
    if not found.is_running:
        again = f" It is tried again at {_clock(found.again_at, now)}." if found.again_at and found.again_at > now else ""
        return f"No driver runs: {found.why.rstrip('.')}.{again}" if found.why else "The driver has not been started yet."
    if _is_late(found, now):
        return f"Unknown whether the driver still runs: {_last_known(found, now)}."
    since = f"A Spark driver runs since {_clock(found.since, now)}" if found.since else "A Spark driver runs"
    if found.heard_at is None:
        return f"{since}; it is starting."
    nearly = f"; the next answer at {_clock(found.next_at, now)}" if found.next_at and found.next_at > now else ""
    return f"{since}, {found.does}{nearly}."


def _last_known(found: Resident, now: datetime) -> str:
    started = f"it was started at {_clock(found.since, now)} and " if found.since else "it "
    if found.heard_at is None:
        return f"{started}has said nothing since"
    return f"{started}was last heard of at {_clock(found.heard_at, now)}, {found.does}"


def _is_late(found: Resident, now: datetime) -> bool:
    if found.heard_at is None:
        return found.since is None or now - found.since >= START_LATE_AFTER
    return now - found.heard_at >= (LATE_AFTER if found.next_at is None else WAITING_LATE_AFTER)


def _moment(value: object) -> datetime | None:
    """Of milliseconds since the epoch."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value < 10**14:
        return None
    return datetime.fromtimestamp(value / 1000, UTC)


def _clock(at: datetime | None, now: datetime) -> str:
    """The time of day in UTC; with the date on any day but that of `now`."""
    return "" if at is None else f"{at:{'%H:%M:%S' if at.date() == now.date() else '%d %b %H:%M'}}"
