"""How pages write values: the same rules as `static/js/format.js`. Unknown is a dash, never 0."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence, Sized
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from django import template
from django.utils.safestring import SafeString, mark_safe

from console.snapshot.keys import SAFE

register = template.Library()
DASH = "–"
THIN = "\u2009"

STATES = {
    "safe": ("ok", "safe"),
    "under_replicated": ("warn", "under-replicated"),
    "under_min_isr": ("bad", "under min ISR"),
    "offline": ("bad", "offline"),
    "deleting": ("notice", "being deleted"),
    "online": ("ok", "online"),
    "running": ("ok", "running"),
    "starting": ("notice", "starting"),
    "paused": ("paused", "paused"),
    "stopped": ("off", "stopped"),
    "Stable": ("ok", "Stable"),
    "Empty": ("off", "Empty"),
    "PreparingRebalance": ("notice", "PreparingRebalance"),
    "CompletingRebalance": ("notice", "CompletingRebalance"),
    "Dead": ("bad", "Dead"),
    "caught_up": ("ok", "caught up"),
    "catching_up": ("notice", "catching up"),
    "steady": ("notice", "steady"),
    "falling_behind": ("warn", "falling behind"),
    "stalled": ("bad", "stalled"),
    "waiting": ("off", "waiting"),
    "moving": ("notice", "moving"),
    "done": ("ok", "done"),
    "queued": ("off", "queued"),
    "cancelling": ("notice", "cancelling"),
    "succeeded": ("ok", "succeeded"),
    "failed": ("bad", "failed"),
    "cancelled": ("off", "cancelled"),
    "ok": ("ok", "ok"),
    "notice": ("notice", "notice"),
    "warn": ("warn", "warning"),
    "bad": ("bad", "bad"),
    "stall": ("bad", "stalled"),
    "stop": ("bad", "stopped"),
    "rewind": ("warn", "rewound"),
    "unknown": ("off", "unknown"),
}
NO_MARKUP = {ord(letter): f"\\u{ord(letter):04x}" for letter in "<>&"}
WORD = {
    "topics": re.compile(r"\d+ partitions?|partitions?|topics"),
    "brokers": re.compile(r"[Bb]rokers? \d+(?:(?:, | and )\d+)*|preferred broker"),
}
SIGNS = {"ok": "●", "notice": "◆", "warn": "▲", "bad": "■"}


@register.filter
def whole(value: Any) -> str:
    """`18204331` as `18 204 331` with thin spaces."""
    number = _number(value)
    if number is None:
        return DASH
    sign = "−" if number < 0 else ""
    return sign + f"{abs(round(number)):,}".replace(",", THIN)


@register.filter
def size(value: Any) -> str:
    """Bytes in the largest fitting binary unit."""
    number = _number(value)
    if number is None:
        return DASH
    units = ["B", "KiB", "MiB", "GiB", "TiB"]
    step = 0
    while number >= 1024 and step < len(units) - 1:
        number, step = number / 1024, step + 1
    digits = 0 if number >= 100 or step == 0 else 1 if number >= 10 else 2
    return f"{number:.{digits}f}{THIN}{units[step]}"


@register.filter
def byte_rate(value: Any) -> str:
    return DASH if _number(value) is None else size(value) + "/s"


@register.filter
def rate(value: Any) -> str:
    number = _number(value)
    if number is None:
        return DASH
    return (whole(number) if number >= 100 else f"{number:.{0 if number >= 10 else 1}f}") + "/s"


@register.filter
def duration(value: Any) -> str:
    """Milliseconds as a length of time in its own unit."""
    number = _number(value)
    if number is None:
        return DASH
    seconds = number / 1000
    for limit, divisor, unit in ((120, 1, "s"), (7200, 60, "min"), (172800, 3600, "h"), (float("inf"), 86400, "days")):
        if seconds < limit:
            return f"{seconds:.1f}{THIN}s" if seconds < 10 else f"{round(seconds / divisor)}{THIN}{unit}"
    return DASH


@register.filter
def seconds(value: Any) -> str:
    number = _number(value)
    return DASH if number is None else duration(number * 1000)


@register.filter
def millis(value: Any) -> str:
    number = _number(value)
    return DASH if number is None else f"{number:.{1 if number < 10 else 0}f}{THIN}ms"


@register.filter
def percent(value: Any) -> str:
    """A signed fraction as percent: 0.33 as `+33 %`."""
    number = _number(value)
    if number is None:
        return DASH
    sign = "+" if number > 0 else "−" if number < 0 else ""
    return f"{sign}{abs(round(number * 100))}{THIN}%"


@register.filter
def listed(value: Any) -> str:
    """Ids or names with commas; `none` for an empty list, a dash for an unknown one."""
    if value is None:
        return DASH
    return ", ".join(str(item) for item in value) or "none"


@register.filter
def counted(value: Any) -> str:
    return whole(len(value)) if isinstance(value, Sized) else DASH


@register.filter
def shown(value: Any) -> str:
    return DASH if value is None or value == "" else str(value)


@register.filter
def clock(value: Any) -> str:
    """Milliseconds since the epoch as UTC time of day."""
    moment = _moment(value)
    return moment.strftime("%H:%M:%S") if moment else DASH


@register.filter
def moment(value: Any) -> str:
    """Milliseconds since the epoch, or a datetime, as UTC date and time."""
    found = _moment(value)
    return found.strftime("%Y-%m-%d %H:%M:%S") if found else DASH


@register.filter
def iso(value: Any) -> str:
    found = _moment(value)
    return found.isoformat() if found else ""


@register.filter
def level(value: Any) -> str:
    """The level of a state's word: ok, notice, warn, bad, paused, off."""
    return STATES.get(str(value), ("off", ""))[0]


