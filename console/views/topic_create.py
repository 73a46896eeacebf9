"""Creating a topic: a page of its own, and the same form in a dialog over the list."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from django.http import HttpResponse
from django.urls import reverse

from console import queries
from console.actions.topics import NewTopic, create_topic, preview_topic
from console.errors import Invalid, ReadOnly, Risky
from console.gateway.errors import GatewayError
from console.gateway.topic_keys import ALL_KEYS, known
from console.planning.new_topic import read as read_placement
from console.planning.new_topic import written
from console.roles import OPERATOR, actor_of
from console.rules.settings.units import WrongUnit, read
from console.snapshot.read import Snapshot, SnapshotUnavailable
from console.views.support import KNOWN, done, explain, followed, is_confirmed, is_htmx, note_query, page, required_number, show

FORM, CONFIG = "new-topic", "config."
"""The form's name, and what the fields of its settings begin with."""
NUMBERS = ("partitions", "replication_factor")
FIELD_OF = {
    "TOPIC_ALREADY_EXISTS": "name",
    "INVALID_TOPIC_EXCEPTION": "name",
    "INVALID_PARTITIONS": "partitions",
    "INVALID_REPLICATION_FACTOR": "replication_factor",
}
"""Where it is said what the brokers refuse."""
SHOWN_PLACED = 20
OFFERED = 200
"""Topics that the field for a model proposes."""


@page("GET", "HEAD", "POST", role=OPERATOR, doing="create topic", query=("from",))
def topic_create(request: Any) -> HttpResponse:
    """`preview=1` shows what would happen, checked by the brokers, and creates nothing; `check=1` is the same while somebody types."""
    if request.method != "POST":
        actor_of(request).require(OPERATOR, "create topic")
        if request.cluster.read_only:
            raise ReadOnly(request.cluster.name)
        return _begun(request, request.GET.get("from", "").strip()[:249])
    values = {name: request.POST.get(name, "").strip() for name in ("name", *NUMBERS, "like")}
    configs = {key: text for key in ALL_KEYS if (text := request.POST.get(f"{CONFIG}{key}", "").strip())}
    is_check = request.POST.get("check") == "1"
    if is_check and not values["name"]:
        return _form(request, values, configs, is_check=True)
    try:
        asked: dict[str, Any] = {name: required_number(request, name) for name in NUMBERS}
        asked["configs"] = _with_units_read(configs)
        if is_check or request.POST.get("preview") == "1":
            return _form(request, values, configs, preview=preview_topic(request.cluster, values["name"], **asked), is_check=is_check)
        return _create(request, values["name"], asked)
    except Risky as error:
        return _form(request, values, configs, preview=NewTopic([], error.risks, []))
    except KNOWN as error:
        status, shown = explain(error)
        wrong = {**shown, "form": FORM, "field": _field_of(error, configs) or shown["field"]}
        shown_as = 200 if is_check else min(status, 422) if is_htmx(request) else status  # htmx shows no answer of 5xx
        return _form(request, values, configs, status=shown_as, form_error=wrong, is_check=is_check)


def _create(request: Any, name: str, asked: Mapping[str, Any]) -> HttpResponse:
    """Where what is shown says where the replicas go, they go there."""
    rows = _placement(request, asked["partitions"], asked["replication_factor"])
    job = create_topic(actor_of(request), request.cluster, name, **asked, confirm=is_confirmed(request), assignment=rows)
    return followed(request, job) if job is not None else done(request, reverse("topics"), f"Topic {name} is created.")


def _placement(request: Any, partitions: int, replication_factor: int) -> list[list[int]]:
    text = request.POST.get("placement", "")
    if not text:
        return []
    try:
        online = [broker.broker_id for broker in Snapshot(request.cluster.pk).brokers() if broker.state == "online"]
    except SnapshotUnavailable:
        return []
    return read_placement(text, partitions, replication_factor, online)


def _with_units_read(typed: Mapping[str, str]) -> dict[str, str]:
    """The settings as Kafka takes them: `7 d` in milliseconds."""
    found = {}
    for name, text in typed.items():
        try:
            found[name] = read(name, known(name)["type"], text)
        except WrongUnit as error:
            raise Invalid(f"{CONFIG}{name}", str(error)) from error
    return found


def _field_of(error: Exception, typed: Mapping[str, str]) -> str:
    """At which field the brokers' refusal stands: settings they name in their words. Empty where it is of none alone."""
    if not isinstance(error, GatewayError):
        return ""
    words = re.findall(r"[a-z]+(?:\.[a-z]+)+", error.message)
    named = [name for name in typed if name in words]
    return f"{CONFIG}{named[0]}" if len(named) == 1 else FIELD_OF.get(error.name, "")


def _begun(request: Any, like: str) -> HttpResponse:
    """The form with another topic's figures and own settings, or the usual."""
    usual = {"name": "", "like": "", "partitions": 3, "replication_factor": 3}
    if not like:
        return _form(request, usual, {})
    try:
        topic = queries.topic_or_fail(Snapshot(request.cluster.pk), like)
    except queries.NotFound as error:
        if not is_htmx(request):
            raise
        wrong = {"title": "Not found", "detail": str(error), "form": FORM, "field": "from"}
        return _form(request, {**usual, "like": like}, {}, status=422, form_error=wrong)
    values = {"name": "", "like": like, "partitions": topic.partitions or 3, "replication_factor": topic.replication_factor or 3}
    try:
        rows = queries.topic_configs(request.cluster, like)
    except GatewayError as error:
        note_query(request, f"The settings of {like} could not be read, so that none of them is taken over: {error}")
        rows = []
    return _form(request, values, {row["name"]: row["value"] for row in rows if row["source"] == "topic" and row["name"] in ALL_KEYS})


def _form(
    request: Any, values: dict[str, Any], chosen: dict[str, str], *, status: int = 200, preview: NewTopic | None = None, **more: Any
) -> HttpResponse:
    defaults = queries.creation_settings(chosen)
    context: dict[str, Any] = {"values": values, "defaults": defaults, "preview": preview, "diff": preview.rows if preview else []}
    if preview and preview.placement:
        context["placement"] = written(preview.placement)
        context["placed"] = list(enumerate(preview.placement[:SHOWN_PLACED]))
        context["placed_more"] = max(len(preview.placement) - SHOWN_PLACED, 0)
    if more.get("is_check"):
        context["fields"] = ["name", *NUMBERS, *(f"{CONFIG}{item['name']}" for item in defaults)]
        return show(request, "topic_create_answer", {**context, **more}, status)
    return show(request, "topic_create", {**context, "offered": _offered(request), "own": FORM, **more}, status)


def _offered(request: Any) -> list[str]:
    try:
        return Snapshot(request.cluster.pk).topic_names(OFFERED)
    except SnapshotUnavailable:
        return []
