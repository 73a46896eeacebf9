"""Rules that hide parts of records: the list, one to be added or changed, and how a record looks under them."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from django.urls import reverse

from console.actions.mask_preview import Asked, Trial, preview
from console.actions.masking import BELOW, add_rule, change_rule, check_parts, remove_rule, rule_or_fail
from console.errors import Invalid
from console.models import MaskRule
from console.roles import ADMIN, OPERATOR, VIEWER, actor_of
from console.rules.records.masking import PARTS, covers
from console.rules.records.writing import NewRecord, WrongRecord, raw_of, read_headers
from console.views.support import KNOWN, ask_first, done, is_confirmed, page, refused, required_number, show

PART_WORDS = {
    "value": "the whole value",
    "key": "the whole key",
    "field": "a field of JSON values (a JSONPath)",
    "header": "a header (its name)",
    "pattern": "what a pattern fits (RE2), anywhere",
}
FIELDS = ("topics", "part", "expression", "below")
SEEN_BY = (VIEWER, OPERATOR)


def _context(request: Any, row: MaskRule | None = None) -> dict[str, Any]:
    topic = request.GET.get("topic", "").strip()[:249]
    rows = list(MaskRule.objects.filter(cluster=request.cluster).order_by("topics", "id"))
    kept = {name: getattr(row, name) for name in FIELDS} if row else {"topics": topic}
    return {
        "rows": [one for one in rows if not topic or covers(one.topics, topic)],
        "topic": topic,
        "total": len(rows),
        "most": MaskRule.MOST,
        "parts": [(part, PART_WORDS[part]) for part in PARTS],
        "below": BELOW,
        "roles": SEEN_BY,
        "changing": row,
        "rule": {**kept, "try_topic": topic},
    }


@page(query=("topic",))
def masking(request: Any) -> HttpResponse:
    actor_of(request).require(ADMIN, "reading what is hidden")
    return show(request, "masking", _context(request))


@page("GET", "HEAD", "POST", role=ADMIN, doing="change what is hidden")
def mask_rule(request: Any, rule_id: int) -> HttpResponse:
    actor_of(request).require(ADMIN, "reading what is hidden")
    row = rule_or_fail(request.cluster, rule_id)
    if request.method != "POST":
        return show(request, "masking", _context(request, row))
    return _sent(request, row)


@page("POST", role=ADMIN, doing="hide parts of records")
def mask_rule_new(request: Any) -> HttpResponse:
    return _sent(request, None)


@page("POST", role=ADMIN, doing="show parts of records again")
def mask_rule_remove(request: Any, rule_id: int) -> HttpResponse:
    row = rule_or_fail(request.cluster, rule_id)
    if not is_confirmed(request):
        risk = f"Who is below {row.below} sees {PART_WORDS[row.part]} of records of {row.topics} again, as far as no other rule hides it."
        return ask_first(request, "Delete the rule?", [risk], button="Delete rule", back=reverse("masking"))
    remove_rule(actor_of(request), request.cluster, rule_id)
    return done(request, reverse("masking"), f"Nothing is hidden by rule {rule_id} of {row.topics} any more.")


def _sent(request: Any, row: MaskRule | None) -> HttpResponse:
    """`preview=1` shows a record as the rule would leave it, and keeps nothing."""
    parts = {name: request.POST.get(name, "").strip() for name in FIELDS}
    try:
        if request.POST.get("preview") == "1":
            return show(request, "masking", {**_context(request, row), **_previewed(request, parts, row)})
        if row is None:
            row = add_rule(actor_of(request), request.cluster, **parts)
        else:
            row = change_rule(actor_of(request), request.cluster, row.pk, **parts)
    except KNOWN as error:
        return refused(request, "masking", _context(request, row), error, "mask")
    return done(request, reverse("masking"), f"Of records of {row.topics}, {PART_WORDS[row.part]} is hidden below {row.below}.")


def _previewed(request: Any, parts: dict[str, str], row: MaskRule | None) -> dict[str, Any]:
    """With the fields as they were typed."""
    trial = None
    if parts["expression"] or parts["part"] in ("key", "value"):
        trial = Trial(parts["topics"], check_parts(**parts), parts["below"], row.pk if row else None)
    asked = _asked(request)
    seen = preview(actor_of(request), request.cluster, asked, trial)
    typed = {**request.POST.dict(), "": "mask"}
    return {"seen": seen, "seen_by": asked.role, "seen_topic": asked.topic, "is_pasted": asked.pasted is not None, "typed": typed}


def _asked(request: Any) -> Asked:
    form = request.POST
    topic = form.get("try_topic", "").strip() or form.get("topics", "").strip()
    role = form.get("role", VIEWER)
    if form.get("offset", "").strip():
        return Asked(topic, role, place=(required_number(request, "partition"), required_number(request, "offset")))
    if not any(form.get(name, "").strip() for name in ("key", "value", "headers")):
        raise Invalid("value", "Paste a record, or say at which partition and offset a real one is.")
    try:
        headers = read_headers(form.get("headers", ""))
        one = NewRecord(key=form.get("key") or None, value=form.get("value", "").replace("\r\n", "\n"), headers=headers)
        return Asked(topic, role, pasted=raw_of([one], None)[0])
    except WrongRecord as error:
        raise Invalid(error.field, str(error)) from error
