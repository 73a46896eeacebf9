"""Group lag: per partition as LinkedIn's Burrow judges it, mended where it is known to err; in seconds; and its trend.

Rules for one partition over a ring of the last commits, judged only if the lag now is above the allowed one. First match wins:
1. STOP: the time since the last commit exceeds the time the ring spans, and the end offset has moved past that commit. A ring of
   one commit spans nothing, so it needs `STOP_LEAST_MS` of silence first.
2. REWIND: a committed offset went backwards and was not regained.
3. OK: some lag in the ring was within the allowed one.
4. STALL: all commits carry the same offset.
5. WARN: the lag never fell from one commit to the next.
6. OK otherwise.
An idle topic is never behind: a lag of 0 is OK before any rule. Where the group is in its own rhythm (`rhythm`), STOP, STALL and WARN are
`between`: it reads in batches and is between two.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from broker_core.contract import groups
from broker_core.contract.groups import Group, Lag, LagBasis, LagStatus
from broker_core.contract.record_times import RecordTime
from console.rules.words import counted, duration

OK: LagStatus = "ok"
WARN: LagStatus = "warn"
STALL: LagStatus = "stall"
STOP: LagStatus = "stop"
REWIND: LagStatus = "rewind"
UNKNOWN: LagStatus = "unknown"
BETWEEN: LagStatus = "between"
"""What stops, stalls or falls behind in the rhythm that its group always has (`rhythm`)."""
WINDOW = 10
STOP_LEAST_MS = 30_000
TREND_WINDOW_MS = 60_000
STEADY_SHARE = 0.1
KEEPING_UP_S = 10.0
"""Less is nothing to notice: consumers commit every 5 s by default, so it says nothing about their direction."""


class Commit(NamedTuple):
    at_ms: int
    offset: int
    lag: int


class Sample(NamedTuple):
    at_ms: int
    value: int


def partition_lag(committed: int | None, end_offset: int | None) -> int | None:
    """Records committed by nobody yet; never negative, unknown when either side is."""
    if committed is None or end_offset is None or committed < 0:
        return None
    return max(end_offset - committed, 0)


def partition_status(commits: Sequence[Commit], lag_now: int | None, now_ms: int, allowed: int = 0) -> LagStatus:  # noqa: PLR0911 (rule by rule)
    """`commits` oldest first, at most `WINDOW` of them."""
    if lag_now is None or not commits:
        return UNKNOWN
    if lag_now <= allowed:
        return OK
    span_ms = max(commits[-1].at_ms - commits[0].at_ms, STOP_LEAST_MS)
    if now_ms - commits[-1].at_ms > span_ms:
        return STOP
    if commits[-1].offset < max(c.offset for c in commits):
        return REWIND
    if any(c.lag <= allowed for c in commits):
        return OK
    if len(commits) < 2:
        return OK
    if all(c.offset == commits[0].offset for c in commits):
        return STALL
    if all(later.lag >= earlier.lag for earlier, later in pairwise(commits)):
        return WARN
    return OK


RECORD: LagBasis = "record"
ESTIMATE: LagBasis = "estimate"
AT_LEAST: LagBasis = "at_least"


class Behind(NamedTuple):
    """Lag in time, and what it rests on: `record`, `estimate` or `at_least`."""

    seconds: float
    basis: LagBasis


def time_behind(committed: int | None, end: int | None, known: RecordTime | None, ends: Sequence[Sample], now_ms: int) -> Behind | None:
    """Lag in time: the age of the record that the group would read next, the one at its committed offset.

    1. Nothing is left to read: 0.
    2. The time of that record is known: its age (`record`; `estimate` where only its batch's times are known).
    3. The log's end was seen before and after it (`ends`, oldest first), or an earlier record's time is known: it is taken to have
       arrived evenly between the two (`estimate`).
    4. It was there already when the log's end was first seen: at least so long ago (`at_least`).
    None where nothing is known.
    """
    if committed is None or committed < 0 or end is None:
        return None
    if committed >= end:
        return Behind(0.0, RECORD)
    if known is not None and known.offset == committed:
        return Behind(_age_s(known.at_ms, now_ms), RECORD if known.is_exact else ESTIMATE)
    points = list(ends)
    if known is not None and known.offset < committed and (not points or known.offset < points[0].value):
        points.insert(0, Sample(known.at_ms, known.offset))
    points.append(Sample(now_ms, end))
    for earlier, later in pairwise(points):
        if earlier.value <= committed < later.value:
            share = (committed - earlier.value) / (later.value - earlier.value)
            return Behind(_age_s(earlier.at_ms + share * (later.at_ms - earlier.at_ms), now_ms), ESTIMATE)
    return Behind(_age_s(points[0].at_ms, now_ms), AT_LEAST) if len(points) > 1 and committed < points[0].value else None


def behind_of(value: Group | Lag) -> Behind | None:
    """What a group's or row's value says of it."""
    return None if value.lag_s is None else Behind(value.lag_s, value.lag_basis or RECORD)


def worst_behind(rows: Iterable[Behind | None]) -> Behind | None:
    """Of a group's partitions: the longest; it is only a bound where one of them is."""
    known = [row for row in rows if row is not None]
    if not known:
        return None
    longest = max(known, key=lambda row: row.seconds)
    return Behind(longest.seconds, AT_LEAST) if any(row.basis == AT_LEAST for row in known) else longest


def _age_s(at_ms: float, now_ms: int) -> float:
    return max(now_ms - at_ms, 0.0) / 1000


class Trend(NamedTuple):
    word: groups.Trend
    eta_s: float | None


def trend(lags: Sequence[Sample], now_ms: int, *, active: bool, lag_s: float | None = None, statuses: Sequence[str] = ()) -> Trend:  # noqa: PLR0911 (rule by rule)
    """A group's direction from samples of its total lag (oldest first); `active` = it has members."""
    recent = [s for s in lags if now_ms - s.at_ms <= TREND_WINDOW_MS]
    if not recent:
        return Trend("unknown", None)
    lag = recent[-1].value
    if lag == 0:
        return Trend("caught_up", 0.0)
    if not active:
        return Trend("stopped", None)
    if lag_s is not None and lag_s < KEEPING_UP_S:
        return Trend("steady", None)
    if statuses and all(s in (STALL, STOP) for s in statuses if s != OK) and any(s in (STALL, STOP) for s in statuses):
        return Trend("stalled", None)
    span_s = (recent[-1].at_ms - recent[0].at_ms) / 1000
    if span_s < 5:
        return Trend("unknown", None)
    slope = (lag - recent[0].value) / span_s
    if abs(slope) * span_s <= STEADY_SHARE * max(lag, recent[0].value):
        return Trend("steady", None)
    return Trend("catching_up", lag / -slope) if slope < 0 else Trend("falling_behind", None)


SAYS: dict[groups.Trend, str] = {
    "caught_up": "has caught up",
    "catching_up": "is catching up",
    "steady": "holds its distance",
    "falling_behind": "falls further behind",
    "stalled": "does not move",
    "stopped": "has no members",
    "in_rhythm": "is in its rhythm",
    "unknown": "is being watched",
}


BEHIND = {ESTIMATE: "about ", AT_LEAST: "at least "}


def unknown_words(behind: Behind | None, unknown: int, partitions: int, silent_coordinator: int | None) -> str:
    """What follows on the name of a group whose lag nobody knows: it is so long `behind` by what is known."""
    if silent_coordinator is not None:
        return (
            f"is of unknown lag: broker {silent_coordinator}, its coordinator, is not heard, and nobody else tells what it has committed."
        )
    how = f"is {BEHIND[AT_LEAST]}{duration(behind.seconds, 1)} behind" if behind else "is of unknown lag"
    of = "its one partition" if partitions == 1 else f"{unknown} of its {partitions} partitions"
    return f"{how}: nobody tells where {of} {'ends' if unknown == 1 else 'end'}."


def group_words(
    lag: int | None,
    behind: Behind | None,
    word: groups.Trend,
    eta_s: float | None,
    *,
    every_s: float | None = None,
    slowest: groups.Place | None = None,
) -> str:
    """What follows on a group's name: `is 12 s behind and is catching up (about 40 s).`; `every_s` is the length of its rhythm's cycles,
    `slowest` the partition that keeps it from being done, which without an `eta_s` does not come closer."""
    lag_s = behind.seconds if behind else None
    if lag is None:
        return "has committed nothing that can be measured."
    if lag == 0:
        return "has caught up."
    if word != "stopped" and lag_s is not None and lag_s < KEEPING_UP_S:
        return f"keeps up, {duration(lag_s, 1) if lag_s >= 1 else 'less than ' + duration(1, 1)} behind."
    how = f"{BEHIND.get(behind.basis, '')}{duration(behind.seconds, 1)} behind" if behind else f"{counted(lag, 'record')} behind"
    if word == "in_rhythm" and every_s is not None:
        return f"is {how}, as usual: it catches up about every {duration(every_s, 1)}."
    return f"is {how} and {SAYS[word]}{_end(eta_s, slowest) if word == 'catching_up' else ''}."


def _end(eta_s: float | None, slowest: groups.Place | None) -> str:
    last = f"{slowest.topic}-{slowest.partition}" if slowest else ""
    if eta_s is None:
        return f", but not on {last}" if last else ""
    return f" (about {duration(eta_s, 1)}{f', {last} last' if last else ''})"
