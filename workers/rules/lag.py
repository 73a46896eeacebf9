"""Group lag: per partition as LinkedIn's Burrow judges it, mended where it is known to err; in seconds; and its trend.

Rules for one partition over a ring of the last commits, judged only if the lag now is above the allowed one. First match wins:
1. STOP: the time since the last commit exceeds the time the ring spans, and the end offset has moved past that commit. A ring of
   one commit spans nothing, so it needs `STOP_LEAST_MS` of silence first.
2. REWIND: a committed offset went backwards and was not regained.
3. OK: some lag in the ring was within the allowed one.
4. STALL: all commits carry the same offset.
5. WARN: the lag never fell from one commit to the next.
6. OK otherwise.
An idle topic is never behind: a lag of 0 is OK before any rule.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from workers.rules.words import counted, duration

OK, WARN, STALL, STOP, REWIND, UNKNOWN = "ok", "warn", "stall", "stop", "rewind", "unknown"
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


def partition_status(commits: Sequence[Commit], lag_now: int | None, now_ms: int, allowed: int = 0) -> str:  # noqa: PLR0911 (rule by rule)
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


def lag_seconds(ends: Sequence[Sample], committed: int | None, now_ms: int) -> float | None:
    """How long ago the log end stood where the group is now, from samples of the end offset (oldest first).

    Between two samples the end is taken to have moved evenly; before the oldest one its mean rate is carried back.
    """
    if committed is None or committed < 0 or not ends:
        return None
    if ends[-1].value <= committed:
        return 0.0
    if committed < ends[0].value:
        return _carried_back(ends, committed, now_ms)
    for earlier, later in pairwise(ends):
        if earlier.value <= committed < later.value:
            share = (committed - earlier.value) / (later.value - earlier.value)
            return max(now_ms - (earlier.at_ms + share * (later.at_ms - earlier.at_ms)), 0.0) / 1000
    return None


def _carried_back(ends: Sequence[Sample], committed: int, now_ms: int) -> float | None:
    moved, took_ms = ends[-1].value - ends[0].value, ends[-1].at_ms - ends[0].at_ms
    if moved <= 0 or took_ms <= 0:
        return None
    return (now_ms - ends[0].at_ms + (ends[0].value - committed) * took_ms / moved) / 1000


class Trend(NamedTuple):
    word: str
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


SAYS = {
    "caught_up": "has caught up",
    "catching_up": "is catching up",
    "steady": "holds its distance",
    "falling_behind": "falls further behind",
    "stalled": "does not move",
    "stopped": "has no members",
    "unknown": "is being watched",
}


def group_sentence(group: str, lag: int | None, lag_s: float | None, word: str, eta_s: float | None) -> str:
    """`Group billing is 12 s behind and is catching up (about 40 s).`"""
    if lag is None:
        return f"Group {group} has committed nothing that can be measured."
    if lag == 0:
        return f"Group {group} has caught up."
    if word != "stopped" and lag_s is not None and lag_s < KEEPING_UP_S:
        return f"Group {group} keeps up, {duration(lag_s, 1) if lag_s >= 1 else 'less than ' + duration(1, 1)} behind."
    behind = f"{duration(lag_s, 1)} behind" if lag_s is not None else f"{counted(lag, 'record')} behind"
    eta = f" (about {duration(eta_s, 1)})" if eta_s is not None and word == "catching_up" else ""
    return f"Group {group} is {behind} and {SAYS[word]}{eta}."
