"""How schedules are said. Pure."""

from __future__ import annotations

from datetime import datetime, timedelta

from console.rules.schedules.timetable import zone_of
from console.rules.words import duration

SOON = timedelta(days=6)
OVERDUE_S = 60
"""So late it is no matter of a moment: whoever begins what is due is not there."""


def when(due: datetime, now: datetime, zone: str) -> str:
    """`in 3 h (Thu 02:00 Europe/Berlin)`; further away with the date. Of what is due and not begun, since when it is."""
    left = (due - now).total_seconds()
    at = f"({local(due, zone, dated=abs(due - now) > SOON)} {zone})"
    if left < -OVERDUE_S:
        return f"due since {duration(-left)} {at} and not begun: no worker has looked"
    return f"now {at}" if left < 1 else f"in {duration(left, 1)} {at}"


def local(due: datetime, zone: str, *, dated: bool = True) -> str:
    """`Thu 02:00`, or `Thu 2026-11-26 02:00`, on the clocks of the zone."""
    return due.astimezone(zone_of(zone)).strftime("%a %Y-%m-%d %H:%M" if dated else "%a %H:%M")


def offset(due: datetime, zone: str) -> str:
    """How far the zone's clocks are from UTC then: `UTC+02:00`."""
    text = due.astimezone(zone_of(zone)).strftime("%z")
    return f"UTC{text[:3]}:{text[3:5]}"
