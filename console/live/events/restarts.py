"""Tells as events what `highwater up` noted: processes that ended by themselves and were started again.

The notes are a file that outlives `live`, and the events' table says how far they have been told, so none is told twice or
forgotten while `live` was away.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence

from channels.db import database_sync_to_async
from django.db import DatabaseError
from msgspec import convert

from console.gateway.local import ProcessEvent
from console.live.events.happened import Happened
from console.models import Event

log = logging.getLogger(__name__)
LOOK_S = 1.0
KINDS = ("process_ended", "process_restarted", "process_not_restarted")
Read = Callable[[int], Sequence[ProcessEvent]]


async def run_endings(cluster_id: str, read: Read, tell: Callable[[list[Happened]], None]) -> None:
    """`read` gives the notes after a time in milliseconds; runs until cancelled."""
    until_ms: int | None = None
    while True:
        try:
            if until_ms is None:
                until_ms = await database_sync_to_async(told_until)(cluster_id)
            found = await asyncio.to_thread(read, until_ms)
        except (DatabaseError, OSError) as error:
            log.warning("what ended by itself is not known: %s", error)
            found = []
        if found:
            tell([ending_event(ending) for ending in found])
            until_ms = found[-1].at_ms
        await asyncio.sleep(LOOK_S)


def ending_event(ending: ProcessEvent) -> Happened:
    return convert(ending, Happened, from_attributes=True)


def told_until(cluster_id: str) -> int:
    """The time of the last note that was told. Where the table holds none but is full, the notes of before its first row have
    been told and trimmed away with others."""
    rows = Event.objects.filter(cluster=cluster_id)
    last = rows.filter(kind__in=KINDS).order_by("-at_ms").values_list("at_ms", flat=True).first()
    if last is None and Event.objects.count() >= Event.KEEP:
        last = rows.order_by("id").values_list("at_ms", flat=True).first()
    return last or 0