@register.filter
def words(value: Any) -> str:
    """How a state is called on the page."""
    return STATES.get(str(value), ("off", shown(value)))[1]


@register.filter
def as_json(value: Any) -> SafeString:
    """JSON for the inside of a `<script type="application/json">`: no markup in a value can end it."""
    return mark_safe(json.dumps(value).translate(NO_MARKUP))


@register.filter
def as_text(value: Any) -> str:
    """JSON for people to read; escaped by the template like any text."""
    return json.dumps(value, indent=2, ensure_ascii=False, default=str)


@register.filter
def words_of(value: Any) -> str:
    """`preferred_leader_election` as `preferred leader election`."""
    return str(value).replace("_", " ")


@register.filter
def sign(value: Any) -> str:
    """The shape that goes with a level."""
    return SIGNS.get(str(value), "○")


@register.filter
def pieces(verdict: Mapping[str, Any]) -> list[dict[str, str | None]]:
    """A verdict as `{text, url}` pieces: of each part only the word that names its thing is a link."""
    said: list[dict[str, str | None]] = []
    for part in verdict["parts"]:
        text, url = part["text"], part.get("url")
        first, last = _word(text, part.get("about") or "") if url else (0, 0)
        said += [{"text": text[:first], "url": None}, {"text": text[first:last], "url": url}, {"text": text[last:] + " ", "url": None}]
    return [piece for piece in said if piece["text"]] or [{"text": verdict["text"], "url": None}]


def _word(text: str, about: str) -> tuple[int, int]:
    """Where the word that names `about` (`topic/orders`, `brokers`) stands in the text; all of it where there is none."""
    kind, _, name = about.partition("/")
    found = re.search(re.escape(name) + r"(?:-\d+)?", text) if name else WORD[kind].search(text) if kind in WORD else None
    return found.span() if found else (0, len(text))


@register.filter
def of_topic(configs: Sequence[Mapping[str, Any]], own: bool) -> list[Mapping[str, Any]]:
    """The settings that the topic itself has, or (`own` false) those it takes from its broker or Kafka's defaults."""
    return [config for config in configs if (config["source"] == "topic") == own]


@register.filter
def any_chosen(settings: Sequence[Mapping[str, Any]]) -> bool:
    return any(setting["chosen"] for setting in settings)


@register.filter
def by_request(brokers: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Request rates turned round: a row a kind of request with a cell a broker, the busiest first; `busy` from one each second on."""
    names = {name for broker in brokers for name in broker["requests"] or {}}
    rows = []
    for name in names:
        cells = [{"broker_id": b["broker_id"], "request": (b["requests"] or {}).get(name)} for b in brokers]
        per_s = sum((cell["request"] or {}).get("per_s") or 0 for cell in cells)
        rows.append({"name": name, "cells": cells, "per_s": per_s, "busy": per_s >= 1})
    return sorted(rows, key=lambda row: (-row["per_s"], row["name"]))


@register.filter
def as_key(name: Any) -> str:
    """A group's id as the keys of the live feed have it."""
    return quote(str(name), safe=SAFE)


@register.filter
def api_words(name: str) -> str:
    return "State feed (this console)" if name.startswith("Vendor") else name


@register.filter
def pace(job: Mapping[str, Any]) -> dict[str, float | None]:
    """`{per_s, left_s}` of a running job, from what is done since its start; nothing of jobs that count in a few steps."""
    began, progress = _moment(job["started_at"]), job["progress"]
    if job["state"] != "running" or began is None or progress["unit"] == "partitions" or not progress["done"]:
        return {"per_s": None, "left_s": None}
    per_s = progress["done"] / max((datetime.now(UTC) - began).total_seconds(), 0.001)
    return {"per_s": per_s, "left_s": max(progress["total"] - progress["done"], 0) / per_s}


def _number(value: Any) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _moment(value: Any) -> datetime | None:
    if isinstance(value, datetime):
        return value.astimezone(UTC)
    if isinstance(value, str):
        try:
            return datetime.fromisoformat(value).astimezone(UTC)
        except ValueError:
            return None
    number = _number(value)
    try:
        return None if number is None else datetime.fromtimestamp(number / 1000, UTC)
    except (OverflowError, OSError, ValueError):
        return None
