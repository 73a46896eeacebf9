"""Medians, spreads and percentiles, of the few or the many values that a row found. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import median

from msgspec import Struct


class Spread(Struct, frozen=True):
    """The median of some samples, between their least and their greatest."""

    middle: float
    least: float
    most: float
    count: int


def spread(values: Sequence[float]) -> Spread | None:
    """None of nothing."""
    return Spread(median(values), min(values), max(values), len(values)) if values else None


def percentile(ordered: Sequence[float], share: float) -> float:
    """The least value that at least `share` (0 to 1) of them do not exceed; `ordered` is sorted and not empty."""
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def paired_ratios(ours: Mapping[int, float], theirs: Mapping[int, float]) -> list[float]:
    """Ours by theirs, for each round that has both: what slowed the machine down for a while slowed both down."""
    return [ours[number] / theirs[number] for number in sorted(ours.keys() & theirs.keys()) if theirs[number]]
