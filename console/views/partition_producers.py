"""The producers that a partition's leader remembers, with what becomes of their open transactions; and aborting one that hangs."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from django.urls import reverse

from console import queries
from console.actions.transactions import abort_transaction, plan_abort
from console.gateway.errors import GatewayError
from console.queries import NotFound
from console.roles import ADMIN, actor_of
from console.snapshot.read import Snapshot
from console.transactions.producers import partition_producers as read_producers
from console.views.support import KNOWN, done, explain, page, refused, required_number, show


@page()
def partition_producers(request: Any, name: str, partition: int) -> HttpResponse:
    row = queries.partition_or_fail(Snapshot(request.cluster.snapshot_id), name, partition)
    try:
        found = read_producers(request.cluster, name, partition)
    except (GatewayError, NotFound) as error:
        status, shown = explain(error)
        return show(request, "partition_producers", {"name": name, "row": row, "not_told": shown}, status)
    return show(request, "partition_producers", {"name": name, "row": row, "found": found})


@page("GET", "HEAD", "POST", role=ADMIN, doing="abort transaction", query=("start_offset",))
def transaction_abort(request: Any, name: str, partition: int) -> HttpResponse:
    """What would be written and what is known of the transaction; the partition's name is typed to do it."""
    actor_of(request).require(ADMIN, "abort transaction")
    start = required_number(request, "start_offset")
    plan = plan_abort(request.cluster, name, partition, start)
    context = {"name": name, "partition": partition, "plan": plan}
    if request.method != "POST":
        return show(request, "transaction_abort", context)
    try:
        typed = request.POST.get("confirm", "").strip()
        ended = abort_transaction(actor_of(request), request.cluster, name, partition, start, confirm=typed)
    except KNOWN as error:
        return refused(request, "transaction_abort", context, error, "abort")
    return done(request, reverse("partition_producers", args=[name, partition]), ended.sentence)
