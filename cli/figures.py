"""Figures as tables show them: with their units, and a dash where they are not known."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Any

from console.rules import words

DASH = "–"


def number(value: float | None) -> str:
    return DASH if value is None else words.whole(value)


def size(value: float | None) -> str:
    return DASH if value is None else words.size(value)


def rate(value: float | None, unit: str = "") -> str:
    if value is None:
        return DASH
    return f"{words.size(value) if unit == 'B' else words.whole(value) if value >= 10 or value == 0 else f'{value:.1f}'}/s"


def seconds(value: float | None) -> str:
    return DASH if value is None else words.duration(value)


def text(value: Any) -> str:
    return DASH if value is None or value == "" else str(value)


def ids(values: Any) -> str:
    return ",".join(map(str, values)) or DASH


def moment(value: str | int | None) -> str:
    """ISO 8601 or ms since 1970, as UTC."""
    if value is None:
        return DASH
    found = datetime.fromtimestamp(value / 1000, UTC) if isinstance(value, int) else datetime.fromisoformat(value).astimezone(UTC)
    return f"{found:%Y-%m-%d %H:%M:%S}"


def now() -> float:
    return time.time()
