"""What the lists of topics and groups share: what their address asks for, the heads that sort them, and what was chosen last."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields
from typing import Any, NamedTuple

from django.http import HttpResponse, HttpResponseRedirect
from django.utils.http import urlencode

from console.actions.choices import choose, chosen
from console.listing import ORDERS, Names, Wanted
from console.rules.states import STATES
from console.snapshot.sorting import Kind, falls
from console.views.support import choice, is_htmx, pages

TEXT_MAX = {"q": 255, "group": 255, "topic": 249}
FIELDS = tuple(field.name for field in fields(Wanted) if field.name != "kind")
LIST_QUERY = (*FIELDS, "page", "clear")
"""What the address of a list may ask for."""


class Head(NamedTuple):
    """A column: the field it is sorted by, its words, and whether it holds numbers."""

    field: str
    words: str
    is_number: bool = True


def wanted_of(request: Any, kind: Kind) -> Wanted:
    """What the address asks for; what is none of the choices is noted on the page and left out."""
    known = Wanted(kind=kind).choices()
    found = {name: choice(request, name, choices) for name, choices in known.items()}
    found |= {name: request.GET.get(name, "")[:most] for name, most in TEXT_MAX.items() if name != kind}
    return Wanted(kind=kind, **found | {"order": found["order"] if found["sort"] else ""})


def elsewhere(request: Any, wanted: Wanted) -> HttpResponse | None:
    """To what was chosen last, where the address asks for nothing; otherwise what it asks for is kept."""
    page = request.resolver_match.url_name
    if "clear" in request.GET:
        choose(request.user, request.cluster, page, "")
        return HttpResponseRedirect(request.path)
    if request.GET or is_htmx(request):
        choose(request.user, request.cluster, page, urlencode(wanted.asked()))
        return None
    query = chosen(request.user, request.cluster, page)
    return HttpResponseRedirect(f"{request.path}?{query}") if query else None


def list_context(request: Any, wanted: Wanted, heads: Sequence[Head], found: Names, stars: set[str]) -> dict[str, Any]:
    """For `parts/list_head.html` and its like."""
    return {
        "wanted": wanted,
        "q": wanted.q,
        "heads": heads_of(request, heads, wanted.column, lambda field: falls(wanted.kind, field), falling=wanted.falling),
        "sorts": heads,
        "filtered": _filtered(wanted),
        "states": [(state, STATES[state].words) for state in wanted.choices()["state"]],
        "pages": pages(request, found.page, found.last, found.total),
        "is_partial": is_htmx(request),
        "favourites": stars,
    }


def sorting_of(request: Any, columns: Iterable[str], usually_falls: Callable[[str], bool]) -> tuple[str, bool]:
    """The column that the address sorts by (empty: none), and whether from the largest down."""
    column = choice(request, "sort", tuple(columns))
    order = choice(request, "order", ORDERS) if column else ""
    return column, order == "desc" if order else usually_falls(column)


def heads_of(
    request: Any, heads: Sequence[Head], column: str, usually_falls: Callable[[str], bool], *, falling: bool
) -> list[dict[str, Any]]:
    """For `parts/list_heads.html`; `column` is the one that the list is sorted by now."""
    return [_head(request, head, not falling if head.field == column else usually_falls(head.field), column, falling) for head in heads]


def _head(request: Any, head: Head, then_falls: bool, column: str, falling: bool) -> dict[str, Any]:
    """A press sorts by the column in its usual order, the next one turns it round."""
    query = request.GET.copy()
    for name in ("page", "clear"):
        query.pop(name, None)
    query["sort"], query["order"] = head.field, "desc" if then_falls else "asc"
    present = ("descending" if falling else "ascending") if head.field == column else ""
    return {"field": head.field, "words": head.words, "is_number": head.is_number, "url": f"?{query.urlencode()}", "sorted": present}


def _filtered(wanted: Wanted) -> list[str]:
    """What hides rows, in words."""
    words = {
        "q": f"“{wanted.q}” in the name",
        "state": f"state {STATES[wanted.state].words}" if wanted.state else "",
        "troubled": "troubled only",
        "internal": "internal only" if wanted.internal == "1" else "without internal",
        "lag": "with lag",
        "group": f"read by {wanted.group}",
        "topic": f"reads {wanted.topic}",
        "stars": "favourites only",
    }
    return [words[name] for name in wanted.filters()]
