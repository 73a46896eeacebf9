"""Figures of a group, a topic or a broker over the kept time: a part of their pages, and a page of its own."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from django.urls import reverse
from msgspec import structs

from broker_core.contract.moments import FIGURES, Track
from console import queries
from console.over_time import over_time as shown_over_time
from console.queries import NotFound
from console.rules.words import duration
from console.snapshot.moments import HistoryUnavailable, NotRecorded
from console.views.support import number, page, show

RANGES = ((15, "15 min"), (60, "1 h"), (360, "6 h"), (1440, "24 h"))
FIRST, YOUNG = 60, 15
"""Minutes that are shown at first; the second where nothing is kept of before."""


@page(query=("kind", "name", "minutes"))
def over_time(request: Any) -> HttpResponse:
    """It ends at the moment that the page shows."""
    kind, name = request.GET.get("kind", ""), request.GET.get("name", "")
    if kind not in FIGURES or not name or len(name) > queries.NAME_MAX:
        raise NotFound("Figures over time are kept of a group, a topic or a broker: name one.")
    minutes = number(request, "minutes", None, least=1, most=RANGES[-1][0])
    context: dict[str, Any] = {"kind": kind, "name": name, "minutes": minutes or FIRST, "ranges": RANGES, "back": _back(kind, name)}
    try:
        track = queries.track(request.cluster, kind, name, minutes=minutes or FIRST)
    except (HistoryUnavailable, NotRecorded) as error:
        return show(request, "over_time", {**context, "why_not": str(error)})
    track, context["minutes"] = fitted(track, minutes)
    return show(
        request, "over_time", {**context, "track": track, "shown": shown_over_time(kind, track), "every": duration(track.every_ms / 1000)}
    )


def fitted(track: Track, minutes: int | None) -> tuple[Track, int]:
    """The time that is shown, and its minutes: less where none were asked for and nothing is kept of before."""
    since = track.to_ms - YOUNG * 60_000
    if minutes is None and track.at_ms and track.at_ms[0] > since:
        return structs.replace(track, from_ms=since), YOUNG
    return track, minutes or FIRST


def _back(kind: str, name: str) -> str:
    if kind == "broker":
        return reverse("broker", args=[int(name)]) if name.isascii() and name.isdigit() else reverse("brokers")
    return reverse(kind, args=[name])
