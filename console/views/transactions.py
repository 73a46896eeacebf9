"""All transactional ids, and the search for transactions that hang: asked of the brokers as the page is opened."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from django.urls import reverse
from django.utils.http import urlencode

from console.gateway.errors import GatewayError
from console.queries import BadQuery, NotFound
from console.rules.transactions.told import STATES
from console.rules.words import duration
from console.transactions.listing import CHOICES, FALLING, IN_PROGRESS, PAGE_ROWS, Wanted
from console.transactions.listing import transactions as read_transactions
from console.transactions.producers import find_hanging
from console.views.lists import Head, heads_of
from console.views.support import choice, explain, number, page, pages, show

ANY = "any"
SPAN_MOST_S = 10**8
HEADS = (
    Head("transactional_id", "Transactional id", is_number=False),
    Head("state", "State", is_number=False),
    Head("age", "In progress for"),
    Head("producer_id", "Producer id"),
    Head("coordinator", "Coordinator"),
)


@page(query=("q", "state", "producer_id", "longer_s", "sort", "order", "page"))
def transactions(request: Any) -> HttpResponse:
    """Those in progress, unless the address asks for more."""
    wanted = _wanted(request)
    at = number(request, "page", 1, least=1) or 1
    context: dict[str, Any] = {
        "wanted": wanted,
        "chosen": wanted.state or ANY,
        "longer_s": None if wanted.longer_ms is None else wanted.longer_ms // 1000,
        "states": STATES,
        "heads": heads_of(request, HEADS, wanted.column, lambda column: column in FALLING, falling=wanted.falling),
        "filtered": _filtered(wanted),
        "views": _views(request, wanted),
    }
    try:
        found = read_transactions(request.cluster, wanted, page=at)
    except GatewayError as error:
        status, shown = explain(error)
        return show(request, "transactions", {**context, "not_told": shown}, status)
    last = max((found.total + PAGE_ROWS - 1) // PAGE_ROWS, 1)
    context |= {"found": found, "pages": pages(request, found.first // PAGE_ROWS + 1, last, found.total)}
    return show(request, "transactions", context)


def _wanted(request: Any) -> Wanted:
    state = choice(request, "state", (ANY, IN_PROGRESS, *STATES)) or IN_PROGRESS
    sort = choice(request, "sort", CHOICES["sort"])
    longer_s = number(request, "longer_s", most=SPAN_MOST_S)
    return Wanted(
        q=request.GET.get("q", "")[:255],
        state="" if state == ANY else state,
        producer_id=number(request, "producer_id"),
        longer_ms=None if longer_s is None else longer_s * 1000,
        sort=sort,
        order=choice(request, "order", CHOICES["order"]) if sort else "",
    )


def _filtered(wanted: Wanted) -> list[str]:
    """What hides rows, in words; that only those in progress are shown says the switch."""
    said = {
        f"“{wanted.q}” in the id": wanted.q,
        f"state {wanted.state}": wanted.state not in ("", IN_PROGRESS),
        f"producer id {wanted.producer_id}": wanted.producer_id is not None,
        f"longer than {duration((wanted.longer_ms or 0) / 1000, 1)}": wanted.longer_ms is not None,
    }
    return [words for words, is_so in said.items() if is_so]


def _views(request: Any, wanted: Wanted) -> list[dict[str, Any]]:
    def url(state: str) -> str:
        query = {name: value for name, value in request.GET.items() if name not in ("state", "page")}
        return f"{reverse('transactions')}?{urlencode({**query, 'state': state})}"

    return [
        {"label": "In progress", "url": url(IN_PROGRESS), "chosen": wanted.state == IN_PROGRESS, "count": None},
        {"label": "All ids", "url": url(ANY), "chosen": not wanted.state, "count": None},
    ]


@page(query=("topic", "partition", "broker"))
def hanging_transactions(request: Any) -> HttpResponse:
    """Nothing is searched before something is named."""
    topic = request.GET.get("topic", "").strip()[:249]
    partition, broker = number(request, "partition", most=2**31 - 1), number(request, "broker", most=2**31 - 1)
    context: dict[str, Any] = {"topic": topic, "partition": partition, "broker": broker}
    if not topic and partition is None and broker is None:
        return show(request, "hanging_transactions", context)
    try:
        found = find_hanging(request.cluster, topic=topic, partition=partition, broker=broker)
    except (GatewayError, NotFound, BadQuery) as error:
        status, shown = explain(error)
        return show(request, "hanging_transactions", {**context, "form_error": shown}, status)
    return show(request, "hanging_transactions", {**context, "found": found})
