"""Which folders of a day hold its samples. Pure but for listing a folder.

    samples/day=2026-11-25/batch=17       what batch 17 of the query had of that day; a batch that is done again replaces it
                          /upto=16        batches 0 to 16 of that day in one, each sample once; makes those older than itself void

A batch counts once it is in the checkpoint's `commits`; what a killed driver left of the next one does not. A folder that is being
written ends with `.part` until it is whole, and never counts.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

BATCH, UPTO, DAY = "batch=", "upto=", "day="


@dataclass(frozen=True)
class Day:
    """The parts of one day that count: at most one `upto`, and the batches after it."""

    day: date
    upto: int | None
    batches: tuple[int, ...]

    @property
    def names(self) -> tuple[str, ...]:
        whole = () if self.upto is None else (f"{UPTO}{self.upto}",)
        return whole + tuple(f"{BATCH}{number}" for number in self.batches)


def counted(day: date, names: Iterable[str], committed: int) -> Day:
    """What counts of the folders found in a day, after batch `committed` was the last one committed."""
    found = list(names)
    upto = max((n for n in _numbers(found, UPTO) if n <= committed), default=None)
    after = -1 if upto is None else upto
    return Day(day, upto, tuple(sorted(n for n in _numbers(found, BATCH) if after < n <= committed)))


def void(names: Iterable[str], kept: Day) -> list[str]:
    """What a day's folder holds that is in its `upto` by now, or was never finished."""
    upto = -1 if kept.upto is None else kept.upto
    old = [n for n in names if n.endswith(".part")]
    old += [f"{BATCH}{n}" for n in _numbers(names, BATCH) if n <= upto]
    return old + [f"{UPTO}{n}" for n in _numbers(names, UPTO) if n < upto]


def days(samples: Path, committed: int) -> list[Day]:
    """All days that hold something, oldest first; a folder whose name is no day is passed over."""
    found = []
    for folder in sorted(samples.glob(f"{DAY}*")):
        try:
            day = date.fromisoformat(folder.name.removeprefix(DAY))
        except ValueError:
            continue
        held = counted(day, [part.name for part in folder.iterdir() if part.is_dir()], committed)
        if held.names:
            found.append(held)
    return found


def folders(samples: Path, found: Iterable[Day]) -> list[str]:
    return [str(samples / f"{DAY}{held.day.isoformat()}" / name) for held in found for name in held.names]


def too_old(day: date, today: date, keep_days: int) -> bool:
    return day < today - timedelta(days=keep_days)


def last_committed(checkpoint: Path) -> int:
    """The last batch that the query has committed; -1 before the first."""
    return max((int(path.name) for path in (checkpoint / "commits").glob("*") if path.name.isdigit()), default=-1)


def _numbers(names: Iterable[str], prefix: str) -> list[int]:
    rest = (name.removeprefix(prefix) for name in names if name.startswith(prefix))
    return [int(number) for number in rest if number.isascii() and number.isdigit()]
