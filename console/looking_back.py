"""Addresses of the past: a page as it was at a moment stands after `/at/<ms since 1970>`, with the same name and query.

A middleware takes the prefix off and makes it part of Django's script prefix, so that all addresses that are made for the page stay at
that moment. Pages that have no past, and changes, are not found there: the first lead to their present, the second are refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.urls import get_script_prefix, set_script_prefix

ADDRESS = re.compile(r"/at/(?P<at>\d{1,15})(?P<rest>/.*)?", re.DOTALL)
PAGES = frozenset(
    {
        "overview",
        "heat_map",
        "topology",
        "find",
        "brokers",
        "broker",
        "controller",
        "topics",
        "topics_lately",
        "topic",
        "partition",
        "groups",
        "group",
        "over_time",
        "lag",
        "events",
    }
)
"""Those that show nothing but what is recorded."""


def at_moment(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """The middleware; it stands behind the one that takes off the cluster's prefix."""

    def middleware(request: HttpRequest) -> HttpResponse:
        found = ADDRESS.fullmatch(request.path_info)
        if found is None:
            return get_response(request)
        before = get_script_prefix()
        request.moment_ms, request.present = int(found["at"]), before.rstrip("/")  # type: ignore[attr-defined]
        request.path_info = found["rest"] or "/"
        set_script_prefix(f"{before}at/{found['at']}/")
        try:
            return get_response(request)
        finally:
            set_script_prefix(before)

    return middleware


def moment_of(request: HttpRequest) -> int | None:
    """The moment that the address names, ms since 1970; None on a page of the present."""
    return getattr(request, "moment_ms", None)


def present_of(request: HttpRequest) -> str:
    """What stands before the addresses of the present."""
    return str(getattr(request, "present", get_script_prefix().rstrip("/")))


def address_at(request: HttpRequest, at_ms: int | None) -> str:
    """This page at a moment, or (None) now; with its query."""
    query = request.META.get("QUERY_STRING", "")
    at = "" if at_ms is None else f"/at/{at_ms}"
    return f"{present_of(request)}{at}{request.path_info}{'?' + query if query else ''}"
