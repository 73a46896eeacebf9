"""A cluster's wanted state: keep one, read the drift, mend an object."""

from __future__ import annotations

from typing import Any

import msgspec
from django.http import HttpResponse
from msgspec import Struct
from ninja import Router

from console import queries
from console.actions import wanted as actions
from console.api.answers import Listed
from console.api.bearer import Bearer
from console.api.described import answers, large
from console.api.shapes import Limit, Mending, listed, number_cursor
from console.api.wanted_answers import Counts, Mended, ToldDrift, WantedPlan, WantedSummary
from console.errors import Invalid
from console.models import WantedDrift, WantedState
from console.roles import OPERATOR
from console.wanted.model import Drift

router = Router(tags=["wanted state"])
PATH = "/clusters/{cluster_id}/wanted"
BODY_BYTES_MAX = 8_000_000
"""5 MB of text, with what JSON adds."""
PLANNED_SHOWN = 1_000
TEXT = {"type": "string"}
BODY = {
    "required": True,
    "content": {
        "application/json": {
            "schema": {
                "type": "object",
                "required": ["files"],
                "additionalProperties": False,
                "properties": {
                    "files": {"type": "object", "description": "YAML by its file's name, 5 MB together", "additionalProperties": TEXT},
                    "dry_run": {"type": "boolean", "default": False, "description": "Only tell what would be done"},
                },
            }
        }
    },
}


class Uploaded(Struct, forbid_unknown_fields=True):
    files: dict[str, str]
    dry_run: bool = False


@router.put(PATH, auth=Bearer(OPERATOR, "keep wanted state"), openapi_extra={"requestBody": BODY})
@large(BODY_BYTES_MAX)
@answers(WantedPlan)
def keep(request: Any, cluster_id: str) -> WantedPlan:
    """Keeps the files in place of those before, and tells what differs now; nothing else is changed. What is wrong with them is in
    `errors`, each with its file and line as the `field`."""
    cluster = queries.cluster_of(cluster_id)
    try:
        asked = msgspec.json.decode(request.body, type=Uploaded)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Invalid("files", f"The body is not as described: {error}.") from error
    drifts = actions.plan_wanted(cluster, asked.files) if asked.dry_run else actions.keep_wanted(request.auth, cluster, asked.files)
    return WantedPlan([_told(drift) for drift in drifts[:PLANNED_SHOWN]], len(drifts), not asked.dry_run)


def _told(drift: Drift) -> ToldDrift:
    return msgspec.convert(actions.told(drift), ToldDrift)


@router.get(PATH)
@answers(WantedSummary)
def summary(request: Any, cluster_id: str) -> WantedSummary:
    row = _state(cluster_id)
    said = {name: getattr(row, name) for name in ("topics", "uploaded_by", "uploaded_at", "looked_at", "error")}
    return WantedSummary(files=sorted(row.files), **said, counts=Counts(**row.counts))


def _state(cluster_id: str) -> WantedState:
    found = WantedState.objects.filter(cluster=queries.cluster_of(cluster_id)).first()
    if found is None:
        raise queries.NotFound(f"No wanted state is kept for {cluster_id}.")
    return found


@router.get(PATH + "/drift")
@answers(Listed[ToldDrift])
def drift(request: Any, cluster_id: str, limit: Limit = 100, cursor: str | None = None) -> Listed[ToldDrift]:
    """As it was last seen: what is wanted by name, then what nobody wants."""
    after = number_cursor(cursor)
    rows = list(WantedDrift.objects.filter(cluster=_state(cluster_id).cluster, pk__gt=after or 0).order_by("pk")[: limit + 1])
    page = listed([row.pk for row in rows], limit, str)
    return Listed([msgspec.convert(row.value, ToldDrift) for row in rows[: len(page.items)]], page.next)


@router.post(PATH + "/mend", auth=Bearer(OPERATOR, "mend"))
@answers(Mended)
def mend(request: Any, cluster_id: str, payload: Mending) -> Mended:
    """Makes one object as it is wanted. With `seen` 412 where it differs otherwise than was shown; without `confirm` what could lose
    data is refused. Brokers' defaults need the role admin."""
    cluster = queries.cluster_of(cluster_id)
    if payload.dry_run:
        found = actions.preview_mend(cluster, payload.object)
        return Mended(payload.object, _told(found) if found else None, [], True)
    done = actions.mend(request.auth, cluster, payload.object, seen=payload.seen, confirm=payload.confirm)
    return Mended(done.object, _told(done.drift) if done.drift else None, done.jobs, False)


@router.delete(PATH, auth=Bearer(OPERATOR, "forget wanted state"), response={204: None})
@answers(s204=None)
def forget(request: Any, cluster_id: str) -> HttpResponse:
    """The files and the drift; the cluster stays as it is."""
    _state(cluster_id)
    actions.forget_wanted(request.auth, queries.cluster_of(cluster_id))
    return HttpResponse(status=204)
