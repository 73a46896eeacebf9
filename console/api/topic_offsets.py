"""Where a topic's logs begin and end, and where in them a moment is."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from ninja import Router

from console import queries
from console.actions.offset_lookup import PartitionOffset, look_up
from console.api.answers import Listed
from console.api.described import answers
from console.api.shapes import Limit, number_cursor
from console.queries import BadQuery

router = Router(tags=["topics"])
NAMES = ("earliest", "latest", "max-timestamp", "earliest-local", "latest-tiered")


@router.get("/clusters/{cluster_id}/topics/{name}/offsets")
@answers(Listed[PartitionOffset])
def offsets(
    request: Any, cluster_id: str, name: str, *, at: str = "latest", limit: Limit = 100, cursor: str | None = None
) -> Listed[PartitionOffset]:
    """By partition, as its leader says now. `at` is earliest, latest, max-timestamp (the record with the highest time), earliest-local,
    latest-tiered, a time as 2026-01-31T09:00:00Z, or milliseconds since 1970: the first record that is not older."""
    after = number_cursor(cursor)
    found, last = look_up(queries.cluster_of(cluster_id), name, _spec(at), 0 if after is None else after + 1, limit)
    return Listed(found, queries.cursor(str(found[-1].partition)) if found and found[-1].partition != last else None)


def _spec(at: str) -> str | int:
    if at in NAMES:
        return at
    if at.isascii() and at.isdigit() and len(at) <= 15:
        return int(at)
    try:
        moment = datetime.fromisoformat(at)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None or moment.year < 1970:
        raise BadQuery("at", f"{at[:40]!r} is no moment: give {', '.join(NAMES)}, milliseconds since 1970, or a time with its zone.")
    return round(moment.timestamp() * 1000)
