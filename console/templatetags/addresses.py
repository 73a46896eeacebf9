"""Addresses of pages within the cluster at hand."""

from __future__ import annotations

from django import template
from django.urls import get_script_prefix

register = template.Library()


@register.filter
def within(href: str) -> str:
    """What a sentence names (`/topics/orders`), as the page at hand has to link it."""
    return get_script_prefix().rstrip("/") + href
