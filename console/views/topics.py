"""Topics: the list, and creating one."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from django.urls import reverse

from console import queries
from console.actions.topics import create_topic, preview_topic
from console.context import live_needs
from console.errors import Risky
from console.gateway.topic_keys import CREATE_KEYS
from console.roles import OPERATOR, actor_of
from console.snapshot.read import Snapshot
from console.views.support import (
    KNOWN,
    ask_first,
    choice,
    done,
    explain,
    followed,
    is_confirmed,
    number,
    page,
    pages,
    required_number,
    show,
    switches,
)


@page(query=("q", "page", "troubled"))
def topics(request: Any) -> HttpResponse:
    """What is searched for and whether only troubled topics are shown stay in the address."""
    query, troubled = request.GET.get("q", "")[:249], choice(request, "troubled", ("1",)) == "1"
    snapshot = Snapshot(request.cluster.pk)
    found = queries.topics_page(snapshot, query, number(request, "page", 1, least=1) or 1, troubled=troubled)
    live_needs(request, topic_rows=",".join(row.topic for row in found.rows))
    context = {"rows": found.rows, "q": query, "troubled": troubled, "pages": pages(request, found.page, found.last, found.total)}
    return show(
        request, "topics", {**context, "views": switches(request, reverse("topics"), troubled, snapshot.troubled_topics_count(), "cluster")}
    )


@page("GET", "HEAD", "POST", role=OPERATOR, doing="create topic")
def topic_create(request: Any) -> HttpResponse:
    """`preview=1` shows what would happen, checked by the brokers, and creates nothing."""
    if request.method != "POST":
        actor_of(request).require(OPERATOR, "create topic")
        return show_form(request, {"name": "", "partitions": 3, "replication_factor": 3}, {})
    values = {name: request.POST.get(name, "").strip() for name in ("name", "partitions", "replication_factor")}
    configs = {key: text for key in CREATE_KEYS if (text := request.POST.get(f"config.{key}", "").strip())}
    try:
        asked: dict[str, Any] = {name: required_number(request, name) for name in ("partitions", "replication_factor")} | {
            "configs": configs
        }
        if request.POST.get("preview") == "1":
            return show_form(request, values, configs, diff=preview_topic(request.cluster, values["name"], **asked))
        job = create_topic(actor_of(request), request.cluster, values["name"], **asked, confirm=is_confirmed(request))
    except Risky as error:
        return ask_first(request, f"Create {values['name']} so?", error.risks, button="Create topic", back=reverse("topics"))
    except KNOWN as error:
        status, shown = explain(error)
        shown = {**shown, "form": "new-topic"}
        return show_form(request, values, configs, status=status, form_error=shown)
    if job is not None:
        return followed(request, job)
    return done(request, reverse("topics"), f"Topic {values['name']} is created.")


def show_form(request: Any, values: dict[str, Any], chosen: dict[str, str], *, status: int = 200, **more: Any) -> HttpResponse:
    return show(request, "topic_create", {"values": values, "defaults": queries.creation_settings(chosen), **more}, status)
