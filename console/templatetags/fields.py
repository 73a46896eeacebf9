"""What a refused form shows: what was typed, and at the field what is wrong with it. A form is named, as a page may have several."""

from __future__ import annotations

from typing import Any

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

register = template.Library()
NOTHING = mark_safe("")


def _error(context: Any, form: str) -> dict[str, str]:
    found = context.get("form_error") or {}
    return found if found.get("form", "") == form else {}


@register.simple_tag(takes_context=True)
def typed(context: Any, form: str, field: str, otherwise: Any = "") -> Any:
    """What was typed into a field of the form that was refused; else `otherwise`."""
    values = context.get("typed") or {}
    return values.get(field, otherwise) if values.get("") == form else otherwise


@register.simple_tag(takes_context=True)
def wrong(context: Any, form: str, field: str) -> SafeString:
    """Attributes of an input that was refused."""
    found = _error(context, form)
    if not found or found["field"].split(".")[0] != field:
        return NOTHING
    return format_html(' aria-invalid="true" aria-describedby="wrong-{}-{}"', form, field)


@register.simple_tag(takes_context=True)
def invalid(context: Any, form: str, field: str) -> SafeString:
    """The attribute of an input that was refused, where what describes it is named already."""
    found = _error(context, form)
    return mark_safe(' aria-invalid="true"') if found and found["field"] == field else NOTHING


@register.simple_tag(takes_context=True)
def error_of(context: Any, form: str, field: str) -> SafeString:
    """The line under it."""
    found = _error(context, form)
    if not found or found["field"].split(".")[0] != field:
        return NOTHING
    return format_html('<p class="wrong" id="wrong-{}-{}">{}</p>', form, field, found["detail"])


@register.simple_tag(takes_context=True)
def opened(context: Any, form: str) -> SafeString:
    """Attributes of a dialog whose form was refused: it is open."""
    return mark_safe(" open data-again") if _error(context, form) else NOTHING
