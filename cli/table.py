"""Tables for a terminal: columns as wide as they need be, the widest texts cut where the terminal ends; a pipe gets all."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

LEAST = 12
"""No column is cut below so many letters."""


class Column(NamedTuple):
    """`value` of a row is shown as text; figures stand on the right."""

    title: str
    value: Callable[[Any], str]
    right: bool = False


def terminal_columns() -> int | None:
    """None where nobody looks."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def table(columns: Sequence[Column], rows: Sequence[Any], width: int | None = None) -> str:
    """Lines of text, the titles first; `width` letters are the most of a line."""
    cells = [[column.title for column in columns], *([plain(column.value(row)) for column in columns] for row in rows)]
    widths = [max(len(row[n]) for row in cells) for n in range(len(columns))]
    if width is not None:
        widths = fitted(widths, width, [column.right for column in columns])
    return "\n".join(_line(row, widths, columns) for row in cells)


def fitted(widths: Sequence[int], width: int, fixed: Sequence[bool]) -> list[int]:
    """The widest column that is not fixed gives first; columns stand two letters apart."""
    found = list(widths)
    while sum(found) + 2 * (len(found) - 1) > width:
        wide = max((n for n in range(len(found)) if not fixed[n]), key=lambda n: found[n], default=None)
        if wide is None or found[wide] <= LEAST:
            break
        found[wide] -= 1
    return found


def _line(row: Sequence[str], widths: Sequence[int], columns: Sequence[Column]) -> str:
    cells = (_cut(cell, width) for cell, width in zip(row, widths, strict=True))
    padded = (cell.rjust(width) if column.right else cell.ljust(width) for cell, width, column in zip(cells, widths, columns, strict=True))
    return "  ".join(padded).rstrip()


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


def plain(text: str) -> str:
    """On one line, and nothing that a terminal would obey: anybody may name a group."""
    return "".join(letter if letter.isprintable() or letter == "\u202f" else repr(letter)[1:-1] for letter in text)
