"""A cluster's wanted state: keep one, read the drift, mend an object."""

from __future__ import annotations

from itertools import islice
from typing import Annotated, Any

import msgspec
from django.http import HttpResponse
from msgspec import Struct
from ninja import Router
from pydantic import Field

from console import queries
from console.actions import wanted as actions
from console.api.answers import Listed
from console.api.bearer import Bearer
from console.api.described import answers, large
from console.api.shapes import Limit, Mending, listed, number_cursor
from console.api.wanted_answers import Counts, Mended, WantedPlan, WantedSummary
from console.errors import Invalid
from console.models import WantedDrift, WantedState
from console.roles import OPERATOR
from console.wanted.model import Drift, ToldDrift
from console.wanted.planning import place_of

router = Router(tags=["wanted state"])
PATH = "/clusters/{cluster_id}/wanted"
BODY_BYTES_MAX = 8_000_000
"""5 MB of text, with what JSON adds."""
Planned = Annotated[int, Field(ge=1, le=5_000)]
TEXT = {"type": "string"}
BODY = {
    "required": True,
    "content": {
        "application/json": {
            "schema": {
                "type": "object",
                "required": ["files"],
                "additionalProperties": False,
                "examples": [{"files": {"orders.yaml": "topics:\n  orders:\n    partitions: 6\n"}, "dry_run": True}],
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
def keep(request: Any, cluster_id: str, limit: Planned = 1_000, cursor: str | None = None) -> WantedPlan:
    """Keeps the files in place of those before, and tells what differs now; nothing else is changed. What is wrong with them is in
    `errors`, each with its file and line as the `field`. A page after the first is of the plan as it is when it is asked for."""
    after = _read_cursor(cursor)
    cluster = queries.cluster_of(cluster_id)
    try:
        asked = msgspec.json.decode(request.body, type=Uploaded)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Invalid("files", f"The body is not as described: {error}.") from error
    drifts = actions.plan_wanted(cluster, asked.files) if asked.dry_run else actions.keep_wanted(request.auth, cluster, asked.files)
    page = list(islice((drift for drift in drifts if after is None or place_of(drift) > after), limit + 1))
    more = _write_cursor(page[limit - 1]) if len(page) > limit else None
    counts = Counts(**actions.counts_of(drifts))
    at_risk = sum(bool(drift.risks and drift.steps) for drift in drifts)
    return WantedPlan([_told(drift) for drift in page[:limit]], more, len(drifts), counts, at_risk, not asked.dry_run)


def _write_cursor(drift: Drift) -> str:
    return queries.cursor("{} {}".format(*place_of(drift)))


def _read_cursor(text: str | None) -> tuple[int, str] | None:
    if text is None:
        return None
    rank, _, name = queries.read_cursor(text).partition(" ")
    if rank not in ("0", "1", "2", "3"):
        raise queries.BadCursor
    return int(rank), name


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
    data is refused. Brokers' defaults and quotas need the role admin."""
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
