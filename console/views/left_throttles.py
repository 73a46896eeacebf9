"""Throttles that are set in the cluster, and the end of those that were left behind."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from django.urls import reverse

from console.actions.left_throttles import CLEARED_MAX, clear_left, throttles_set
from console.roles import OPERATOR, actor_of
from console.rules.words import counted
from console.views.support import KNOWN, ask_first, done, explain, is_confirmed, page, show


@page()
def left_throttles(request: Any) -> HttpResponse:
    """Asked of the brokers as the page is opened."""
    return show(request, "left_throttles", _context(request))


def _context(request: Any) -> dict[str, Any]:
    found = throttles_set(request.cluster)
    return {"throttles": found, "left": sum(one.in_use is None for one in found), "most": CLEARED_MAX}


@page("POST", role=OPERATOR, doing="clear throttles left behind")
def left_throttles_clear(request: Any) -> HttpResponse:
    """Asks back with the old values; then takes back what nothing uses at that moment."""
    back = reverse("left_throttles")
    if not is_confirmed(request):
        left = [one for one in throttles_set(request.cluster) if one.in_use is None][:CLEARED_MAX]
        risks = [f"{one.kind} {one.name}: {name} is {value}." for one in left for name, value in one.settings.items()]
        risks.append("These are taken back. What another tool is about to move is then copied as fast as it goes.")
        return ask_first(request, "Clear the throttles left behind?", risks, button="Clear them", back=back)
    try:
        cleared = clear_left(actor_of(request), request.cluster)
    except KNOWN as error:
        status, shown = explain(error)
        return show(request, "left_throttles", {"throttles": [], "left": 0, "form_error": shown}, status)
    wrong = [one for one in cleared if one.error]
    if wrong:
        said = f"{wrong[0].kind} {wrong[0].name} keeps its throttle: {wrong[0].error}"
        shown = {"title": f"{counted(len(wrong), 'throttle')} could not be cleared", "detail": said, "field": ""}
        return show(request, "left_throttles", {**_context(request), "form_error": shown}, 502)
    named = ", ".join(f"{one.kind} {one.name}" for one in cleared[:10])
    more = f" and {len(cleared) - 10} more" if len(cleared) > 10 else ""
    return done(request, back, f"Cleared: {named}{more}." if cleared else "There was nothing to clear.")
