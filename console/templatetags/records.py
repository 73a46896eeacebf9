"""How pages show keys and values: whatever they hold is text, and what would not be seen or would deceive is named."""

from __future__ import annotations

import unicodedata
from typing import Any

from django import template

from console.templatetags.figures import DASH
from console.templatetags.times import moment_of

register = template.Library()
LINE_CHARS = 240


@register.filter
def visible(text: str) -> str:
    """Control and formatting characters as signs; new lines and tabs stay."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(map(_sign, text))


def _sign(character: str) -> str:
    if character in "\n\t" or unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp"):
        return character
    code = ord(character)
    return chr(0x2400 + code) if code < 0x20 else "␡" if code == 0x7F else f"⟨U+{code:04X}⟩"


@register.filter
def line(text: str) -> str:
    """The beginning in one line."""
    shown = " ".join(text[: LINE_CHARS * 4].split())
    return visible(shown if len(shown) <= LINE_CHARS else shown[: LINE_CHARS - 1] + "…")


@register.filter
def chosen(value: Any, wanted: Any) -> str:
    """`selected` for the option that was chosen."""
    return " selected" if str(value) == str(wanted) else ""


@register.filter
def moment_ms(value: Any) -> str:
    """Date and time to the millisecond, as records have it."""
    found = moment_of(value)
    return found.isoformat(sep=" ", timespec="milliseconds").removesuffix("+00:00") if found else DASH
