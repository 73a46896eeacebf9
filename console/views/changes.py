"""What changed between two moments: states that were recorded, compared, and the events between them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, NamedTuple

from django.http import HttpResponse

from broker_core.contract.moments import Differences, Kept
from console import queries
from console.clock import now_ms
from console.queries import BadQuery
from console.rules.words import duration
from console.snapshot.moments import GAP_MS, HistoryUnavailable, NotRecorded
from console.views.support import note_query, page, show

SPANS_S = ((600, "10 minutes"), (3_600, "hour"), (21_600, "6 hours"), (86_400, "day"))
FIRST_SPAN_MS = 600_000
EVENTS_SHOWN = 50


class Span(NamedTuple):
    """What is asked for, as the form has it."""

    from_ms: int
    to_ms: int

    @property
    def words(self) -> str:
        return duration((self.to_ms - self.from_ms) / 1000)


@page(query=("from", "to", "last"))
def changes(request: Any) -> HttpResponse:
    """`from` and `to` are times of UTC (`2026-11-23T14:00:00`) or ms since 1970; `last` are the last so many seconds."""
    kept = queries.kept(request.cluster)
    span = _span(request, kept)
    found, error = _differences(request, span) if kept.oldest_ms else (None, kept.error or "Nothing is recorded yet.")
    context = {
        "kept": kept,
        "span": span,
        "found": found,
        "error": error,
        "gaps": [] if found is None else _in_gaps(span, found),
        "events": queries.events_between(request.cluster, span.from_ms, span.to_ms, EVENTS_SHOWN),
        "spans": [(f"?last={seconds}", f"Last {words}") for seconds, words in SPANS_S],
    }
    return show(request, "changes", context)


def _span(request: Any, kept: Kept) -> Span:
    newest_ms = kept.newest_ms or now_ms()
    last = request.GET.get("last", "")
    back_ms = int(last) * 1_000 if last.isascii() and last.isdigit() and len(last) < 8 else FIRST_SPAN_MS
    to_ms = _moment(request, "to", newest_ms)
    from_ms = _moment(request, "from", max(to_ms - back_ms, kept.oldest_ms or 0))
    return Span(from_ms, to_ms)


def _moment(request: Any, name: str, default: int) -> int:
    text = request.GET.get(name, "").strip()
    if text.isascii() and text.isdigit() and len(text) <= 15:
        return int(text)
    try:
        return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000) if text else default
    except (ValueError, OverflowError):
        note_query(request, f"{name}={text[:60]!r} is not a time as 2026-11-23T14:00:00: it was not looked at.")
        return default


def _differences(request: Any, span: Span) -> tuple[Differences | None, str]:
    try:
        return queries.changes(request.cluster, span.from_ms, span.to_ms), ""
    except (BadQuery, HistoryUnavailable, NotRecorded) as error:
        return None, str(error)


def _in_gaps(span: Span, found: Differences) -> list[tuple[int, int]]:
    """(moment asked for, when what is compared was last known) of those in which nothing was recorded."""
    pairs = ((span.from_ms, found.from_ms), (span.to_ms, found.to_ms))
    return [(asked, known) for asked, known in pairs if asked - known > GAP_MS]
