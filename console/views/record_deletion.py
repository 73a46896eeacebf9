"""Deleting a topic's records up to an offset or a time: what would go first, then the topic's name typed."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from django.urls import reverse

from console import queries
from console.actions.offsets import AtTime, parse_partitions
from console.actions.record_deletion import Before, delete_topic_records, plan_topic_deletion
from console.errors import Invalid
from console.roles import ADMIN, actor_of
from console.rules.records.deleting import risks, sentence
from console.rules.records.query import OFFSET_MAX, WrongQuery, milliseconds
from console.snapshot.read import Snapshot
from console.views.support import KNOWN, done, page, refused, show

UP_TO = {"offset": "below an offset", "time": "older than a time", "all": "all that there is"}


@page("GET", "HEAD", "POST", role=ADMIN, doing="delete records")
def topic_records_delete(request: Any, name: str) -> HttpResponse:
    """`preview=1` tells what would go; the deletion itself is offered beneath that alone."""
    actor_of(request).require(ADMIN, "delete records")
    topic = queries.topic_or_fail(Snapshot(request.cluster.pk), name)
    context: dict[str, Any] = {"topic": topic, "name": name, "choices": UP_TO, "asked": request.POST.dict()}
    if request.method != "POST":
        return show(request, "topic_records_delete", context)
    try:
        spans, before = parse_partitions(request.POST.get("partition", "")), _before(request)
        if request.POST.get("preview") == "1":
            plan = plan_topic_deletion(request.cluster, name, spans, before)
            return show(request, "topic_records_delete", {**context, "plan": plan, "risks": risks(plan), "typed": _typed(request)})
        typed = request.POST.get("confirm", "").strip()
        plan = delete_topic_records(actor_of(request), request.cluster, name, spans, before, confirm=typed)
    except KNOWN as error:
        return refused(request, "topic_records_delete", context, error, "delete")
    return done(request, reverse("topic", args=[name]), sentence(plan.partitions))


def _typed(request: Any) -> dict[str, str]:
    return {**request.POST.dict(), "": "delete"}


def _before(request: Any) -> Before:
    form, kind = request.POST, request.POST.get("up_to", "")
    if kind == "all":
        return None
    if kind == "time":
        return AtTime(_moment(form.get("time", "").strip()))
    if kind != "offset":
        raise Invalid("up_to", "Say up to where: an offset, a time, or all.")
    text = form.get("offset", "").strip()
    if not text:
        raise Invalid("before", "Give the offset: what lies below it goes.")
    if not (text.isascii() and text.isdigit() and len(text) < 20 and int(text) <= OFFSET_MAX):
        raise Invalid("before", f"{text[:40]!r} is no offset: give a whole number.")
    return int(text)


def _moment(text: str) -> int:
    try:
        found = milliseconds("time", text)
    except WrongQuery as error:
        raise Invalid("time", str(error)) from error
    if found is None:
        raise Invalid("time", "Give the time, as 2026-01-31T12:00 (UTC): what is older goes.")
    return found
