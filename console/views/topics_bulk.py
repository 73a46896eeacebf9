"""One change to several topics: what would happen to each, then how it went with each."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from django.urls import reverse

from console.actions import topics_bulk as bulk
from console.actions.favourites import add_favourites
from console.errors import Invalid
from console.gateway.topic_keys import ALL_KEYS
from console.roles import actor_of
from console.rules.words import counted
from console.views.support import KNOWN, done, explain, page, show


@page("POST", doing="change several topics")
def topics_bulk(request: Any) -> HttpResponse:
    """`action` is `favourite`, `delete` or `set`; the last two are shown first, and done with `do=1`. Roles are the actions' own."""
    action = request.POST.get("action", "")
    context: dict[str, Any] = {"action": action, "keys": ALL_KEYS}
    try:
        names = bulk.checked_names(request.POST.getlist("topic"))
        if action == "favourite":
            added = add_favourites(request.user, request.cluster, "topic", names)
            return done(request, reverse("topics"), f"{counted(added, 'topic')} became favourites.")
        if action not in ("delete", "set"):
            raise Invalid("action", "Choose what to do with the topics.")
        is_to_be_done = request.POST.get("do") == "1"
        return (_delete if action == "delete" else _set)(request, names, context, is_to_be_done)
    except KNOWN as error:
        status, shown = explain(error)
        return show(request, "topics_bulk", {**context, "form_error": shown}, status)


def _delete(request: Any, names: list[str], context: dict[str, Any], is_to_be_done: bool) -> HttpResponse:
    context |= {"plan": bulk.plan_deletion(actor_of(request), request.cluster, names), "phrase": bulk.phrase(names)}
    if not is_to_be_done:
        return show(request, "topics_bulk", context)
    try:
        results = bulk.delete_topics(actor_of(request), request.cluster, names, confirm=request.POST.get("confirm", ""))
    except Invalid as error:
        status, shown = explain(error)
        return show(request, "topics_bulk", {**context, "form_error": {**shown, "form": "bulk"}}, status)
    return show(request, "topics_bulk", {**context, "plan": None, "results": results})


def _set(request: Any, names: list[str], context: dict[str, Any], is_to_be_done: bool) -> HttpResponse:
    key, value = request.POST.get("key", "").strip(), request.POST.get("value", "").strip()
    context |= {"names": names, "key": key, "value": value}
    if not key:
        return show(request, "topics_bulk", {**context, "asks_for_setting": True})
    if is_to_be_done:
        results = bulk.set_configs(actor_of(request), request.cluster, names, key, value)
        return show(request, "topics_bulk", {**context, "results": results})
    plan = bulk.plan_setting(actor_of(request), request.cluster, names, key, value)
    return show(request, "topics_bulk", {**context, "plan": plan, "asks_for_setting": True})
