"""The verdict as text and links."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from django import template

from console.rules.words import THIN

register = template.Library()
WORD = {
    "topics": re.compile(rf"[\d{THIN}]+ partitions?|partitions?|topics"),
    "brokers": re.compile(r"[Bb]rokers? \d+(?:(?:, | and )\d+)*|preferred broker"),
}


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
