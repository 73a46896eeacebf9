"""Who wrote a record, as its batch says: a producer, within a transaction or not; or a coordinator, to end one. Pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Annotated, Literal

from msgspec import Meta, Struct
from msgspec.structs import replace

Marker = Literal["commit", "abort", "other"]
Outcome = Literal["committed", "aborted"]
Aborted = tuple[int, int]
"""A producer, and where its aborted transaction begins in a partition."""
SEQUENCES = 2**31
"""After the last comes 0 again (KIP-98)."""


class Batch(Struct, frozen=True, kw_only=True):
    """What its header says; offsets `base_offset` to `last_offset` belong to it, whether compaction left them or not."""

    base_offset: int
    last_offset: int
    timestamp_ms: int | None
    records: int
    producer_id: int | None = None
    producer_epoch: int | None = None
    base_sequence: int | None = None
    transactional: bool = False
    outcome: Outcome | None = None
    control: Marker | None = None

    def left_out(self, first: int, until: int) -> int:
        """How many of its records from `first` to `until` (exclusive) no reader of committed records is given."""
        inside = min(self.last_offset + 1, until) - max(self.base_offset, first)
        return min(self.records, inside) if self.outcome == "aborted" and self.control is None else 0


class Origin(Struct, frozen=True, kw_only=True):
    """Of a record. Without a `producer_id` its producer was not idempotent."""

    base_offset: Annotated[int, Meta(description="where its batch begins")]
    last_offset: int
    producer_id: int | None
    producer_epoch: int | None
    sequence: int | None
    transactional: bool
    outcome: Annotated[Outcome | None, Meta(description="of its transaction; null where it has none, or while that is not decided")]
    control: Annotated[Marker | None, Meta(description="the record ends a transaction of that producer")]
    sentence: str


def origin_of(batch: Batch, offset: int) -> Origin:
    sequence = None if batch.base_sequence is None else (batch.base_sequence + offset - batch.base_offset) % SEQUENCES
    return Origin(
        base_offset=batch.base_offset,
        last_offset=batch.last_offset,
        producer_id=batch.producer_id,
        producer_epoch=batch.producer_epoch,
        sequence=sequence,
        transactional=batch.transactional,
        outcome=batch.outcome,
        control=batch.control,
        sentence=_sentence(batch, sequence),
    )


_OUTCOMES: dict[Outcome | None, str] = {None: "", "committed": " that was committed", "aborted": " that was aborted"}
_ENDS: dict[Marker, str] = {
    "commit": "Control record: commits the transaction",
    "abort": "Control record: aborts the transaction",
    "other": "Control record of an unknown kind",
}


def _sentence(batch: Batch, sequence: int | None) -> str:
    if batch.producer_id is None:
        return "No producer id: not idempotent."
    who = f"producer {batch.producer_id}, epoch {batch.producer_epoch}"
    if batch.control is not None:
        return f"{_ENDS[batch.control]} of {who}."
    counted = "" if sequence is None else f", sequence {sequence}"
    within = f", in a transaction{_OUTCOMES[batch.outcome]}" if batch.transactional else ""
    return f"{who[0].upper()}{who[1:]}{counted}{within}."


def with_outcomes(batches: Sequence[Batch], aborted: Iterable[Aborted]) -> list[Batch]:
    """All of one answer to a reader of committed records, which is given no batch from the first open transaction on. As KIP-98 has it, a
    producer's records from the first offset of an aborted transaction up to its marker are aborted."""
    waiting = deque(sorted(aborted, key=lambda one: one[1]))
    ending: set[int] = set()
    found = []
    for batch in batches:
        while waiting and waiting[0][1] <= batch.last_offset:
            ending.add(waiting.popleft()[0])
        if not batch.transactional:
            found.append(batch)
            continue
        found.append(replace(batch, outcome="aborted" if batch.producer_id in ending else "committed"))
        if batch.control == "abort":
            ending.discard(batch.producer_id or 0)
    return found
