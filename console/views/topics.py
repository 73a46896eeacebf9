"""Topics: the list, and creating one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from django.http import HttpResponse
from django.urls import reverse

from console import queries
from console.actions.favourites import favourites
from console.actions.topics import create_topic, preview_topic
from console.context import live_needs
from console.errors import Invalid, ReadOnly, Risky
from console.gateway.errors import GatewayError
from console.gateway.topic_keys import ALL_KEYS, known
from console.listing import page_of_names
from console.roles import OPERATOR, actor_of
from console.rules.settings.units import WrongUnit, read
from console.snapshot.read import Snapshot
from console.views.lists import LIST_QUERY, Head, elsewhere, list_context, wanted_of
from console.views.support import (
    KNOWN,
    ask_first,
    done,
    explain,
    followed,
    is_confirmed,
    note_query,
    number,
    page,
    required_number,
    show,
    switches,
)

CONFIG = "config."
"""What the fields of a new topic's settings begin with."""
HEADS = (
    Head("name", "Topic", is_number=False),
    Head("state", "State", is_number=False),
    Head("partitions", "Partitions"),
    Head("replication_factor", "Replicas"),
    Head("out_of_sync_replicas", "Out of sync"),
    Head("under_min_isr", "Under min ISR"),
    Head("offline", "Offline"),
    Head("messages", "Records"),
    Head("messages_per_s", "Per second"),
    Head("size_bytes", "On disk"),
    Head("groups", "Groups"),
    Head("lag", "Their lag"),
    Head("leader_skew", "Leader skew"),
)


@page(query=LIST_QUERY)
def topics(request: Any) -> HttpResponse:
    """What is searched for, filtered and sorted by stays in the address; who asks for nothing gets what they chose last."""
    wanted = wanted_of(request, "topic")
    if led := elsewhere(request, wanted):
        return led
    snapshot = Snapshot(request.cluster.snapshot_id)
    stars = favourites(request.user, request.cluster, "topic")
    found = page_of_names(snapshot, wanted, number(request, "page", 1, least=1) or 1, favourites=stars)
    rows, troubled = snapshot.topics(found.names), bool(wanted.troubled)
    live_needs(request, topic_rows=",".join(row.topic for row in rows))
    views = switches(request, reverse("topics"), troubled, snapshot.troubled_topics_count(), "cluster")
    context = list_context(request, wanted, HEADS, found, stars)
    return show(request, "topics", {**context, "rows": rows, "troubled": troubled, "views": views})


@page("GET", "HEAD", "POST", role=OPERATOR, doing="create topic", query=("from",))
def topic_create(request: Any) -> HttpResponse:
    """`preview=1` shows what would happen, checked by the brokers, and creates nothing."""
    if request.method != "POST":
        actor_of(request).require(OPERATOR, "create topic")
        if request.cluster.read_only:
            raise ReadOnly(request.cluster.name)
        return show_form(request, *_template(request, request.GET.get("from", "")[:249]))
    values = {name: request.POST.get(name, "").strip() for name in ("name", "partitions", "replication_factor")}
    configs = {key: text for key in ALL_KEYS if (text := request.POST.get(f"config.{key}", "").strip())}
    try:
        asked: dict[str, Any] = {name: required_number(request, name) for name in ("partitions", "replication_factor")}
        asked["configs"] = _with_units_read(configs)
        if request.POST.get("preview") == "1":
            return show_form(request, values, configs, diff=preview_topic(request.cluster, values["name"], **asked))
        job = create_topic(actor_of(request), request.cluster, values["name"], **asked, confirm=is_confirmed(request))
    except Risky as error:
        return ask_first(request, f"Create {values['name']} so?", error.risks, button="Create topic", back=reverse("topics"))
    except KNOWN as error:
        status, shown = explain(error)
        shown = {**shown, "form": "new-topic"}
        return show_form(request, values, configs, status=status, form_error=shown, wrong_setting=_setting_of(error, configs))
    if job is not None:
        return followed(request, job)
    return done(request, reverse("topics"), f"Topic {values['name']} is created.")


def _with_units_read(typed: Mapping[str, str]) -> dict[str, str]:
    """The settings as Kafka takes them: `7 d` in milliseconds."""
    found = {}
    for name, text in typed.items():
        try:
            found[name] = read(name, known(name)["type"], text)
        except WrongUnit as error:
            raise Invalid(f"{CONFIG}{name}", str(error)) from error
    return found


def _setting_of(error: Exception, typed: Mapping[str, str]) -> str:
    """At which of the settings the error stands: brokers name it in their words. Empty where it is of none of them alone."""
    if isinstance(error, Invalid):
        return error.field.removeprefix(CONFIG) if error.field.startswith(CONFIG) else ""
    words = re.findall(r"[a-z]+(?:\.[a-z]+)+", error.message) if isinstance(error, GatewayError) else []
    named = [name for name in typed if name in words]
    return named[0] if len(named) == 1 else ""


def _template(request: Any, name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """What the form begins with: another topic's figures and own settings, or the usual."""
    usual = {"name": "", "partitions": 3, "replication_factor": 3}
    if not name:
        return usual, {}
    topic = queries.topic_or_fail(Snapshot(request.cluster.pk), name)
    values = {"name": "", "like": name, "partitions": topic.partitions or 3, "replication_factor": topic.replication_factor or 3}
    try:
        rows = queries.topic_configs(request.cluster, name)
    except GatewayError as error:
        note_query(request, f"The settings of {name} could not be read, so that none of them is taken over: {error}")
        rows = []
    return values, {row["name"]: row["value"] for row in rows if row["source"] == "topic" and row["name"] in ALL_KEYS}


def show_form(request: Any, values: dict[str, Any], chosen: dict[str, str], *, status: int = 200, **more: Any) -> HttpResponse:
    return show(request, "topic_create", {"values": values, "defaults": queries.creation_settings(chosen), **more}, status)
