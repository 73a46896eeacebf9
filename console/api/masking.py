"""Rules that hide parts of records from roles."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from django.http import HttpResponse
from msgspec import Meta, Struct
from ninja import Router, Status
from pydantic import Field

from console import queries
from console.actions.masking import add_rule, remove_rule
from console.api.answers import Listed
from console.api.bearer import Bearer
from console.api.described import answers
from console.api.shapes import Strict
from console.models import MaskRule as Row
from console.roles import ADMIN
from console.rules.records.masking import Part

router = Router(tags=["records"])
ALL = "/clusters/{cluster_id}/mask-rules"


class MaskRule(Struct):
    """Hides a part of the records of these topics from roles below `below`; what is hidden cannot be searched for either."""

    id: int
    topics: str
    part: Part
    expression: Annotated[str, Meta(description="a JSONPath of a field, the name of a header, a pattern (RE2); else empty")]
    below: str
    created_by: str


class NewMaskRule(Strict):
    model_config = Strict.model_config | {
        "json_schema_extra": {"examples": [{"topics": "payments*", "part": "field", "expression": "$..card", "below": "admin"}]}
    }

    topics: Annotated[str, Field(min_length=1, max_length=249, description="* and ? stand for any characters")]
    part: Part
    expression: Annotated[str, Field(max_length=500)] = ""
    below: Literal["operator", "admin"]


def _value(row: Row) -> MaskRule:
    return MaskRule(row.pk, row.topics, row.part, row.expression, row.below, row.created_by)  # type: ignore[arg-type]  # as it was checked


@router.get(ALL, auth=Bearer(ADMIN, "read mask rules"))
@answers(Listed[MaskRule])
def rules(request: Any, cluster_id: str) -> Listed[MaskRule]:
    return Listed([_value(row) for row in Row.objects.filter(cluster=queries.cluster_of(cluster_id)).order_by("id")], None)


@router.post(ALL, auth=Bearer(ADMIN, "hide parts of records"), response={201: Any})
@answers(s201=MaskRule)
def add(request: Any, cluster_id: str, payload: NewMaskRule) -> Status[Any]:
    """Holds for every search from then on; results of earlier ones are not shown any more to those from whom something is hidden now."""
    return Status(201, _value(add_rule(request.auth, queries.cluster_of(cluster_id), **payload.dict())))


@router.delete(ALL + "/{rule_id}", auth=Bearer(ADMIN, "show parts of records again"), response={204: None})
@answers(s204=None)
def remove(request: Any, cluster_id: str, rule_id: int) -> HttpResponse:
    remove_rule(request.auth, queries.cluster_of(cluster_id), rule_id)
    return HttpResponse(status=204)
