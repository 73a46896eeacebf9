"""A rule tried on the last week, as far as the analyses have it: in windows of ten minutes, whatever the history keeps."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from console.analyses import lag_series, throughput_series
from console.models import Cluster
from console.rules.alerts.figures import Condition, Value
from console.rules.alerts.replay import Firing, replay
from console.rules.words import counted, duration

WEEK = timedelta(days=7)
WINDOW_MS = 600_000
TARGETS_MOST = 12
FIRINGS_SHOWN = 20
LAG, PRODUCED = "group_lag", "produce_bytes_per_s"
BY = {LAG: "the largest lag of each ten minutes", PRODUCED: "the mean of each ten minutes"}


class OnTarget(NamedTuple):
    target: str
    sentence: str
    firings: tuple[Firing, ...]


class Week(NamedTuple):
    sentence: str
    tried: list[OnTarget]


def on_the_week(cluster: Cluster, condition: Condition, now_ms: int) -> Week | None:
    """None of a figure that the analyses do not have; those targets that would have fired, the one that would most often first."""
    if condition.figure not in BY:
        return None
    since = datetime.fromtimestamp(now_ms / 1000, UTC) - WEEK
    found = _lags(cluster, since) if condition.figure == LAG else _produced(cluster, since)
    if not found:
        return Week("The analyses have no window of the last 7 days: whether it would have fired then is not known.", [])
    tried = [_tried(condition, target, windows) for target, windows in found.items()]
    fired = sorted((one for one in tried if one.firings), key=lambda one: -len(one.firings))
    times = sum(len(one.firings) for one in fired)
    span_s = len({at for windows in found.values() for at, _ in windows}) * WINDOW_MS / 1000
    words = f"it would have fired {counted(times, 'time')}" if times else "it would not have fired"
    left = f" The {TARGETS_MOST} where it would most often are listed." if len(fired) > TARGETS_MOST else ""
    return Week(
        f"In the last 7 days, of which {duration(span_s)} were analysed, {words}, by {BY[condition.figure]}; without its “unless”.{left}",
        fired[:TARGETS_MOST],
    )


def _tried(condition: Condition, target: str, windows: Sequence[tuple[int, Value]]) -> OnTarget:
    """A window is known at its end."""
    ends, values = [at + WINDOW_MS for at, _ in windows], [value for _, value in windows]
    firings = replay(condition, ends, values, WINDOW_MS).firings
    return OnTarget(target, counted(len(firings), "time"), firings[-FIRINGS_SHOWN:])


def _lags(cluster: Cluster, since: datetime) -> dict[str, list[tuple[int, Value]]]:
    return {group: list(zip(line["t"], line["lag"], strict=True)) for group, line in lag_series(cluster, since).items()}


def _produced(cluster: Cluster, since: datetime) -> dict[str, list[tuple[int, Value]]]:
    """Over all topics; of a window in which one of them is not known it is not known."""
    sums: dict[int, Value] = {}
    for line in throughput_series(cluster, since).values():
        for at, value in zip(line["t"], line["bytes_per_s"], strict=True):
            before = sums.get(at, 0.0)
            sums[at] = None if value is None or before is None else before + value
    return {"": sorted(sums.items())} if sums else {}
