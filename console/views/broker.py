"""One broker: what it has, how it fares, its settings, and what would be if it stopped."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.http import HttpResponse
from django.urls import reverse

from broker_core.contract.live import Broker
from console import hosting, queries
from console.actions.jobs import create_job
from console.actions.settings import read_settings
from console.context import live_needs
from console.errors import Unconfirmed
from console.jobs.graded_kill import GradedKill
from console.models import Cluster
from console.roles import ADMIN, actor_of
from console.rules.broker_words import broker_sentence
from console.rules.forecast.fates import BECOMES, How
from console.rules.settings.model import Owner, Setting
from console.snapshot.read import Snapshot
from console.views.lists import Head, heads_of, sorting_of
from console.views.settings_then import ThenSetting, settings_then
from console.views.support import (
    KNOWN,
    choice,
    done,
    note_query,
    number,
    page,
    pages,
    refused_again,
    settings_or_why,
    show,
)

ROWS = 25
EVENTS_SHOWN = 20
ROLES = ("leader", "follower")
WAYS = ("death", "shutdown")
HEADS = (
    Head("name", "Partition", is_number=False),
    Head("state", "State", is_number=False),
    Head("role", "Role", is_number=False),
    Head("in_isr", "In sync", is_number=False),
    Head("high_watermark", "High watermark"),
    Head("log_end_offset", "Its log end"),
    Head("behind", "Behind"),
    Head("size_bytes", "On disk"),
)


def _hosted(request: Any, snapshot: Snapshot, broker_id: int) -> dict[str, Any]:
    role = choice(request, "role", ROLES)
    column, falling = sorting_of(request, hosting.COLUMNS, hosting.usually_falls)
    wanted, text = number(request, "page", 1, least=1) or 1, request.GET.get("q", "")[:249]
    try:
        found = hosting.hosted_page(snapshot, broker_id, wanted, ROWS, role=role, q=text, column=column, falling=falling)
    except queries.BadQuery as error:
        note_query(request, str(error))
        column, falling = "", False
        found = hosting.hosted_page(snapshot, broker_id, wanted, ROWS, role=role, q=text, column="", falling=False)
    live_needs(request, brokers="1", topics=",".join(f"{row.topic}:{row.partition}-{row.partition}" for row, _ in found.rows), events="1")
    return {
        "rows": found.rows,
        "role_asked": role,
        "q": text,
        "heads": heads_of(request, HEADS, column or "state", hosting.usually_falls, falling=falling),
        "sorts": HEADS,
        "pages": pages(request, found.page, found.last, found.total),
    }


def _settings(cluster: Cluster, broker: Broker) -> tuple[Sequence[Setting | ThenSetting], str]:
    """What is, or at a moment of the past was, set for it while it runs; or why that cannot be told."""
    if cluster.moment_ms is not None:
        return settings_then(broker.own_settings, "")
    found, error = settings_or_why(cluster, lambda: read_settings(cluster, Owner("broker", str(broker.broker_id))))
    return [one for one in found if one.set_for in ("this broker", "all brokers")], error


def _context(request: Any, broker_id: int) -> dict[str, Any]:
    snapshot = Snapshot(request.cluster.snapshot_id)
    found = hosting.broker_or_fail(snapshot, broker_id)
    settings, error = _settings(request.cluster, found)
    level, sentence = broker_sentence(found)
    return {
        "broker": found,
        "one": [found],
        "level": level,
        "sentence": sentence,
        **_hosted(request, snapshot, broker_id),
        "configs": settings,
        "configs_error": error,
        "events": queries.events(request.cluster, queries.EventQuery(broker=broker_id), count=EVENTS_SHOWN),
    }


@page(query=("page", "role", "q", "sort", "order"))
def broker(request: Any, broker_id: int) -> HttpResponse:
    return show(request, "broker", _context(request, broker_id))


def _if_stopped(request: Any, broker_id: int) -> dict[str, Any]:
    live_needs(request, brokers="1")
    snapshot = Snapshot(request.cluster.snapshot_id)
    broker = hosting.broker_or_fail(snapshot, broker_id)
    how: How = "shutdown" if choice(request, "how", WAYS) == "shutdown" else "death"
    becomes = choice(request, "becomes", BECOMES)
    forecast = hosting.if_stopped(snapshot, broker, how)
    wanted = (number(request, "page", 1, least=1) or 1) if request.method == "GET" else 1
    rows = hosting.fates_page(forecast, becomes, wanted, ROWS)
    return {
        "found": forecast.told,
        "broker_id": broker_id,
        "broker": broker,
        "rows": rows.rows,
        "becomes": becomes,
        "kinds": [(kind, count) for kind in BECOMES if (count := sum(fate.becomes == kind for fate in forecast.fates))],
        "pages": pages(request, rows.page, rows.last, rows.total),
    }


@page(query=("page", "how", "becomes"))
def broker_if_stopped(request: Any, broker_id: int) -> HttpResponse:
    return show(request, "broker_if_stopped", _if_stopped(request, broker_id))


@page("POST", role=ADMIN, doing="kill a broker and grade the forecast")
def broker_graded_kill(request: Any, broker_id: int) -> HttpResponse:
    """The broker's id typed confirms it."""
    form = f"graded-{broker_id}"
    try:
        if request.POST.get("confirm", "") != str(broker_id):
            raise Unconfirmed("confirm", f"Type the broker's id, {broker_id}, to kill it.")
        asked = {"broker": broker_id, "start_again": request.POST.get("start_again") == "1", "confirm": True}
        made = create_job(actor_of(request), request.cluster, GradedKill.name, asked)
    except KNOWN as error:
        return refused_again(request, "broker_if_stopped", lambda: _if_stopped(request, broker_id), error, form)
    return done(request, reverse("job", args=[made.pk]), f"Job {made.pk} is queued.")
