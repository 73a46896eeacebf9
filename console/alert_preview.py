"""A rule tried on what the history has kept, before it is made: how often it would have fired, when, and drawn."""

from __future__ import annotations

from typing import NamedTuple

from broker_core.contract.moments import Track
from console.alert_week import Week, on_the_week
from console.errors import Invalid
from console.models import Cluster
from console.queries import TRACK_MOST, tracks
from console.rules.alerts.figures import FIGURES, RECORDED, Condition, Value
from console.rules.alerts.replay import Firing, replay
from console.rules.words import counted, duration
from console.snapshot.moments import HistoryUnavailable, NotRecorded
from console.snapshot.read import Snapshot

MINUTES = 1440
TARGETS_MOST = 12
FIRINGS_SHOWN = 20
WIDTH, HEIGHT = 600, 48


class Tried(NamedTuple):
    """`line` is the figure as paths of an SVG, `bars` are x and width of what would have fired, `edge` is the height of the threshold."""

    target: str
    sentence: str
    firings: tuple[Firing, ...]
    line: str
    bars: list[tuple[float, float]]
    edge: float


class Preview(NamedTuple):
    """`week` is None of a figure that the analyses do not have."""

    sentence: str
    tried: list[Tried]
    week: Week | None = None


def preview(cluster: Cluster, condition: Condition, now_ms: int) -> Preview:
    """On the last day by the history, and on the last week by the analyses; `Invalid` where neither has the figure."""
    week = on_the_week(cluster, condition, now_ms)
    if condition.figure not in RECORDED:
        words = f"The history does not keep this figure ({FIGURES[condition.figure].text})"
        if week is None:
            raise Invalid("figure", f"{words}: the rule cannot be tried on the past.")
        return Preview(f"{words}: only the analyses have it.", [], week)
    try:
        return _on_the_day(cluster, condition)._replace(week=week)
    except (HistoryUnavailable, NotRecorded) as error:
        return Preview(str(error), [], week)


def _on_the_day(cluster: Cluster, condition: Condition) -> Preview:
    figure = FIGURES[condition.figure]
    snapshot = Snapshot(cluster.pk)
    if figure.scope == "broker":
        names = [str(broker.broker_id) for broker in snapshot.brokers()]
    else:
        names = snapshot.groups_behind(TARGETS_MOST + 1)
    found = tracks(cluster, figure.scope, names[:TARGETS_MOST], minutes=MINUTES, most=TRACK_MOST)
    tried = [_tried(condition, name, track) for name, track in zip(names, found, strict=False)]
    if not any(one.line for one in tried):
        return Preview("Nothing of this figure is kept of the last day: whether it would have fired is not known.", [])
    times = sum(len(one.firings) for one in tried)
    left = f" Only {TARGETS_MOST} were tried." if len(names) > TARGETS_MOST else ""
    apart = max(track.every_ms for track in found) / 1000
    words = f"It would have fired {counted(times, 'time')}" if times else "It would not have fired"
    return Preview(
        f"{words} in the last day, as far as that is kept, by samples {duration(apart)} apart; without its “unless”.{left}", tried
    )


def _tried(condition: Condition, name: str, track: Track) -> Tried:
    values = track.figures.get(RECORDED[condition.figure]) or (None,) * len(track.at_ms)
    step_ms = max(track.every_ms, -(-(track.to_ms - track.from_ms) // TRACK_MOST))
    found = replay(condition, track.at_ms, values, step_ms)
    top = max([value for value in values if value is not None] + [condition.threshold, 1e-9]) * 1.1
    span_ms = max(track.to_ms - track.from_ms, 1)

    def x(at_ms: int) -> float:
        return round((at_ms - track.from_ms) / span_ms * WIDTH, 1)

    bars = [(x(one.from_ms), round(max(x(one.to_ms or track.to_ms) - x(one.from_ms), 1), 1)) for one in found.firings]
    lacking = found.samples - found.known
    unknown = f"; of {lacking} of {found.samples} samples it is not known" if lacking else ""
    said = f"{counted(len(found.firings), 'time')}{unknown}" if found.known else "nothing is known of it"
    line = _line([(x(at_ms), value) for at_ms, value in zip(track.at_ms, values, strict=True)], top)
    return Tried(name, said, found.firings[-FIRINGS_SHOWN:], line, bars, _y(condition.threshold, top))


def _y(value: float, top: float) -> float:
    return round(HEIGHT * (1 - value / top), 1)


def _line(points: list[tuple[float, Value]], top: float) -> str:
    """What is not known is a hole in it."""
    path, pen = [], "M"
    for at, value in points:
        if value is None:
            pen = "M"
            continue
        path.append(f"{pen}{at} {_y(value, top)}")
        pen = "L"
    return " ".join(path)
