"""What a copy of records would read and write, and what is to be known before it begins; in words. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from msgspec import Meta, Struct

from console.rules.words import counted

ONCE = (
    "Should a worker die, what it had copied is found in the target by its marks, and no record is written twice; only a process that "
    "stood still for longer than half a minute and then goes on could write one again."
)
AT_LEAST_ONCE = "Without marks the copy is at least once: should a worker die, up to some thousand records are written twice."


class Range(Struct, frozen=True):
    """The offsets `first` to `last` (exclusive) of a partition of the source."""

    partition: int
    first: int
    last: int

    @property
    def offsets(self) -> int:
        return self.last - self.first


class CopyPlan(Struct, frozen=True, kw_only=True):
    source: str
    target: str
    partitions: list[Range]
    offsets: Annotated[int, Meta(description="that are read; a filter, compaction and aborted transactions make the records fewer")]
    is_filtered: bool
    notes: list[str]


def range_of(partition: int, log: tuple[int, int], wanted: tuple[int | None, int | None], since: int | None) -> Range:
    """What of a `log` from its first offset to its end is wanted; `since` is the first offset that is not older than the range of time."""
    (first, last), (begin, end) = log, wanted
    high = last if end is None else min(last, max(end, first))
    return Range(partition, min(max(first, begin or 0, since or 0), high), high)


def notes(params: Mapping[str, Any], sizes: Mapping[str, int], settings: Mapping[str, str], shown: str) -> list[str]:
    """`settings` are the target's, `shown` what a rule hides of the source and not of the target."""
    said = [_filtered(params)] if params.get("filter") else []
    said.append(_placed(params, sizes))
    kept = "Keys, values and headers stay as they are"
    if settings.get("message.timestamp.type") == "LogAppendTime":
        said.append(f"{kept}; times do not: {params['target']} takes the time at which a record is appended.")
    else:
        said.append(f"{kept}, and so do times: records older than the target keeps them may be deleted soon after.")
    if "compact" in settings.get("cleanup.policy", ""):
        said.append(f"{params['target']} is compacted: it refuses records without a key, and the first of them ends the copy.")
    if params["mark"]:
        said.append(f"Each record gets a header highwater-copied-from with its topic, partition and offset. {ONCE}")
    else:
        said.append(AT_LEAST_ONCE)
    return [*said, shown] if shown else said


def _filtered(params: Mapping[str, Any]) -> str:
    return "Only records that the filter wants are copied: how many these are is known when they have been read."


def _placed(params: Mapping[str, Any], sizes: Mapping[str, int]) -> str:
    target = params["target"]
    if params["keep_partition"]:
        return f"Each record goes to the partition of {target} that has the number of its own."
    few = counted(sizes[target], "partition")
    return f"The key says which of the {few} of {target} a record goes to, as with Kafka’s own client; records without one go to any."


def sentence(plan: CopyPlan) -> str:
    touched = sum(row.offsets > 0 for row in plan.partitions)
    return (
        f"{counted(plan.offsets, 'offset')} of {counted(touched, 'partition')} of {plan.source} are read, at most as many records written."
    )
