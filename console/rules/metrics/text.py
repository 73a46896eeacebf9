"""Figures as Prometheus reads them (text format 0.0.4). Pure.

https://prometheus.io/docs/instrumenting/exposition_formats/
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable

from console.rules.metrics.defined import METRICS

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
BOUNDS_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
"""Upper bounds of the buckets of every histogram; a last one has none."""


class Histogram:
    """Counts of durations by upper bound, and their sum."""

    def __init__(self, counts: Iterable[int] = (0,) * (len(BOUNDS_S) + 1), total_s: float = 0.0) -> None:
        self.counts, self.total_s = list(counts), total_s

    def observe(self, seconds: float) -> None:
        self.counts[bucket_of(seconds)] += 1
        self.total_s += seconds


def bucket_of(seconds: float) -> int:
    """The place in `counts`."""
    return bisect_left(BOUNDS_S, seconds)


class Page:
    """What is known of the figures of `METRICS`; what is not is left out, never written as zero."""

    def __init__(self) -> None:
        self._rows: dict[str, list[str]] = {}

    def add(self, name: str, value: float | None, *labels: object) -> None:
        """`labels` in the order in which they are defined."""
        if value is not None:
            self._of(name).append(f"{name}{_braced(_pairs(name, labels))} {value}\n")

    def add_histogram(self, name: str, histogram: Histogram, *labels: object) -> None:
        pairs, rows, seen = _pairs(name, labels), self._of(name), 0
        for bound, count in zip((*BOUNDS_S, "+Inf"), histogram.counts, strict=True):
            seen += count
            bounded = [*pairs, f'le="{bound}"']
            rows.append(f"{name}_bucket{_braced(bounded)} {seen}\n")
        rows += [f"{name}_sum{_braced(pairs)} {histogram.total_s:.6f}\n", f"{name}_count{_braced(pairs)} {seen}\n"]

    def _of(self, name: str) -> list[str]:
        return self._rows.setdefault(name, [])

    def text(self) -> str:
        """In the order in which they are defined, all rows of one name together, as the format wants it."""
        told = ((metric, self._rows[metric.name]) for metric in METRICS.values() if metric.name in self._rows)
        return "".join(f"# HELP {m.name} {m.text}\n# TYPE {m.name} {m.kind}\n" + "".join(rows) for m, rows in told)


def _pairs(name: str, labels: tuple[object, ...]) -> list[str]:
    return [f'{label}="{_escaped(str(value))}"' for label, value in zip(METRICS[name].labels, labels, strict=True)]


def _braced(pairs: list[str]) -> str:
    return "{" + ",".join(pairs) + "}" if pairs else ""


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
