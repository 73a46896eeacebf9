"""A topic's records: asked for by the address, read by another process, shown as they are found."""

from __future__ import annotations

from typing import Any, Literal

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse

from console import queries
from console.actions.masking import rules_for
from console.actions.one_record import one_record, raw_part
from console.actions.records import await_progress, go_on, search_or_fail, search_records
from console.queries import NotFound
from console.roles import VIEWER, actor_of
from console.rules.records.decoding import CHOICES
from console.rules.records.progress import GOES_ON, Found, Search, in_order, level, next_cursor, sentence, state_words
from console.rules.records.query import COUNT_MAX, NAMES, Query, WrongQuery, read_query
from console.searches import files, store
from console.searches.export import as_csv, ndjson
from console.snapshot.read import Snapshot
from console.views.support import done, number, page, show

SHOWN = 50
FIRST_WAIT_S = 0.6
STARTS = {
    "newest": "Newest first",
    "oldest": "From the beginning",
    "offset": "From an offset",
    "time": "From a time",
    "live": "Live, as they come",
}
WHERES = {"any": "key or value", "key": "key", "value": "value"}
ORDERS = {"found": "as found", "time": "by time, newest first", "offset": "by partition and offset"}
ISOLATIONS = {"uncommitted": "all records", "committed": "committed only"}
DOWNLOADS = {"ndjson": ("application/x-ndjson", ndjson), "csv": ("text/csv; charset=utf-8", as_csv)}


@page(query=(*NAMES, "search", "page"))
def topic_records(request: Any, name: str) -> HttpResponse:
    """Opening the address asks for the search in it, once: the page then puts the search's number into the address, which shows the same
    results to whoever opens it, for an hour."""
    topic = queries.topic_or_fail(Snapshot(request.cluster.pk), name)
    form = {"topic": topic, "name": name, "starts": STARTS, "wheres": WHERES, "orders": ORDERS, "formats": CHOICES, "count_max": COUNT_MAX}
    form["isolations"] = ISOLATIONS
    try:
        query = read_query(request.GET.dict())
    except WrongQuery as error:
        shown = {"title": "This cannot be searched for", "detail": str(error), "field": error.field, "form": "search"}
        return show(request, "topic_records", {**form, "query": Query(), "typed": request.GET.dict(), "form_error": shown}, 400)
    search = _present(request, name, query) or search_records(actor_of(request), request.cluster, name, query)
    await_progress(search, FIRST_WAIT_S, lambda progress: progress.found >= min(SHOWN, query.count))
    return show(request, "topic_records", {**form, "query": query, **_found(request, search)})


def _present(request: Any, name: str, query: Query) -> Search | None:
    """The search that the address names, if it is this one, and hides what is hidden from who asks."""
    search = store.find(request.GET.get("search", "")[:40]) if request.GET.get("search") else None
    asked = (request.cluster.pk, name, query, rules_for(actor_of(request), request.cluster, name))
    is_same = search is not None and (search.cluster, search.topic, search.query, search.rules) == asked
    return search if is_same else None


