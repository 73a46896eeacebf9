"""A file of all that a search finds: asked for, watched and fetched."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from django.urls import reverse

from console import queries
from console.actions.records import export_file, export_records, search_or_fail
from console.errors import Invalid
from console.queries import NotFound
from console.roles import VIEWER, actor_of
from console.rules.records.progress import GOES_ON, OVER, Search, level, next_cursor, sentence, state_words
from console.rules.records.query import NAMES, Query, WrongQuery, read_query
from console.searches import files, store
from console.snapshot.read import Snapshot
from console.views.support import done, page, show

KINDS = {"ndjson": "NDJSON, a record a line", "csv": "CSV, for spreadsheets"}


@page("GET", "HEAD", "POST", role=VIEWER, doing="export records", query=(*NAMES, "search"))
def topic_records_export(request: Any, name: str) -> HttpResponse:
    """The address has the search whose findings are wanted, or (`search`) an export that was begun."""
    topic = queries.topic_or_fail(Snapshot(request.cluster.pk), name)
    context = {"topic": topic, "name": name, "kinds": KINDS, "records_max": files.RECORDS_MAX, "bytes_max": files.BYTES_MAX}
    if request.method == "POST":
        kind = request.POST.get("as", "")
        begun = export_records(actor_of(request), request.cluster, name, _query(request.POST.dict()), kind)
        return done(request, f"{reverse('topic_records_export', args=[name])}?search={begun.id}", "The export has begun.")
    if request.GET.get("search") and not set(request.GET) - {"search"}:
        search = search_or_fail(actor_of(request), request.cluster, request.GET["search"], name)
        if not search.export:
            raise NotFound("There is no such export: it is kept for a day.")
        return show(request, "topic_records_export", context | _state(search))
    query = _query(request.GET.dict())
    return show(request, "topic_records_export", {**context, "query": query, "asked": query.address()})


def _query(given: dict[str, str]) -> Query:
    try:
        return read_query(given)
    except WrongQuery as error:
        raise Invalid(error.field, str(error)) from error


def _state(search: Search) -> dict[str, Any]:
    progress, own = store.progress(search.id), reverse("topic_records_export", args=[search.topic])
    cursor = next_cursor(search.query, progress)
    return {
        "search": search,
        "query": search.query,
        "progress": progress,
        "state": {
            "words": state_words(progress.state),
            "level": level(progress.state),
            "sentence": sentence(search.query, progress),
        },
        "is_over": progress.state in OVER,
        "goes_on": progress.state in GOES_ON,
        "own": f"{own}?search={search.id}",
        "rest": _encoded(search.query, cursor) if cursor else "",
        "file": f"{reverse('topic_records_export_file', args=[search.topic])}?search={search.id}",
    }


def _encoded(query: Query, cursor: str) -> dict[str, str]:
    return {name: value for name, value in query.address().items() if name != "count"} | {"at": cursor}


@page(query=("search",))
def topic_records_export_file(request: Any, name: str) -> HttpResponse:
    """The file, as far as it is written."""
    search = search_or_fail(actor_of(request), request.cluster, request.GET.get("search", ""), name)
    answer: Any = files.attachment(*export_file(search), files.MEDIA[search.export], f"records.{search.export}")
    return answer  # type: ignore[no-any-return]
