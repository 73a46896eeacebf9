"""Why a partition's lag is judged as it is, and which partition keeps its group from having caught up. Pure.

A reason names figures of commits only, so that it changes when the group commits and not with each record that is written.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from broker_core.contract.groups import Lag, LagStatus, Place
from console.rules.lag import BETWEEN, KEEPING_UP_S, OK, REWIND, STALL, STEADY_SHARE, STOP, TREND_WINDOW_MS, UNKNOWN, WARN, Commit
from console.rules.words import counted, whole

LEAST_SPAN_MS = 5_000
"""Of commits closer together no speed is told."""


def reason(status: LagStatus, commits: Sequence[Commit], lag: int | None) -> str:
    """`commits` oldest first: those that the status was judged by."""
    if lag is None:
        return "Where the log ends is not known."
    return _WORDS[status](commits, lag) if commits else "Nothing is committed here."


def _stopped(commits: Sequence[Commit], lag: int) -> str:
    took = "30 s" if len(commits) == 1 else f"its last {whole(len(commits))} commits took"
    return f"No commit for longer than {took}, and records wait."


def _rewound(commits: Sequence[Commit], lag: int) -> str:
    return f"It committed {whole(commits[-1].offset)} after {whole(max(c.offset for c in commits))}: it reads again."


def _stalled(commits: Sequence[Commit], lag: int) -> str:
    return f"Its last {counted(len(commits), 'commit')} all say {whole(commits[-1].offset)}, and records wait."


def _growing(commits: Sequence[Commit], lag: int) -> str:
    grew = f"{whole(commits[0].lag)} then, {whole(commits[-1].lag)} now"
    return f"Its lag has not fallen in its last {counted(len(commits), 'commit')}: {grew}."


def _fine(commits: Sequence[Commit], lag: int) -> str:
    if lag == 0:
        return "Nothing is left to read."
    if len(commits) == 1:
        return "It has committed once, which says nothing of its direction."
    if any(commit.lag == 0 for commit in commits):
        return f"It had caught up within its last {counted(len(commits), 'commit')}."
    return f"Its lag has fallen at times in its last {counted(len(commits), 'commit')}."


_WORDS: dict[LagStatus, Callable[[Sequence[Commit], int], str]] = {
    OK: _fine,
    STOP: _stopped,
    REWIND: _rewound,
    STALL: _stalled,
    WARN: _growing,
    BETWEEN: lambda commits, lag: "It reads in batches and is between two.",
    UNKNOWN: lambda commits, lag: "",
}


class Slowest(NamedTuple):
    place: Place
    eta_s: float | None
    """None: it does not come closer to the log's end."""


def seconds_to_close(commits: Sequence[Commit], lag: int) -> float | None:
    """Until it has caught up at the speed of its last commits; infinite where its lag does not fall, None where they tell too little."""
    recent = [commit for commit in commits if commits[-1].at_ms - commit.at_ms <= TREND_WINDOW_MS]
    if len(recent) < 2 or recent[-1].at_ms - recent[0].at_ms < LEAST_SPAN_MS:
        return None
    first, last = recent[0], recent[-1]
    fell = first.lag - last.lag
    if fell <= STEADY_SHARE * max(first.lag, last.lag):
        return math.inf
    return lag * (last.at_ms - first.at_ms) / 1000 / fell


def slowest(rows: Iterable[Lag], commits: Mapping[tuple[str, int], Sequence[Commit]]) -> Slowest | None:
    """Of the partitions that are behind, the one that is last to catch up; of several that never do, the one with the most to read."""
    worst: tuple[float, int, Lag] | None = None
    for row in rows:
        if not row.lag or (row.lag_s is not None and row.lag_s < KEEPING_UP_S):
            continue
        needs = seconds_to_close(ring, row.lag) if (ring := commits.get((row.topic, row.partition))) else None
        if needs is not None and (worst is None or (needs, row.lag) > worst[:2]):
            worst = needs, row.lag, row
    if worst is None:
        return None
    needs, _, row = worst
    return Slowest(Place(row.topic, row.partition), None if math.isinf(needs) else needs)
