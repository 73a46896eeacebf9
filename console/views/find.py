"""Finding a thing by a part of its name: what the command palette asks, and a page without it."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse

from console import queries
from console.finding import CHARS_MAX, known_pages
from console.finding import find as offers
from console.roles import actor_of
from console.snapshot.read import SnapshotUnavailable
from console.views.support import page, show


@page(query=("q",))
def find(request: Any) -> HttpResponse:
    """Without an answer from Redis what needs none is still offered, and the page says what is missing."""
    text, actor = request.GET.get("q", "")[:CHARS_MAX], actor_of(request)
    clusters = queries.clusters_or_none()
    try:
        found, missing = offers(request.cluster, actor, clusters, text), ""
    except SnapshotUnavailable as error:
        found, missing = known_pages(request.cluster, actor, clusters, text), f"Topics, groups and brokers cannot be looked for: {error}"
    return show(request, "find", {"offers": found, "missing": missing, "text": text})
