"""One change to several topics: what would happen to each, then how it went with each."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from django.urls import reverse

from console.actions import topics_bulk as bulk
from console.actions import topics_bulk_partitions as bulk_partitions
from console.actions.favourites import add_favourites
from console.errors import Invalid
from console.gateway.topic_keys import ALL_KEYS
from console.roles import actor_of
from console.rules.words import counted
from console.views.support import KNOWN, done, explain, page, required_number, show


@page("POST", doing="change several topics")
def topics_bulk(request: Any) -> HttpResponse:
    """`action` is `favourite`, or one of `ACTIONS`, which are shown first and done with `do=1`. Roles are the actions' own."""
    action = request.POST.get("action", "")
    context: dict[str, Any] = {"action": action, "keys": ALL_KEYS}
    try:
        names = bulk.checked_names(request.POST.getlist("topic"))
        context["names"] = names
        if action == "favourite":
            added = add_favourites(request.user, request.cluster, "topic", names)
            return done(request, reverse("topics"), f"{counted(added, 'topic')} became favourites.")
        if action not in ACTIONS:
            raise Invalid("action", "Choose what to do with the topics.")
        return ACTIONS[action](request, names, context, request.POST.get("do") == "1")
    except KNOWN as error:
        return _refused(request, context, error)


def _refused(request: Any, context: dict[str, Any], error: Exception) -> HttpResponse:
    """What was typed stays, with the error at its field."""
    status, shown = explain(error)
    typed = {**request.POST.dict(), "": "bulk"}
    return show(request, "topics_bulk", {**context, "form_error": {**shown, "form": "bulk"}, "typed": typed}, status)


def _delete(request: Any, names: list[str], context: dict[str, Any], is_to_be_done: bool) -> HttpResponse:
    context |= {"plan": bulk.plan_deletion(actor_of(request), request.cluster, names), "phrase": bulk.phrase(names)}
    if not is_to_be_done:
        return show(request, "topics_bulk", context)
    results = bulk.delete_topics(actor_of(request), request.cluster, names, confirm=request.POST.get("confirm", ""))
    return show(request, "topics_bulk", {**context, "plan": None, "results": results})


def _set(request: Any, names: list[str], context: dict[str, Any], is_to_be_done: bool) -> HttpResponse:
    key, value = request.POST.get("key", "").strip(), request.POST.get("value", "").strip()
    context |= {"key": key, "value": value, "phrase": bulk.phrase(names, "change"), "asks": "set"}
    if not key:
        return show(request, "topics_bulk", context)
    context["plan"] = bulk.plan_setting(actor_of(request), request.cluster, names, key, value)
    if not is_to_be_done:
        return show(request, "topics_bulk", context)
    results = bulk.set_configs(actor_of(request), request.cluster, names, key, value, confirm=request.POST.get("confirm", ""))
    return show(request, "topics_bulk", {**context, "plan": None, "asks": "", "results": results})


def _grow(request: Any, names: list[str], context: dict[str, Any], is_to_be_done: bool) -> HttpResponse:
    context |= {"count": request.POST.get("count", "").strip()[:15], "asks": "grow"}
    if not context["count"]:
        return show(request, "topics_bulk", context)
    total = required_number(request, "count")
    if is_to_be_done:
        results = bulk_partitions.grow_topics(actor_of(request), request.cluster, names, total)
        return show(request, "topics_bulk", {**context, "asks": "", "results": results})
    return show(request, "topics_bulk", {**context, "plan": bulk_partitions.plan_growth(actor_of(request), request.cluster, names, total)})


def _elect(request: Any, names: list[str], context: dict[str, Any], is_to_be_done: bool) -> HttpResponse:
    if is_to_be_done:
        job = bulk_partitions.elect_topics(actor_of(request), request.cluster, names)
        return done(request, reverse("job", args=[job.pk]), f"Job {job.pk} is queued.")
    return show(request, "topics_bulk", {**context, "plan": bulk_partitions.plan_election(actor_of(request), request.cluster, names)})


ACTIONS = {"delete": _delete, "set": _set, "grow": _grow, "elect": _elect}
