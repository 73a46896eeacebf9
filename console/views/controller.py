"""The controller: who it is and was, what is before it; and the znodes of the cluster, to read."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse

from console import queries
from console.actions.znodes import look
from console.context import live_needs
from console.queries import page_of
from console.roles import OPERATOR, actor_of
from console.rules.znodes import in_order
from console.snapshot.read import Snapshot
from console.views.support import number, page, pages, show

EPOCHS_SHOWN = 20
CHILDREN_SHOWN = 200


@page()
def controller(request: Any) -> HttpResponse:
    live_needs(request, brokers="1", events="1")
    snapshot = Snapshot(request.cluster.snapshot_id)
    brokers = snapshot.brokers()
    context = {
        "seen": queries.controller(snapshot, brokers),
        "rows": brokers,
        "epochs": queries.events(request.cluster, queries.EventQuery(kind="controller_moved"), count=EPOCHS_SHOWN),
    }
    return show(request, "controller", context)


@page(query=("path", "q", "page"))
def znodes(request: Any) -> HttpResponse:
    """A path in the address; its children a page at a time. For operators: who hosts what and which users there are stands there."""
    actor_of(request).require(OPERATOR, "reading ZooKeeper")
    found = look(request.cluster, request.GET.get("path", "/"))
    text = request.GET.get("q", "")[:249]
    names = sorted((name for name in found.children if text.lower() in name.lower()), key=in_order)
    shown, at, last = page_of(names, number(request, "page", 1, least=1) or 1, CHILDREN_SHOWN)
    base = found.path.rstrip("/")
    parts = [part for part in found.path.split("/") if part]
    crumbs = [(name, "/" + "/".join(parts[: index + 1])) for index, name in enumerate(parts[:-1])]
    context = {
        "znode": found,
        "name": parts[-1] if parts else "/",
        "crumbs": crumbs,
        "children": [(name, f"{base}/{name}") for name in shown],
        "q": text,
        "pages": pages(request, at, last, len(names)),
    }
    return show(request, "znodes", context)
