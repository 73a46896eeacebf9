"""The ratios that were recorded last, and what fell beneath them: `python -m tests.bench --record` writes them, every run compares.

Only ratios are judged: they are of one run on one machine. What of a part got dearer beside them (processor time, stages of requests) says
where to look.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import median

import msgspec
from msgspec import Struct

from tests.bench.figures import Figure

FILE = Path(__file__).parent / "recorded.json"
COSTS = ("µs/record", "µs/request")
RATIO = "ratio"


class Kept(Struct, frozen=True):
    unit: str
    values: list[float]


class Recorded(Struct):
    """Figures by part and name; `commit` and `at` say of what and when, part by part."""

    parts: dict[str, dict[str, Kept]]
    commit: dict[str, str]
    at: dict[str, str]


def load(path: Path = FILE) -> Recorded:
    try:
        return msgspec.json.decode(path.read_bytes(), type=Recorded)
    except FileNotFoundError:
        return Recorded({}, {}, {})


def record(known: Recorded, part: str, figures: Iterable[Figure], commit: str, at: str, path: Path = FILE) -> None:
    """Other parts stay as they were recorded."""
    known.parts[part] = {f.name: Kept(f.unit, [float(v) for v in f.values]) for f in figures if f.unit in (RATIO, *COSTS)}
    known.commit[part], known.at[part] = commit, at
    path.write_bytes(msgspec.json.format(msgspec.json.encode(known), indent=1) + b"\n")


def falls(known: Recorded, part: str, figures: Sequence[Figure]) -> list[str]:
    """A sentence for each ratio all of whose values are worse than all that were recorded, with what got dearer, the dearest first."""
    before = known.parts.get(part, {})
    fallen = [figure for figure in figures if figure.unit == RATIO and (kept := before.get(figure.name)) and _worse(figure, kept)]
    if not fallen:
        return []
    grown = sorted(_grown(before, figures), reverse=True)
    why = ", ".join(f"{name} +{growth:.0%}" for growth, name in grown) or "nothing that is measured beside it got dearer"
    since = f"since {known.commit[part]} of {known.at[part]}"
    return [f"FELL {since}: {f.name} {median(before[f.name].values):.3g} → {median(f.values):.3g}; {why}" for f in fallen]


def _worse(figure: Figure, kept: Kept) -> bool:
    """`at_most` marks a ratio of which less is better."""
    if figure.at_most is not None:
        return min(figure.values) > max(kept.values)
    return max(figure.values) < min(kept.values)


def _grown(before: dict[str, Kept], figures: Iterable[Figure]) -> Iterable[tuple[float, str]]:
    """Costs that are beyond all that were recorded, by how much."""
    for figure in figures:
        kept = before.get(figure.name)
        if kept is not None and figure.unit in COSTS and kept.values and min(figure.values) > max(kept.values):
            yield median(figure.values) / median(kept.values) - 1, figure.name
