"""When work that comes back by itself is due."""

from __future__ import annotations

from datetime import datetime, timedelta


def next_due(last: datetime | None, since: datetime, every: timedelta) -> datetime | None:
    """`every` after the last time, whoever asked for it; the first is counted from `since`. None: only on request (every 0)."""
    return (last or since) + every if every else None
