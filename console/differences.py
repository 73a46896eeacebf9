"""What a change changed, as lines for people: `retention.ms: 5 → 10`. Pure; from the JSON that an audit row keeps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from console.rules.words import counted

LINES_LIMIT = 20
TEXT_CHARS_LIMIT = 200
NONE = "–"
INHERITED = "inherited"
"""Beside the settings that were in force before: those that had no value of their own, for whoever puts them back."""


class Line(NamedTuple):
    """`before` and `after` are texts; None where the row does not have that side at all."""

    label: str
    before: str | None
    after: str | None


def differences(before: Any, after: Any) -> tuple[list[Line], int]:
    """The lines that differ, in the order they were asked for, at most `LINES_LIMIT`; and how many more there are."""
    old, new = dict(_flat(before)), dict(_flat(after))
    old = {label: value for label, value in old.items() if label != INHERITED}
    lines = [
        Line(label, _text(old[label]) if label in old else None, _text(new[label]) if label in new else None)
        for label in [*new, *(label for label in old if label not in new)]
        if label not in old or label not in new or old[label] != new[label]
    ]
    return lines[:LINES_LIMIT], max(len(lines) - LINES_LIMIT, 0)


def _flat(value: Any, label: str = "") -> Iterator[tuple[str, Any]]:
    """Leaves by name; a partition's row is named by its partition, settings by their own name alone."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _flat(inner, name if label in ("", "configs") else f"{label}.{name}")
    elif isinstance(value, list) and value and all(isinstance(row, dict) and "topic" in row for row in value):
        for row in value:
            rest = {name: inner for name, inner in row.items() if name not in ("topic", "partition")}
            place = f"{row['topic']}-{row['partition']}" if "partition" in row else row["topic"]
            yield place, next(iter(rest.values())) if len(rest) == 1 else rest
    elif value is not None or label:
        yield label or "value", value


def _text(value: Any) -> str:
    if value is None or value == "":
        return NONE
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return _short(", ".join(map(str, value)) or "none", f" ({counted(len(value), 'entry', 'entries')})")
    return _short(str(value), "")


def _short(text: str, more: str) -> str:
    return text if len(text) <= TEXT_CHARS_LIMIT else f"{text[:TEXT_CHARS_LIMIT]}…{more}"
