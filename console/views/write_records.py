"""Writing records by a form: one, one repeated with what differs, or a file of lines of JSON."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from django.urls import reverse

from console import queries
from console.actions.writing import placeholders, write_records, written_words
from console.errors import Invalid
from console.roles import OPERATOR, actor_of
from console.rules.records.writing import BYTES_MAX, RECORDS_MAX, NewRecord, WrongRecord, read_headers, read_lines, repeated
from console.snapshot.read import Snapshot
from console.views.support import KNOWN, done, explain, is_confirmed, page, required_number, show


@page("GET", "HEAD", "POST", role=OPERATOR, doing="write records")
def topic_records_new(request: Any, name: str) -> HttpResponse:
    topic = queries.topic_or_fail(Snapshot(request.cluster.pk), name)
    context: dict[str, Any] = {"topic": topic, "name": name, "most": RECORDS_MAX, "values": request.POST.dict()}
    actor = actor_of(request)
    if request.method != "POST":
        actor.require(OPERATOR, "write records")
        return show(request, "topic_records_new", context)
    try:
        found = write_records(actor, request.cluster, name, _records(request), confirm=is_confirmed(request))
    except KNOWN as error:
        status, shown = explain(error)
        return show(request, "topic_records_new", {**context, "form_error": {**shown, "form": "write"}}, status)
    return done(request, reverse("topic_records", args=[name]), written_words(found))


def _records(request: Any) -> list[NewRecord]:
    """As the form says: the file or the lines, else the one record."""
    form = request.POST
    try:
        lines = _lines(request)
        if lines.strip():
            return read_lines(lines)
        one = NewRecord(
            key=form.get("key") or None,
            value=None if form.get("tombstone") == "1" else form.get("value", "").replace("\r\n", "\n"),
            headers=read_headers(form.get("headers", "")),
            partition=_whole(request, "partition"),
        )
        count = _whole(request, "count")
        return repeated(one, 1 if count is None else count, placeholders)
    except WrongRecord as error:
        raise Invalid(error.field, str(error)) from error


def _whole(request: Any, name: str) -> int | None:
    """None where the field is empty: what is typed and is no number is no wish for any."""
    return required_number(request, name) if request.POST.get(name, "").strip() else None


def _lines(request: Any) -> str:
    sent = request.FILES.get("file")
    if sent is None:
        return str(request.POST.get("lines", ""))
    if sent.size > BYTES_MAX:
        raise WrongRecord("file", f"The file has more than {BYTES_MAX} bytes: write it in several goes.")
    try:
        return str(sent.read().decode())
    except UnicodeDecodeError:
        raise WrongRecord("file", "The file is not text in UTF-8.") from None
