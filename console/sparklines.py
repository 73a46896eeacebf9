"""Small pictures of a figure over time, for rows of a list: lines without an axis, and the same in words."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import NamedTuple

from broker_core.contract.moments import Track
from console.over_time import sentence

WIDTH, HEIGHT = 52, 16
MARGIN = 1.5
"""Above and below, for the line's own width."""


class Sparkline(NamedTuple):
    """`lines` has the points of each stretch without a gap, as SVG writes them; one sample by itself is a short line."""

    name: str
    lines: list[str]
    words: str


def sparkline(name: str, kind: str, field: str, track: Track) -> Sparkline:
    """From nothing at the bottom to the highest value at the top; the time that was asked for takes the whole width."""
    values = track.figures.get(field, ())
    high = max((value for value in values if value is not None), default=0) or 1
    span = max(track.to_ms - track.from_ms, 1)
    lines = [_points(stretch, track.from_ms, span, high) for stretch in _stretches(track.at_ms, values)]
    return Sparkline(name, lines, sentence(kind, field, track))


def _stretches(times: tuple[int, ...], values: tuple[float | None, ...]) -> Iterator[list[tuple[int, float]]]:
    for is_known, some in groupby(zip(times, values, strict=True), key=lambda sample: sample[1] is not None):
        if is_known:
            yield [(at_ms, value) for at_ms, value in some if value is not None]


def _points(samples: list[tuple[int, float]], from_ms: int, span: int, high: float) -> str:
    places = [
        (round(WIDTH * (at_ms - from_ms) / span, 1), round(HEIGHT - MARGIN - (HEIGHT - 2 * MARGIN) * value / high, 1))
        for at_ms, value in samples
    ]
    if len(places) == 1:
        places.append((places[0][0] + 1, places[0][1]))
    return " ".join(f"{x:g},{y:g}" for x, y in places)
