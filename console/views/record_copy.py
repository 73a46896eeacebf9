"""Copying a topic's records to another: what would be copied first, then a job."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from django.urls import reverse

from console import queries
from console.actions.offsets import chosen, parse_partitions
from console.actions.record_copy import copy_records, plan_copy
from console.errors import Invalid
from console.jobs.record_copy import CopyFilter
from console.roles import OPERATOR, actor_of
from console.rules.records.copying import sentence
from console.rules.records.query import OFFSET_MAX
from console.snapshot.read import Snapshot
from console.views.support import KNOWN, done, page, refused, show

TEXTS = ("time", "until", "text", "header", "path", "equals")
WHERES = {"any": "key or value", "key": "key", "value": "value"}


@page("GET", "HEAD", "POST", role=OPERATOR, doing="copy records", query=("target", "partition", *TEXTS, "regex", "case", "where"))
def topic_records_copy(request: Any, name: str) -> HttpResponse:
    """A search's address gives the filter. `preview=1` tells what would be copied; the copy is offered beneath that alone."""
    actor_of(request).require(OPERATOR, "copy records")
    topic = queries.topic_or_fail(Snapshot(request.cluster.pk), name)
    context: dict[str, Any] = {"topic": topic, "name": name, "wheres": WHERES, "is_new": request.method != "POST"}
    if request.method != "POST":
        return show(request, "topic_records_copy", {**context, "typed": {**request.GET.dict(), "": "copy"}})
    context["typed"] = {**request.POST.dict(), "": "copy"}
    try:
        params = _params(request, name, topic.partitions or 0)
        if request.POST.get("preview") == "1":
            plan = plan_copy(actor_of(request), request.cluster, params)
            return show(request, "topic_records_copy", {**context, "plan": plan, "sentence": sentence(plan), "again": request.POST.items()})
        job = copy_records(actor_of(request), request.cluster, params)
    except KNOWN as error:
        return refused(request, "topic_records_copy", context, _named(error), "copy")
    return done(request, reverse("job", args=[job.pk]), f"Job {job.pk} copies records of {name} to {params['target']}.")


def _named(error: Exception) -> Exception:
    """The form has no fields within fields."""
    return Invalid(error.field.removeprefix("filter."), error.detail) if isinstance(error, Invalid) else error


def _params(request: Any, name: str, partitions: int) -> dict[str, Any]:
    form = request.POST
    spans = parse_partitions(form.get("partition", ""))
    asked = {text: form.get(text, "").strip() for text in TEXTS} | {"text": form.get("text", ""), "where": form.get("where") or "any"}
    asked |= {"regex": form.get("regex") == "1", "case": form.get("case") != "0"}
    is_filtered = any(asked[text] for text in TEXTS)
    return {
        "source": name,
        "target": form.get("target", "").strip(),
        "partitions": None if spans is None else chosen(name, range(partitions), spans),
        "from_offset": _offset(request, "from_offset"),
        "to_offset": _offset(request, "to_offset"),
        "filter": CopyFilter(**asked).model_dump() if is_filtered else None,
        "keep_partition": form.get("keep_partition") == "1",
        "mark": form.get("mark") == "1",
    }


def _offset(request: Any, field: str) -> int | None:
    text = request.POST.get(field, "").strip()
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 20 and int(text) <= OFFSET_MAX):
        raise Invalid(field, f"{text[:40]!r} is no offset: give a whole number.")
    return int(text)
