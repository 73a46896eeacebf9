"""Brokers, topics and groups in one picture, with what joins them."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse

from console.context import live_needs
from console.queries import BadQuery
from console.snapshot.read import Snapshot
from console.topology.chosen import focus_of
from console.topology.chosen import topology as chosen
from console.topology.picture import picture
from console.topology.table import table
from console.views.support import note_query, page, show

TEXT_MAX = 249


@page(query=("focus", "q"))
def topology(request: Any) -> HttpResponse:
    """`focus` is one thing, as in `topic:orders`: only what it touches is shown. `q` is a part of the topics' names."""
    text = request.GET.get("q", "")[:TEXT_MAX]
    try:
        focus = focus_of(request.GET.get("focus", ""))
    except BadQuery as error:
        note_query(request, str(error))
        focus = None
    found = chosen(Snapshot(request.cluster.snapshot_id), focus, text)
    live_needs(request)
    context = {"found": found, "focus": focus, "q": text, "picture": picture(found), "rows": table(found)}
    return show(request, "topology", context)
