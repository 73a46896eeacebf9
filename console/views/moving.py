"""Moves that are under way, whoever began them: what others began becomes a job, or is cancelled."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from django.urls import reverse

from console.actions.reassignments import adopt_moves, adoption, cancel_moves, moves_under_way, plan_cancellation
from console.errors import Invalid
from console.jobs.reassignment import ASSIGNMENTS_LIMIT, of_pace
from console.roles import OPERATOR, actor_of
from console.rules.words import counted
from console.views.support import KNOWN, ask_first, done, is_confirmed, page, refused, show

ROWS_MAX = 1_000
RISKS_MAX = 20
CANCELLED_MEANS = "Replicas being added are dropped again, and each partition keeps those that it had."


@page()
def moving(request: Any) -> HttpResponse:
    """Asked of the controller as the page is opened."""
    return show(request, "moving", _context(request))


def _context(request: Any) -> dict[str, Any]:
    found = moves_under_way(request.cluster)
    shown = found[:ROWS_MAX]
    others = sum(move.job is None for move in found)
    return {"moves": shown, "more": len(found) - len(shown), "others": others, "most": ASSIGNMENTS_LIMIT}


def _named(request: Any) -> list[tuple[str, int]]:
    """The moves that are checked in the form, each as topic/partition."""
    found = [text.rpartition("/") for text in request.POST.getlist("move")]
    if not found:
        raise Invalid("move", "Check the moves that are meant.")
    if not all(topic and number.isascii() and number.isdigit() and len(number) < 11 for topic, _, number in found):
        raise Invalid("move", "A move is named by topic/partition.")
    return [(topic, int(number)) for topic, _, number in found]


@page("POST", role=OPERATOR, doing="take over moves")
def moving_adopt(request: Any) -> HttpResponse:
    try:
        moves = adoption(request.cluster, _named(request))
        job = adopt_moves(actor_of(request), request.cluster, moves, of_pace(request.POST))
    except KNOWN as error:
        return refused(request, "moving", _context(request), error, "moving")
    return done(request, reverse("job", args=[job.pk]), f"Job {job.pk} is queued.")


@page("POST", role=OPERATOR, doing="cancel moves")
def moving_cancel(request: Any) -> HttpResponse:
    """Asks back with what each partition would keep."""
    back = reverse("moving")
    try:
        places = _named(request)
        if not is_confirmed(request):
            moves = plan_cancellation(request.cluster, places)
            risks = [f"{one.topic}-{one.partition}: {_ids(one.adding)} dropped again." for one in moves[:RISKS_MAX]]
            more = [f"and {counted(len(moves) - RISKS_MAX, 'other move')}."] if len(moves) > RISKS_MAX else []
            return ask_first(
                request, f"Cancel {counted(len(moves), 'move')}?", [*risks, *more, CANCELLED_MEANS], button="Cancel them", back=back
            )
        ended = cancel_moves(actor_of(request), request.cluster, places)
    except KNOWN as error:
        return refused(request, "moving", _context(request), error, "moving")
    if wrong := [one for one in ended if one.error]:
        said = f"{wrong[0].topic}-{wrong[0].partition}: {wrong[0].error}"
        shown = {"title": f"{counted(len(wrong), 'move')} could not be cancelled", "detail": said, "field": ""}
        return show(request, "moving", {**_context(request), "form_error": shown}, 502)
    return done(request, back, f"{counted(len(ended), 'move')} cancelled.")


def _ids(brokers: list[int]) -> str:
    named = ", ".join(map(str, brokers))
    return f"the replica on broker {named} is" if len(brokers) == 1 else f"the replicas on brokers {named} are" if brokers else "nothing is"
