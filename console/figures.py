"""The analytics page's plots as plotly figures: traces, gaps, hover texts, axes. Colours are the page's (`static/js/charts.js`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

GAP_WINDOWS = 3
"""Windows further apart than so many are not joined by a line."""
MARGIN_MS = 60_000
"""Shown before the first point, where there is nothing as old as what was asked for."""

Series = Mapping[str, Mapping[str, Sequence[Any]]]


def figure(series: Series, field: str, unit: str, since: datetime, until: datetime, *, window_ms: int = 60_000) -> dict[str, Any]:
    """`{"data", "layout"}` of a line for each name in `series` (`{name: {"t": [ms], field: [number or None]}}`)."""
    from plotly import graph_objects as go

    first = min((row["t"][0] for row in series.values() if row["t"]), default=0)
    begin = max(since, datetime.fromtimestamp((first - MARGIN_MS) / 1000, UTC))
    lines = [_line(go, name, with_gaps(row["t"], row[field], GAP_WINDOWS * window_ms), unit) for name, row in sorted(series.items())]
    made = go.Figure(
        lines,
        go.Layout(
            template="none",
            hovermode="x unified",
            xaxis={"type": "date", "range": [begin.isoformat(timespec="seconds"), until.isoformat(timespec="seconds")]},
            yaxis={"rangemode": "tozero", "title": {"text": unit}},
        ),
    )
    found = made.to_plotly_json()
    found["layout"].pop("template")
    return {"data": found["data"], "layout": found["layout"]}


def _line(go: Any, name: str, points: Sequence[tuple[int, Any]], unit: str) -> Any:
    return go.Scatter(
        name=name,
        mode="lines" if len(points) > 2 else "markers",
        x=[datetime.fromtimestamp(at_ms / 1000, UTC).isoformat(timespec="milliseconds") for at_ms, _ in points],
        y=[value for _, value in points],
        connectgaps=False,
        hovertemplate=f"%{{y:.3s}} {unit}",
    )


def with_gaps(times: Sequence[int], values: Sequence[Any], gap_ms: int) -> list[tuple[int, Any]]:
    """Points (ms, value) with an empty one inside of each gap, so that no line is drawn over what is not known."""
    points: list[tuple[int, Any]] = []
    for at_ms, value in zip(times, values, strict=True):
        if points and at_ms - points[-1][0] > gap_ms:
            points.append((points[-1][0] + 1, None))
        points.append((at_ms, value))
    return points
