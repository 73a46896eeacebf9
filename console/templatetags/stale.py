"""What a part of a page hangs on, written where the page's script looks for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

register = template.Library()


@register.simple_tag
def stale_on(value: Any, fields: str, *key: Any) -> SafeString:
    """Has the part fetched anew once one of the fields (`a,b.c`) of the live value with this key is another than in `value`, which is what
    the part was made from: the first live value may already be another."""
    was = ",".join(_text(_read(value, name)) for name in fields.split(","))
    return format_html('data-stale-key="{}" data-stale-on="{}" data-stale-was="{}"', "/".join(map(str, key)), fields, was)


def _read(value: Any, path: str) -> Any:
    for name in path.split("."):
        value = len(value) if name == "length" and value is not None else getattr(value, name, None)
    return value


def _text(value: Any) -> str:
    """As the script joins what it reads: nothing for null, a list's members with commas between them."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ",".join(map(_text, value))
    return str(value)
