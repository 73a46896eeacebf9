"""Alerts, and silences of them."""

from __future__ import annotations

from typing import Annotated, Any

from django.http import HttpResponse
from ninja import Router, Status
from pydantic import Field

from console import queries
from console.actions.alerts import SILENCE_MINUTES_MAX, TARGET_MAX, WHY_MAX, end_silence, silence
from console.alert_values import (
    AlertSeen,
    SilenceSeen,
    alerts_of,
    rule_or_fail,
    silence_or_fail,
    silence_value,
    silences_of,
)
from console.api.answers import Listed
from console.api.bearer import Bearer
from console.api.described import answers
from console.api.shapes import Strict, example
from console.roles import OPERATOR

router = Router(tags=["alerts"])
ALERTS = "/clusters/{cluster_id}/alerts"
SILENCES = "/clusters/{cluster_id}/alert-silences"


class NewSilence(Strict):
    model_config = example(minutes=60, why="A new disk.", target="2")

    minutes: Annotated[int, Field(strict=True, ge=1, le=SILENCE_MINUTES_MAX)]
    why: Annotated[str, Field(min_length=1, max_length=WHY_MAX)]
    rule: Annotated[int | None, Field(description="its id; null: all rules")] = None
    target: Annotated[str, Field(max_length=TARGET_MAX, description="a broker's id or a group; empty: everywhere")] = ""


@router.get(ALERTS)
@answers(Listed[AlertSeen])
def alerts(request: Any, cluster_id: str) -> Listed[AlertSeen]:
    """What fires, the worst first, what is pending, and the last 50 that are over; of what is open 200 at most."""
    return Listed(alerts_of(queries.cluster_of(cluster_id))[0], None)


@router.get(SILENCES)
@answers(Listed[SilenceSeen])
def silences(request: Any, cluster_id: str) -> Listed[SilenceSeen]:
    """Those that last still; a cluster has 200 at most."""
    return Listed(silences_of(queries.cluster_of(cluster_id)), None)


@router.post(SILENCES, auth=Bearer(OPERATOR, "silence alerts"), response={201: Any})
@answers(s201=SilenceSeen)
def create(request: Any, cluster_id: str, payload: NewSilence) -> Status[Any]:
    """From now on; what fires still when it ends is told then."""
    cluster = queries.cluster_of(cluster_id)
    rule = None if payload.rule is None else rule_or_fail(cluster, payload.rule)
    made = silence(request.auth, cluster, rule=rule, target=payload.target, minutes=payload.minutes, why=payload.why)
    return Status(201, silence_value(made))


@router.delete(SILENCES + "/{int:silence_id}", auth=Bearer(OPERATOR, "end a silence"), response={204: None})
@answers(s204=None)
def end(request: Any, cluster_id: str, silence_id: int) -> HttpResponse:
    """What fires is told at the next look."""
    end_silence(request.auth, silence_or_fail(queries.cluster_of(cluster_id), silence_id))
    return HttpResponse(status=204)