def _found(request: Any, search: Search) -> dict[str, Any]:
    """A page of the results, and how far the search is."""
    progress, query = store.progress(search.id), search.query
    kept = min(progress.found, COUNT_MAX)
    last = max((kept + SHOWN - 1) // SHOWN, 1)
    shown = min(number(request, "page", 1, least=1) or 1, last)
    address = {**query.address(), "search": search.id}
    cursor = next_cursor(query, progress)
    return {
        "search": search,
        "rows": _rows(search, kept, (shown - 1) * SHOWN),
        "progress": progress,
        "state": {"words": state_words(progress.state), "level": level(progress.state), "sentence": sentence(query, progress)},
        "is_over": progress.state not in ("queued", "running"),
        "goes_on": progress.state in GOES_ON,
        "address": _url("topic_records", search, address),
        "again": _url("topic_records", search, query.address()),
        "poll": _url("topic_records_found", search, {"search": search.id, "page": str(shown)}),
        "more": _url("topic_records", search, {**query.address(), "at": cursor}) if cursor else None,
        "export": None if query.start == "live" else _url("topic_records_export", search, query.address()),
        "downloads": {kind: _url("topic_records_download", search, {"search": search.id, "as": kind}) for kind in DOWNLOADS},
        "pages": {
            "page": shown,
            "last": last,
            "total": kept,
            "prev_url": _url("topic_records", search, {**address, "page": str(shown - 1)}) if shown > 1 else None,
            "next_url": _url("topic_records", search, {**address, "page": str(shown + 1)}) if shown < last else None,
        },
        "record_query": _encoded({name: value for name, value in query.address().items() if name in ("key", "value")}),
    }


def _rows(search: Search, kept: int, first: int) -> list[Found]:
    """Of a live search the newest come first."""
    if search.query.start == "live":
        return store.found(search, 0, COUNT_MAX)[::-1][first : first + SHOWN]
    if search.query.order == "found":
        return store.found(search, first, SHOWN)
    return in_order(store.found(search, 0, kept), search.query.order)[first : first + SHOWN]


def _encoded(query: dict[str, str]) -> str:
    from django.http import QueryDict

    made = QueryDict(mutable=True)
    made.update(query)
    return f"?{made.urlencode()}" if query else ""


def _url(view: str, search: Search, query: dict[str, str]) -> str:
    return reverse(view, args=[search.topic]) + _encoded(query)


@page(query=("search", "page"))
def topic_records_found(request: Any, name: str) -> HttpResponse:
    """The results alone, for a page that waits for more."""
    search = search_or_fail(actor_of(request), request.cluster, request.GET.get("search", ""), name)
    return render(request, "parts/records_found.html", {"name": name, "query": search.query, **_found(request, search)})


def _shown_at(request: Any, search: Search) -> str:
    if search.export:
        return _url("topic_records_export", search, {"search": search.id})
    return str(_found(request, search)["address"])


@page("POST", role=VIEWER, doing="stop a search")
def topic_records_stop(request: Any, name: str) -> HttpResponse:
    search = search_or_fail(actor_of(request), request.cluster, request.POST.get("search", ""), name)
    store.stop(search.id, f"{actor_of(request).name} stopped it.")
    await_progress(search, FIRST_WAIT_S)
    return done(request, _shown_at(request, search), "The search is stopped; it can go on where it is.")


@page("POST", role=VIEWER, doing="go on with a search")
def topic_records_go_on(request: Any, name: str) -> HttpResponse:
    search = search_or_fail(actor_of(request), request.cluster, request.POST.get("search", ""), name)
    go_on(search)
    return done(request, _shown_at(request, search), "The search goes on where it was.")


@page(query=("search", "as"))
def topic_records_download(request: Any, name: str) -> HttpResponse:
    """All that was found, as far as it is kept."""
    search = search_or_fail(actor_of(request), request.cluster, request.GET.get("search", ""), name)
    kind = request.GET.get("as", "ndjson")
    if kind not in DOWNLOADS:
        raise NotFound(f"Found records can be had as {' or '.join(DOWNLOADS)}.")
    media, write = DOWNLOADS[kind]
    found = in_order(store.found(search, 0, COUNT_MAX), search.query.order)
    headers = {"Content-Disposition": f'attachment; filename="records.{kind}"'}
    return HttpResponse("".join(write(found)), content_type=media, headers=headers)


@page(query=("key", "value"))
def topic_record(request: Any, name: str, partition: int, offset: int) -> HttpResponse:
    """One record with all its parts."""
    topic = queries.topic_or_fail(Snapshot(request.cluster.pk), name)
    search, found = one_record(actor_of(request), request.cluster, name, partition, offset, **request.GET.dict())
    context = {"topic": topic, "name": name, "record": found, "formats": CHOICES, "query": search.query}
    context |= {"back": reverse("topic_records", args=[name]), "written": _written(search, found)}
    return show(request, "topic_record", context)


def _written(search: Search, found: Found) -> dict[str, str]:
    """Where key and value can be had as they were written."""
    place = [search.topic, found.partition, found.offset]
    parts = {"key": found.key, "value": found.value}
    open_to = {name for name, part in parts.items() if part and not part.masked and not (search.rules and part.schema)}
    return {name: reverse(f"topic_record_{name}", args=place) for name in open_to}


@page()
def topic_record_part(request: Any, name: str, partition: int, offset: int, part: Literal["key", "value"]) -> HttpResponse:
    """Its bytes, as a file."""
    answer: Any = files.attachment(*raw_part(actor_of(request), request.cluster, name, (partition, offset), part), once=True)
    return answer  # type: ignore[no-any-return]
