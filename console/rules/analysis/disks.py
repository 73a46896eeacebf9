"""When is the disk full?

Rules, by the earliest time that the past makes likely (or the pace alone, where the past is too short for that): within 6 hours bad,
within a day warn, within a week notice. A forecast says how often such forecasts have held.
"""

from __future__ import annotations

import json

from broker_core.contract.sentences import Level, Line
from console.rules.analysis.model import Answer, Row, Table, Told, answer, told
from console.rules.pieces import link, said
from console.rules.words import counted, duration, size, whole

BAD_H, WARN_H, NOTICE_H = 6, 24, 7 * 24
HOUR_S = 3600
NOT_YET = "No broker's disk has been sampled for six hours yet."


def when_full(disks: Table) -> Answer:
    lines = sorted((_line(row) for row in disks.rows), key=lambda line: ORDER.index(line.level))
    return answer("disk", "When is a disk full?", _verdict(disks), lines, ("disks",), left_off=disks.left_off)


ORDER: tuple[Level, ...] = ("bad", "warn", "notice", "unknown", "ok")


def level_of(row: Row) -> Level:
    soonest = _soonest(row)
    if soonest is None or soonest >= NOTICE_H:
        return "ok"
    return "bad" if soonest < BAD_H else "warn" if soonest < WARN_H else "notice"


def _soonest(row: Row) -> float | None:
    """Hours."""
    known = [hours for hours in (row["earliest_hours"], row["eta_hours"]) if hours is not None]
    return min(known, default=None)


def _verdict(disks: Table) -> Line:
    if not disks.rows:
        return Line("unknown", NOT_YET)
    first = min(disks.rows, key=lambda row: (_soonest(row) is None, _soonest(row) or 0))
    soonest = _soonest(first)
    if soonest is None:
        return Line("ok", "No disk fills up.")
    place = _place(first)
    words = (
        f"in {duration(soonest * HOUR_S)} at the earliest"
        if first["earliest_hours"] is not None
        else f"in about {duration(soonest * HOUR_S)}"
    )
    return Line(level_of(first), f"The first to be full is {place}, {words}.")


def _line(row: Row) -> Told:
    place = _place(row)
    used = f" uses {size(row['value'])} of {size(row['limit'])}, {_pace(row['per_hour'])}: "
    return told(level_of(row), link(place, "brokers"), said(used + _full(row) + _held(row)))


def _place(row: Row) -> str:
    """`broker 1 (/data)`; the name is JSON that the driver wrote."""
    name = json.loads(row["name"])
    return f"broker {name['broker']} ({name['folder']})"


def _pace(per_hour: float) -> str:
    return f"{'+' if per_hour >= 0 else '−'}{size(abs(per_hour))} an hour"


def _full(row: Row) -> str:
    eta, earliest, latest = row["eta_hours"], row["earliest_hours"], row["latest_hours"]
    if eta is None and earliest is None:
        return "not full at any pace that the past makes likely." if row["low_per_hour"] is not None else "not full at this pace."
    likely = "not full at this pace" if eta is None else f"full in {duration(eta * HOUR_S)}"
    if row["low_per_hour"] is None:
        return f"{likely}; how far that can be trusted is not known yet."
    soonest = "" if earliest is None else f"in {duration(earliest * HOUR_S)} at the earliest"
    last = "maybe never" if latest is None else f"in {duration(latest * HOUR_S)} at the latest"
    return f"{likely}, {soonest}{', ' if soonest else ''}{last}."


def _held(row: Row) -> str:
    if not row["tries"]:
        return ""
    return f" Of {counted(row['tries'], 'such forecast')} of the past, {whole(row['within'])} held."
