"""What a part of the bench found, and how it is printed."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True, slots=True)
class Figure:
    """Measurements of one quantity. `at_least` / `at_most` is the target for the median, or for `every` value where a broker
    that misses it is one too many; `note` is printed below the row."""

    name: str
    unit: str
    values: Sequence[float]
    at_least: float | None = None
    at_most: float | None = None
    every: bool = False
    note: str = ""

    @property
    def verdict(self) -> str:
        if self.at_least is None and self.at_most is None:
            return ""
        least, most = (min(self.values), max(self.values)) if self.every else (median(self.values),) * 2
        held = (self.at_least is None or least >= self.at_least) and (self.at_most is None or most <= self.at_most)
        return "pass" if held else "MISS"

    @property
    def target(self) -> str:
        parts = [f"≥ {_number(self.at_least)}"] if self.at_least is not None else []
        parts += [f"≤ {_number(self.at_most)}"] if self.at_most is not None else []
        return " ".join(parts)


_ROW = "{:<52} {:>9} {:>9} {:>9} {:>9}  {:>8}  {}"


def print_table(title: str, figures: Sequence[Figure]) -> None:
    print(f"\n{title} (load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores)")
    print(_ROW.format("", "unit", "min", "median", "max", "target", ""))
    for figure in figures:
        numbers = map(_number, (min(figure.values), median(figure.values), max(figure.values)))
        print(_ROW.format(figure.name, figure.unit, *numbers, figure.target, figure.verdict))
        if figure.note:
            print(f"    {figure.note}")


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
