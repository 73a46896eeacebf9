"""Copying a range of a topic's records to another topic: what waits in a dead-letter topic goes back where it belongs, for one."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError

from console.errors import Invalid
from console.jobs.kind import Id, JobKind, Name, Parameters
from console.rules.records.query import OFFSET_MAX, TEXT_CHARS_MAX, Query, WrongQuery, check

PARTITIONS_MAX = 500
INTERNAL = ("__consumer_offsets", "__transaction_state")
Text = Annotated[str, Field(max_length=TEXT_CHARS_MAX)]
Offset = Annotated[int, Field(strict=True, ge=0, le=OFFSET_MAX)]


class CopyFilter(Parameters):
    """Which records of the range, as a search has it; `time` and `until` are ISO, UTC."""

    time: Text = ""
    until: Text = ""
    text: Text = ""
    regex: bool = False
    case: bool = True
    where: Literal["any", "key", "value"] = "any"
    header: Text = ""
    path: Text = ""
    equals: Text = ""


class CopyParameters(Parameters):
    """Of a copy of records: from `from_offset` (else the beginning) to `to_offset` (exclusive; else the end as it is when the copy begins)
    of each partition that is named, or of all."""

    source: Name | None = None
    target: Name | None = None
    partitions: list[Id] | None = Field(default=None, min_length=1, max_length=PARTITIONS_MAX)
    from_offset: Offset | None = None
    to_offset: Offset | None = None
    filter: CopyFilter | None = None
    keep_partition: Annotated[bool, Field(strict=True, description="Of a copy: to the partition of the same number")] | None = None
    mark: Annotated[bool, Field(strict=True, description="Of a copy: each record gets a header that says where it came from")] | None = None


class RecordCopy(JobKind):
    """One at a time: a copy keeps a worker busy."""

    name = "record_copy"
    cancel_means = "What has been copied stays in the target topic; the rest is not copied."
    parameters = CopyParameters

    def checked(self, params: Mapping[str, Any]) -> dict[str, Any]:
        try:
            asked = CopyParameters(**params)
        except ValidationError as error:
            first = error.errors()[0]
            raise Invalid(".".join(map(str, first["loc"])), first["msg"]) from error
        if not asked.source:
            raise Invalid("source", "Name the topic to copy from.")
        if not asked.target:
            raise Invalid("target", "Name the topic to copy to.")
        if asked.target in INTERNAL:
            raise Invalid("target", f"{asked.target} is an internal topic: copied records would harm groups or transactions.")
        if asked.source == asked.target:
            raise Invalid("target", "A topic is not copied to itself: its end would never be reached.")
        if None not in (asked.from_offset, asked.to_offset) and (asked.to_offset or 0) <= (asked.from_offset or 0):
            raise Invalid("to_offset", "The range ends where it begins, or before: give a higher offset.")
        query_of(asked.filter)
        numbers = None if asked.partitions is None else sorted(set(asked.partitions))
        return {
            "source": asked.source,
            "target": asked.target,
            "partitions": numbers,
            "from_offset": asked.from_offset,
            "to_offset": asked.to_offset,
            "filter": asked.filter.model_dump() if asked.filter else None,
            "keep_partition": bool(asked.keep_partition),
            "mark": asked.mark is not False,
        }

    def parted(self, params: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """What is searched for may be what a rule hides from others who see the job."""
        return {**params, "filter": None, "is_filtered": params["filter"] is not None}, {"filter": params["filter"]}

    def topics(self, params: Mapping[str, Any]) -> Collection[str]:
        return (params["source"], params["target"])

    def reads(self, params: Mapping[str, Any]) -> tuple[str, str]:
        return params["source"], params["target"]

    def absent(self, params: Mapping[str, Any], sizes: Mapping[str, int], online: Collection[int]) -> Invalid | None:
        source, target = params["source"], params["target"]
        for field, name in (("source", source), ("target", target)):
            if name not in sizes:
                return Invalid(field, f"There is no topic {name}.")
        wrong = [number for number in params["partitions"] or () if number >= sizes[source]]
        if wrong:
            return Invalid("partitions", f"{source} has no partition {wrong[0]}: it has 0 to {sizes[source] - 1}.")
        if params["keep_partition"] and sizes[source] != sizes[target]:
            said = f"{source} has {sizes[source]} partitions and {target} {sizes[target]}: the number of a partition can only be kept"
            return Invalid("keep_partition", f"{said} where these are as many.")
        return None

    def clash(self, params: Mapping[str, Any], other: int, state: str, theirs: Mapping[str, Any]) -> str:
        return f"Job {other} copies records and is {state}: one copy runs at a time."


def query_of(asked: CopyFilter | None) -> Query:
    """The filter as a search from the oldest on; `Invalid` names what of it cannot be."""
    try:
        return check(Query(start="oldest", **(asked.model_dump() if asked else {})))
    except WrongQuery as error:
        raise Invalid(f"filter.{error.field}", str(error)) from error
