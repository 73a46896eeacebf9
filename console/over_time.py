"""Figures over time as a page shows them: a chart of each, what it shows in words, and some of it as a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from broker_core.contract.moments import Track
from console.rules.words import duration, size, whole
from console.templatetags.times import clock

ROWS_MOST = 24
"""Of the table: every so many-th sample."""


class Measure(NamedTuple):
    """`unit` is the axis's, `say` writes one value."""

    title: str
    unit: str
    say: Callable[[float], str]


def _rate(value: float) -> str:
    return f"{whole(value) if value >= 10 else f'{value:.1f}'}/s"


MEASURES = {
    "group": {
        "lag": Measure("Lag in records", "records", lambda value: f"{whole(value)} records"),
        "lag_s": Measure("Lag in time", "s", duration),
    },
    "topic": {
        "messages_per_s": Measure("Records arriving", "/s", _rate),
        "size_bytes": Measure("On disk, one copy", "B", size),
        "lag": Measure("Lag of its groups", "records", lambda value: f"{whole(value)} records"),
    },
    "broker": {
        "bytes_in_per_s": Measure("Written to it", "B/s", lambda value: f"{size(value)}/s"),
        "bytes_out_per_s": Measure("Read from it", "B/s", lambda value: f"{size(value)}/s"),
        "messages_in_per_s": Measure("Records arriving", "/s", _rate),
        "idle_percent": Measure("Idle", "%", lambda value: f"{value:.0f} %"),
    },
}


class Chart(NamedTuple):
    """`series` is what the browser draws: times and values."""

    field: str
    title: str
    unit: str
    sentence: str
    series: dict[str, Any]


class OverTime(NamedTuple):
    charts: list[Chart]
    heads: list[str]
    rows: list[tuple[int, list[str]]]
    """A time, ms since 1970, and what each figure was then."""


def several(kind: str, field: str, names: Sequence[str], tracks: Sequence[Track]) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    """One figure of several of a kind: a series of each by its name, as the browser draws them, and each in words."""
    series = {name: {"t": list(track.at_ms), field: track.figures.get(field, ())} for name, track in zip(names, tracks, strict=False)}
    return series, [(name, sentence(kind, field, track)) for name, track in zip(names, tracks, strict=False)]


def over_time(kind: str, track: Track) -> OverTime:
    measures = MEASURES[kind]
    known = {field: list(track.figures.get(field) or (None,) * len(track.at_ms)) for field in measures}
    charts = [
        Chart(field, one.title, one.unit, sentence(kind, field, track), _series(one, track, known[field]))
        for field, one in measures.items()
    ]
    samples = [at for at in range(len(track.at_ms)) if any(known[field][at] is not None for field in measures)]
    shown = samples[:: -(-len(samples) // ROWS_MOST)] if samples else []
    rows = [(track.at_ms[at], [_said(one, known[field][at]) for field, one in measures.items()]) for at in reversed(shown)]
    return OverTime(charts, [one.title for one in measures.values()], rows)


def _series(measure: Measure, track: Track, values: list[float | None]) -> dict[str, Any]:
    return {"t": list(track.at_ms), measure.title: values}


def _said(measure: Measure, value: float | None) -> str:
    return "unknown" if value is None else measure.say(value)


def sentence(kind: str, field: str, track: Track) -> str:
    """The last value of a figure, its highest and its lowest, each with its time."""
    measure = MEASURES[kind][field]
    found = [(value, at_ms) for value, at_ms in zip(track.figures.get(field, ()), track.at_ms, strict=False) if value is not None]
    if not found:
        return "Nothing is known of this time."
    last, last_ms = found[-1]
    (high, high_ms), (low, low_ms) = max(found), min(found)
    at = f"{measure.say(last)} at {clock(last_ms)}"
    if len(found) == 1:
        return f"{at}, the only sample."
    if high == low:
        return f"{at}, as all the time."
    return f"{at}; highest {measure.say(high)} at {clock(high_ms)}, lowest {measure.say(low)} at {clock(low_ms)}."
