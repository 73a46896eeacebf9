"""The wanted state: what differs from it, object by object, and the form that mends one."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from django.urls import reverse

from console.actions.wanted import mend, preview_mend
from console.errors import Invalid, Outdated, Unconfirmed
from console.models import WantedDrift, WantedState
from console.queries import NotFound
from console.roles import OPERATOR, actor_of
from console.views.support import KNOWN, choice, done, explain, number, page, pages, show
from console.wanted.quotas import OBJECT as QUOTA
from console.wanted.quotas import in_words
from console.wanted.words import STATES, verdict

PAGE_ROWS = 50
ERRORS = (*KNOWN, Outdated)


@page(query=("page", "state"))
def wanted(request: Any) -> HttpResponse:
    kept = WantedState.objects.filter(cluster=request.cluster).first()
    if kept is None:
        return show(request, "wanted", {"kept": None})
    chosen = choice(request, "state", tuple(STATES))
    rows = WantedDrift.objects.filter(cluster=request.cluster, **({"state": chosen} if chosen else {})).order_by("pk")
    total = rows.count()
    last = max((total + PAGE_ROWS - 1) // PAGE_ROWS, 1)
    at = min(number(request, "page", 1, least=1) or 1, last)
    level, sentence = verdict(kept.counts, kept.topics)
    shown = [_row(row) for row in rows[(at - 1) * PAGE_ROWS : at * PAGE_ROWS]]
    context = {"kept": kept, "level": level if kept.looked_at else "unknown", "sentence": sentence, "rows": shown, "chosen": chosen}
    states = [(name, words, kept.counts.get(name, 0)) for name, (_, words) in STATES.items()]
    return show(request, "wanted", {**context, "states": states, "pages": pages(request, at, last, total)})


def _row(row: WantedDrift) -> dict[str, Any]:
    level, words = STATES[row.state]  # type: ignore[index]
    topic = row.object.removeprefix("topic/") if row.object.startswith("topic/") else ""
    return {**row.value, "level": level, "words": words, "topic": topic, "title": _title(row.object)}


@page("GET", "HEAD", "POST", role=OPERATOR, doing="mend", query=("object",))
def wanted_mend(request: Any) -> HttpResponse:
    """First what would be changed, as the cluster is at this moment; then, with the digest of that, the change."""
    name = (request.POST if request.method == "POST" else request.GET).get("object", "")[:300]
    actor_of(request).require(OPERATOR, "mend")
    if request.method != "POST":
        return _preview(request, name)
    try:
        _typed(request, name)
        found = mend(actor_of(request), request.cluster, name, seen=request.POST.get("seen", ""), confirm=True)
    except ERRORS as error:
        return _preview(request, name, error)
    said = "is as it is wanted already." if found.drift is None else "is mended." if not found.jobs else "is being mended."
    url = reverse("job", args=[found.jobs[-1]]) if found.jobs else reverse("wanted")
    return done(request, url, f"{_title(name)} {said}")


def _typed(request: Any, name: str) -> None:
    """What could lose data wants the name typed."""
    drift = preview_mend(request.cluster, name)
    if drift is not None and drift.risks and request.POST.get("confirm", "") != name.removeprefix("topic/"):
        raise Unconfirmed("confirm", f"Type {name.removeprefix('topic/')}: this could lose data.")


def _preview(request: Any, name: str, error: Exception | None = None) -> HttpResponse:
    status, refused = explain(error) if error else (200, None)
    try:
        drift = preview_mend(request.cluster, name)
    except Invalid as wrong:
        raise NotFound(str(wrong)) from wrong
    context = {"object": name, "title": _title(name), "name": name.removeprefix("topic/"), "drift": drift, "refused": refused}
    return show(request, "wanted_mend", context, status)


def _title(name: str) -> str:
    if name.startswith(QUOTA):
        return f"Quota of {in_words(name.removeprefix(QUOTA))}"
    return f"Topic {name.removeprefix('topic/')}" if name.startswith("topic/") else "The brokers' defaults"
