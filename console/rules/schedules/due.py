"""What happens to times that are due. Pure.

Whoever is to begin them looks every few seconds. One that is late is made up where it is less than an hour late and less than half of the
time to the next one; of several that have passed the last alone. All others are missed.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple

from console.rules.schedules.timetable import Timetable
from console.rules.words import counted, duration

LATE_MOST = timedelta(hours=1)
COUNTED_MOST = 1_000
"""Missed times are counted up to so many: nobody reads on, and a minute's schedule has half a million a year."""


class Due(NamedTuple):
    """`run` is to begin now; None where it is too late for any. `missed` is the first that is not made up, `missed_count` how many are,
    at most `COUNTED_MOST`. `next_at` is what is due after all of them."""

    run: datetime | None
    missed: datetime | None
    missed_count: int
    next_at: datetime | None


def decide(timetable: Timetable, due: datetime, now: datetime) -> Due:
    """`due` is the first time that nothing was decided of yet, and has come."""
    last = _last(timetable, due, now)
    following = timetable.after(last)
    may_be_late = LATE_MOST if following is None else min(LATE_MOST, (following - last) / 2)
    run = last if now - last < may_be_late else None
    count = _count(timetable, due, now if run is None else run - timedelta(microseconds=1))
    return Due(run, due if count else None, count, timetable.after(max(now, last)))


def _last(timetable: Timetable, due: datetime, now: datetime) -> datetime:
    """The last time that has come; looked for where it may be made up, since there may be very many before."""
    last = due
    after = max(due, now - LATE_MOST)
    while (found := timetable.after(after)) is not None and found <= now:
        last = after = found
    return last


def _count(timetable: Timetable, due: datetime, until: datetime) -> int:
    count, at = 0, due
    while at <= until and count < COUNTED_MOST:
        count += 1
        found = timetable.after(at)
        if found is None:
            break
        at = found
    return count


def missed_words(count: int, late: timedelta) -> str:
    """Of the history."""
    late_words = duration(late.total_seconds())
    if count == 1:
        return f"Nobody was there to begin it in time: it would have been {late_words} late."
    times = f"More than {counted(COUNTED_MOST - 1, 'time')}" if count >= COUNTED_MOST else counted(count, "time")
    return f"{times} passed, from this one on over {late_words}: nobody was there to begin them in time."
