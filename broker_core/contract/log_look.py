"""How one replica's log lies on its broker's disk, and the way of a lookup through it as the broker does it (`telemetry/log_look.py`).

Offsets and positions are absolute; positions and sizes are bytes of a segment's log file; times are ms since 1970.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from broker_core.contract.feed import LeaderEpoch

Offset = int | None
Outcome = Literal["found", "at_end", "out_of_range", "nothing"]


class Segment(Struct, frozen=True, gc=False):
    """One segment of the log; the last one is active: what is produced goes there."""

    base_offset: int
    end_offset: Annotated[int, Meta(description="where the next segment begins, or the log ends")]
    size_bytes: int
    offset_entries: int
    time_entries: int
    largest_at_ms: Annotated[Offset, Meta(description="the largest timestamp in it; null where its records have none")]
    active: bool


class OffsetEntry(Struct, frozen=True, gc=False):
    """Entry `number` (from 0) of a `.index`: the batch that ends with `offset` begins at `position`."""

    number: int
    offset: int
    position: int


class TimeEntry(Struct, frozen=True, gc=False):
    """Entry `number` of a `.timeindex`: up to `offset` no record is younger than `at_ms`."""

    number: int
    at_ms: int
    offset: int


class Batch(Struct, frozen=True, gc=False):
    """Records that were appended as one."""

    base_offset: int
    last_offset: int
    position: int
    size_bytes: int
    largest_at_ms: Offset


class Step(Struct, frozen=True, kw_only=True):
    """What was done in one segment. A search by time first asks the time index for an offset, then goes on as one for that offset."""

    segment: int
    time_entry: Annotated[TimeEntry | None, Meta(description="the last entry before the time; null by offset, or where none is")] = None
    time_entries: Annotated[tuple[TimeEntry, ...], Meta(description="that entry and its neighbours")] = ()
    wanted: Annotated[int, Meta(description="the offset that the offset index is asked for")]
    entry: Annotated[OffsetEntry | None, Meta(description="the last entry at or below it; null: the walk begins at the file's start")]
    entries: Annotated[tuple[OffsetEntry, ...], Meta(description="that entry and its neighbours")]
    position: Annotated[int, Meta(description="where the walk over the batches' headers begins")]
    batches_passed: int
    bytes_passed: Annotated[int, Meta(description="of the batches walked over before the one that was found")]
    batch: Annotated[Batch | None, Meta(description="the one that was found; null where the segment has none")]


class Trace(Struct, frozen=True, kw_only=True):
    """The way of one lookup. `found`: in the batch of the last step; `at_end`: the log ends there; `out_of_range`: the log begins later or
    ends earlier; `nothing`: no record is so young, or none is left there."""

    offset: Annotated[Offset, Meta(description="what was looked for, or null")]
    at_ms: Annotated[int | None, Meta(description="what was looked for, or null")]
    outcome: Outcome
    segments_passed: Annotated[int, Meta(description="by time: segments that were passed over, since the end of their time index is older")]
    steps: Annotated[tuple[Step, ...], Meta(description="in the segments that were looked into; the last ten of them")]
    record_offset: Annotated[Offset, Meta(description="the first record that is not older than the time, by time")]
    record_at_ms: int | None


class Checkpoints(Struct, frozen=True, kw_only=True):
    """What files say of this log, and with that the next start would begin; null where they do not name it (yet)."""

    recovery_point: Annotated[int, Meta(description="what is below it is flushed; in memory")]
    recovery_point_written: Annotated[Offset, Meta(description="in recovery-point-offset-checkpoint")]
    high_watermark_written: Annotated[Offset, Meta(description="in replication-offset-checkpoint")]
    log_start_written: Annotated[Offset, Meta(description="in log-start-offset-checkpoint")]
    epochs: Annotated[tuple[LeaderEpoch, ...], Meta(description="the newest epochs of the log, in memory")]
    epochs_total: int
    epochs_written: Annotated[tuple[LeaderEpoch, ...] | None, Meta(description="the newest of leader-epoch-checkpoint; null: no file")]


class Producer(Struct, frozen=True, gc=False):
    """A producer as this log knows it."""

    producer_id: int
    epoch: int
    last_sequence: Annotated[Offset, Meta(description="of its last record; null where only markers were written")]
    last_offset: Offset
    last_at_ms: int | None
    txn_first_offset: Annotated[Offset, Meta(description="where its open transaction begins; null without one")]


class LogLook(Struct, frozen=True, kw_only=True):
    """All that was asked of one replica's log, as it was at `at_ms`."""

    broker_id: int
    broker_epoch: int
    at_ms: int
    topic: str
    partition: int
    role: str
    leader_epoch: int
    folder: str
    log_start_offset: int
    last_stable_offset: int
    high_watermark: int
    log_end_offset: int
    first_unstable_offset: Annotated[Offset, Meta(description="where the oldest transaction that is not over begins")]
    segments: Annotated[tuple[Segment, ...], Meta(description="the newest first, a page of them")]
    segments_total: int
    size_bytes: int
    older: Annotated[Offset, Meta(description="`before` of the next page; null on the last")]
    checkpoints: Checkpoints
    producers: Annotated[tuple[Producer, ...], Meta(description="those in a transaction first, then whoever wrote last")]
    producers_total: int
    trace: Trace | None


class Look(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The question: of `offset` or `at_ms` a lookup is traced; segments are told from the newest below `before` down."""

    topic: str
    partition: int
    offset: int | None = None
    at_ms: int | None = None
    before: int | None = None


class LookAnswer(Struct, frozen=True):
    """Either of them."""

    look: LogLook | None = None
    error: int = 0
    message: str = ""
