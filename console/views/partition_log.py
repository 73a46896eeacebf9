"""How a partition's log lies on a broker's disk, and the way of a lookup through it, asked of the broker."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse

from console import queries
from console.gateway.errors import GatewayError
from console.log_looks import look_at, why_not
from console.queries import NotFound
from console.rules.log_words import answer, checkpoints, file_name, steps
from console.rules.records.query import WrongQuery, milliseconds
from console.snapshot.read import Snapshot
from console.views.support import explain, number, page, show

OFFSET_MAX = 10**15


@page(query=("broker", "offset", "at", "before"))
def partition_log(request: Any, name: str, partition: int) -> HttpResponse:
    snapshot = Snapshot(request.cluster.snapshot_id)
    row = queries.partition_or_fail(snapshot, name, partition)
    broker, offset = number(request, "broker", most=2**31 - 1), number(request, "offset", most=OFFSET_MAX)
    text = request.GET.get("at", "")[:40]
    context = {
        "name": name,
        "row": row,
        "broker": broker,
        "offset": offset,
        "at": text,
        "not_available": why_not(request.cluster, snapshot),
    }
    if context["not_available"]:
        return show(request, "partition_log", context)
    try:
        at_ms = milliseconds("at", text) if text and offset is None else None
        look = look_at(
            request.cluster, name, partition, broker=broker, offset=offset, at_ms=at_ms, before=number(request, "before", most=OFFSET_MAX)
        )
    except WrongQuery as error:
        return show(request, "partition_log", {**context, "form_error": {"title": "This is no time", "detail": str(error)}}, 400)
    except (GatewayError, NotFound) as error:
        status, shown = explain(error)
        return show(request, "partition_log", {**context, "form_error": shown}, status)
    way = {"answer": answer(look, look.trace), "steps": steps(look.trace)} if look.trace else None
    rows = [(file_name(segment.base_offset), segment) for segment in look.segments]
    told = {"look": look, "way": way, "segments": rows, "checkpoints": checkpoints(look), "older": _older(request, look.older)}
    return show(request, "partition_log", {**context, **told})


def _older(request: Any, before: int | None) -> str | None:
    if before is None:
        return None
    query = request.GET.copy()
    query["before"] = str(before)
    return f"?{query.urlencode()}#h-segments"
