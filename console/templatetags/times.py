"""How pages write moments: UTC, from milliseconds since the epoch, a datetime, or its ISO text."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from django import template
from django.urls import get_script_prefix

from console.rules.words import duration
from console.templatetags.figures import DASH, number_of

register = template.Library()


@register.filter
def clock(value: Any) -> str:
    """The time of day; with the date in front on any day but today."""
    found = moment_of(value)
    if found is None:
        return DASH
    return found.strftime("%H:%M:%S" if found.date() == datetime.now(UTC).date() else "%d %b %H:%M")


@register.filter
def moment(value: Any) -> str:
    """Date and time."""
    found = moment_of(value)
    return found.strftime("%Y-%m-%d %H:%M:%S") if found else DASH


@register.filter
def ago(value: Any) -> str:
    """How long ago: `3 h ago`."""
    found = moment_of(value)
    return f"{duration(max((datetime.now(UTC) - found).total_seconds(), 0), 1)} ago" if found else DASH


@register.filter
def iso(value: Any) -> str:
    found = moment_of(value)
    return found.isoformat() if found else ""


@register.filter
def input_time(value: Any) -> str:
    """As a field of the kind `datetime-local` has it; UTC."""
    found = moment_of(value)
    return found.strftime("%Y-%m-%dT%H:%M:%S") if found else ""


@register.filter
def page_at(value: Any) -> str:
    """The overview as it was then."""
    return f"{get_script_prefix()}at/{int(number_of(value) or 0)}/"


def moment_of(value: Any) -> datetime | None:
    if isinstance(value, datetime):
        return value.astimezone(UTC)
    if isinstance(value, str):
        try:
            return datetime.fromisoformat(value).astimezone(UTC)
        except ValueError:
            return None
    number = number_of(value)
    try:
        return None if number is None else datetime.fromtimestamp(number / 1000, UTC)
    except (OverflowError, OSError, ValueError):
        return None
