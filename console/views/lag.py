"""The groups that lag the most, over the kept time: a part of the overview, and a page of its own."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse

from console import queries
from console.over_time import MEASURES, several
from console.snapshot.moments import HistoryUnavailable, NotRecorded
from console.snapshot.read import Snapshot
from console.views.over_time import FIRST, RANGES, fitted
from console.views.support import number, page, show

GROUPS_MAX = 5
"""In one picture: more lines are not told apart."""


@page(query=("minutes",))
def lag(request: Any) -> HttpResponse:
    """Those that lag at the moment that the page shows; it ends there."""
    minutes = number(request, "minutes", None, least=1, most=RANGES[-1][0])
    names = [group.group for group in queries.groups_behind(Snapshot(request.cluster.snapshot_id))[:GROUPS_MAX]]
    context: dict[str, Any] = {"minutes": minutes or FIRST, "ranges": RANGES, "names": names, "unit": MEASURES["group"]["lag"].unit}
    try:
        tracks = queries.tracks(request.cluster, "group", names, minutes=minutes or FIRST)
    except (HistoryUnavailable, NotRecorded) as error:
        return show(request, "lag", {**context, "why_not": str(error)})
    shown = [fitted(track, minutes) for track in tracks]
    if shown:
        context |= {"track": shown[0][0], "minutes": shown[0][1]}
    series, sentences = several("group", "lag", names, [track for track, _ in shown])
    return show(request, "lag", {**context, "series": series, "sentences": sentences})
