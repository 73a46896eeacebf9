"""Brokers, and what can be done to a local one."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from django.urls import reverse

from console.actions.brokers import act_on_broker
from console.context import live_needs
from console.roles import ADMIN, actor_of
from console.snapshot.read import Snapshot
from console.views.support import KNOWN, done, page, refused, show

DONE = {
    "start": "is starting",
    "stop": "has stopped",
    "restart": "was restarted",
    "kill": "was killed",
    "pause": "is paused",
    "resume": "goes on",
}


def _context(request: Any) -> dict[str, Any]:
    live_needs(request, brokers="1")
    return {"rows": Snapshot(request.cluster.snapshot_id).brokers(), "events": []}


@page()
def brokers(request: Any) -> HttpResponse:
    return show(request, "brokers", _context(request))


@page("POST", role=ADMIN, doing="{action} broker")
def broker_action(request: Any, broker_id: int, action: str) -> HttpResponse:
    try:
        act_on_broker(actor_of(request), request.cluster, broker_id, action, confirm=request.POST.get("confirm", ""))
    except KNOWN as error:
        return refused(request, "brokers", _context(request), error, f"{action}-{broker_id}")
    return done(request, reverse("brokers"), f"Broker {broker_id} {DONE[action]}.")
