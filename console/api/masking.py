"""Rules that hide parts of records from roles."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from django.http import HttpResponse
from msgspec import Meta, Struct
from ninja import Router, Status
from pydantic import Field

from console import queries
from console.actions.mask_preview import PASTED_BYTES_MAX, Asked, Trial, preview
from console.actions.masking import add_rule, change_rule, check_parts, remove_rule
from console.api.answers import Listed
from console.api.bearer import Bearer
from console.api.described import answers
from console.api.shapes import Offset, Strict
from console.errors import Invalid
from console.jobs.kind import Id, Name
from console.models import MaskRule as Row
from console.roles import ADMIN
from console.rules.records.masking import Part, Rule
from console.rules.records.progress import Found
from console.rules.records.writing import NewRecord, WrongRecord, raw_of

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


class MaskPreview(Strict):
    """A record (`key`, `value`, `headers`: text), or `partition` and `offset` of a real one; `rule` is tried beside those that are kept."""

    model_config = Strict.model_config | {
        "json_schema_extra": {
            "examples": [
                {
                    "topic": "payments",
                    "role": "viewer",
                    "value": '{"order": 7, "card": "4111"}',
                    "rule": {"topics": "payments*", "part": "field", "expression": "$..card", "below": "admin"},
                }
            ]
        }
    }

    topic: Name
    role: Literal["viewer", "operator", "admin"] = "viewer"
    key: Annotated[str | None, Field(max_length=PASTED_BYTES_MAX)] = None
    value: Annotated[str | None, Field(max_length=PASTED_BYTES_MAX)] = None
    headers: Annotated[dict[str, str | None], Field(max_length=100)] = Field(default_factory=dict)
    partition: Id | None = None
    offset: Offset | None = None
    rule: NewMaskRule | None = None
    instead_of: Annotated[int | None, Field(ge=1, lt=2**31, description="the kept rule that `rule` would take the place of")] = None


class MaskPreviewed(Struct):
    """The record as the role sees it; `rules` were applied."""

    record: Found
    rules: list[Rule]


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


@router.put(ALL + "/{int:rule_id}", auth=Bearer(ADMIN, "change what is hidden"))
@answers(MaskRule)
def change(request: Any, cluster_id: str, rule_id: int, payload: NewMaskRule) -> MaskRule:
    """In the place of what the rule was."""
    return _value(change_rule(request.auth, queries.cluster_of(cluster_id), rule_id, **payload.dict()))


@router.post(ALL + "/preview", auth=Bearer(ADMIN, "preview what is hidden"))
@answers(MaskPreviewed)
def look(request: Any, cluster_id: str, payload: MaskPreview) -> MaskPreviewed:
    """How a pasted or a real record looks to a role, by the process that reads records; nothing is kept."""
    cluster = queries.cluster_of(cluster_id)
    seen = preview(request.auth, cluster, _asked(payload), _trial(payload))
    return MaskPreviewed(seen.record, list(seen.rules))


def _asked(payload: MaskPreview) -> Asked:
    if payload.partition is not None and payload.offset is not None:
        return Asked(payload.topic, payload.role, place=(payload.partition, payload.offset))
    try:
        raw = raw_of([NewRecord(key=payload.key, value=payload.value, headers=payload.headers)], None)[0]
    except WrongRecord as error:
        raise Invalid(error.field, str(error)) from error
    return Asked(payload.topic, payload.role, pasted=raw)


def _trial(payload: MaskPreview) -> Trial | None:
    if payload.rule is None:
        return None
    rule = check_parts(**payload.rule.dict())
    return Trial(payload.rule.topics, rule, payload.rule.below, payload.instead_of)


@router.delete(ALL + "/{int:rule_id}", auth=Bearer(ADMIN, "show parts of records again"), response={204: None})
@answers(s204=None)
def remove(request: Any, cluster_id: str, rule_id: int) -> HttpResponse:
    remove_rule(request.auth, queries.cluster_of(cluster_id), rule_id)
    return HttpResponse(status=204)
