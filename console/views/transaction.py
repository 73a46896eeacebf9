"""One transactional id: its transaction, where it holds readers back, and taking the id from its producer."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from django.urls import reverse

from console.actions.transactions import plan_termination, terminate_transaction
from console.roles import ADMIN, actor_of
from console.transactions.one import PLACES_SHOWN
from console.transactions.one import transaction as read_transaction
from console.views.support import KNOWN, done, page, refused, show


@page()
def transaction(request: Any, transactional_id: str) -> HttpResponse:
    one = read_transaction(request.cluster, transactional_id)
    more = max((one.partitions or 0) - PLACES_SHOWN, 0)
    return show(request, "transaction", {"one": one, "more": more})


@page("GET", "HEAD", "POST", role=ADMIN, doing="end transaction")
def transaction_end(request: Any, transactional_id: str) -> HttpResponse:
    """What ending it would do, and for whom; the id is typed to do it."""
    actor_of(request).require(ADMIN, "end transaction")
    plan = plan_termination(request.cluster, transactional_id)
    if request.method != "POST":
        return show(request, "transaction_end", {"plan": plan})
    try:
        typed = request.POST.get("confirm", "")
        ended = terminate_transaction(actor_of(request), request.cluster, transactional_id, confirm=typed)
    except KNOWN as error:
        return refused(request, "transaction_end", {"plan": plan}, error, "end")
    return done(request, reverse("transaction", args=[transactional_id]), ended.sentence)
