"""What is set for a topic or a broker as the live state has it, and with it the history: bounded, and without secrets. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from console.rules.settings.model import without_secrets
from console.rules.settings.units import in_words

KEPT_MOST = 60
VALUE_CHARS_MOST = 500
THROTTLED = tuple(f"{side}.replication.throttled.{what}" for side in ("leader", "follower") for what in ("replicas", "rate"))
"""Set and taken away by a reassignment, which tells of itself."""


def kept(settings: Mapping[str, str] | None) -> dict[str, str] | None:
    """By name; None where they are not known."""
    if settings is None:
        return None
    shown = without_secrets(dict(sorted(settings.items())[:KEPT_MOST]))
    return {name: _cut(value or "") for name, value in shown.items()}


def _cut(value: str) -> str:
    return value if len(value) <= VALUE_CHARS_MOST else f"{value[:VALUE_CHARS_MOST]}…"


def changed(old: Mapping[str, str] | None, new: Mapping[str, str] | None) -> list[str]:
    """Names of what differs; nothing where one side is not known."""
    if old is None or new is None:
        return []
    return [name for name in sorted({*old, *new}) if old.get(name) != new.get(name) and name not in THROTTLED]


def sentences(old: Mapping[str, str] | None, new: Mapping[str, str] | None) -> Iterator[str]:
    """`retention.ms was 604 800 000 ms = 7 d and is 3 600 000 ms = 1 h`."""
    for name in changed(old, new):
        was, now = ((side or {}).get(name) for side in (old, new))
        before = "was not set" if was is None else f"was {_said(name, was)}"
        after = "is not set any more" if now is None else f"is {_said(name, now)}"
        yield f"{name} {before} and {after}"


def _said(name: str, value: str) -> str:
    return in_words(name, "long", value) or "empty"
