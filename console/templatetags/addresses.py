"""Addresses of pages within the cluster at hand."""

from __future__ import annotations

from typing import Any

from django import template
from django.urls import get_script_prefix

from broker_core.contract.sentences import KeptEvent
from console import queries
from console.looking_back import present_of
from console.rules.event_places import place_of

register = template.Library()


@register.filter
def within(href: str) -> str:
    """What a sentence names (`/topics/orders`), as the page at hand has to link it."""
    return get_script_prefix().rstrip("/") + href


@register.simple_tag(takes_context=True)
def then_url(context: Any, event: KeptEvent) -> str:
    """The page that an event is about as it was then; empty where nothing is kept of that moment."""
    request, cluster = context.get("request"), context.get("cluster")
    if request is None or cluster is None:
        return ""
    if not hasattr(request, "kept_past"):
        request.kept_past = queries.kept(cluster)
    oldest, newest = request.kept_past.oldest_ms, request.kept_past.newest_ms
    is_kept = oldest is not None and newest is not None and oldest <= event.at_ms <= newest
    return f"{present_of(request)}/at/{event.at_ms}{place_of(event)}" if is_kept else ""
