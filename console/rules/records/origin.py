"""Who wrote a record, as its batch says: a producer, within a transaction or not; or a coordinator, to end one. Pure."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

Marker = Literal["commit", "abort", "other"]
SEQUENCES = 2**31
"""After the last comes 0 again (KIP-98)."""


class Batch(Struct, frozen=True, kw_only=True):
    """What its header says; offsets `base_offset` to `last_offset` belong to it, whether compaction left them or not."""

    base_offset: int
    last_offset: int
    timestamp_ms: int | None
    producer_id: int | None = None
    producer_epoch: int | None = None
    base_sequence: int | None = None
    transactional: bool = False
    control: Marker | None = None


class Origin(Struct, frozen=True, kw_only=True):
    """Of a record. Without a `producer_id` its producer was not idempotent."""

    base_offset: Annotated[int, Meta(description="where its batch begins")]
    last_offset: int
    producer_id: int | None
    producer_epoch: int | None
    sequence: int | None
    transactional: bool
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
        control=batch.control,
        sentence=_sentence(batch, sequence),
    )


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
    return f"{who[0].upper()}{who[1:]}{counted}{', in a transaction' if batch.transactional else ''}."
