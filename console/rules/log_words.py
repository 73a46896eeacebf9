"""The way of a lookup through a log, a sentence a step. Pure."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import NamedTuple

from broker_core.contract.feed import LeaderEpoch
from broker_core.contract.log_look import LogLook, OffsetEntry, Step, TimeEntry, Trace
from console.rules.words import counted, size, whole


class Told(NamedTuple):
    """One step: what was done, and the index entries it was decided by, of which `chosen` (its number) was taken."""

    words: str
    offsets: tuple[OffsetEntry, ...] = ()
    times: tuple[TimeEntry, ...] = ()
    chosen: int = -1


class Checkpoint(NamedTuple):
    """A line of the table of checkpoint files."""

    file: str
    memory: str
    disk: str
    words: str


def at(ms: int) -> str:
    """A time as `2026-01-31 12:00:00.000`, UTC; clients may have written times that no calendar has."""
    try:
        return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S.") + f"{ms % 1000:03d}"
    except (OverflowError, ValueError, OSError):
        return f"{whole(ms)} ms"


def file_name(base_offset: int) -> str:
    return f"{base_offset:020d}.log"


def answer(look: LogLook, trace: Trace) -> str:
    """How the lookup ended."""
    if trace.outcome == "at_end":
        return f"Offset {whole(trace.offset or 0)} is the log’s end: nothing is there yet. A reader waits for it."
    if trace.outcome == "out_of_range":
        here = f"{whole(look.log_start_offset)} to {whole(look.log_end_offset)}"
        return (
            f"The log has offsets {here}, {whole(trace.offset or 0)} is not among them: a reader is told OFFSET_OUT_OF_RANGE and goes on "
            "where its auto.offset.reset says."
        )
    if trace.outcome == "nothing":
        return _nothing(trace)
    return f"{_found(trace)} {_readable(look, trace)}".strip()


def _nothing(trace: Trace) -> str:
    if trace.at_ms is None:
        return "No batch is left from there on: compaction took all that was below the log’s end."
    return f"No record is of {at(trace.at_ms)} or later: who asks is told of none, and a reader begins at the log’s end."


def _found(trace: Trace) -> str:
    batch = trace.steps[-1].batch
    assert batch is not None
    place = f"the batch at byte {whole(batch.position)} of {file_name(trace.steps[-1].segment)}"
    if trace.at_ms is not None:
        of = f" of {at(trace.record_at_ms)}" if trace.record_at_ms is not None else ""
        return f"The first record that is not older is offset {whole(trace.record_offset or 0)}{of}, in {place}."
    if batch.base_offset > (trace.offset or 0):
        return f"Offset {whole(trace.offset or 0)} is taken and has no record any more; a reader gets {place} instead."
    return f"Offset {whole(trace.offset or 0)} is in {place}."


def _readable(look: LogLook, trace: Trace) -> str:
    found = trace.record_offset if trace.at_ms is not None else trace.offset
    if found is None or found < look.last_stable_offset:
        return ""
    if found >= look.high_watermark:
        return f"It is not below the high watermark, {whole(look.high_watermark)}: consumers do not get it yet."
    return f"It is not below the last stable offset, {whole(look.last_stable_offset)}: readers of committed transactions do not get it yet."


def steps(trace: Trace) -> list[Told]:
    """From the first segment to the batch."""
    told = []
    if trace.segments_passed:
        many = counted(trace.segments_passed, "segment")
        told.append(
            Told(f"{many} passed over unread: the end of the time index says that no record is of {at(trace.at_ms or 0)} or later.")
        )
    for number, step in enumerate(trace.steps):
        told += _in_segment(trace, step, is_first=number == 0)
    return told


def _in_segment(trace: Trace, step: Step, *, is_first: bool) -> list[Told]:
    name = file_name(step.segment)
    if trace.at_ms is not None:
        first = [Told(f"Segment {name} is the {'first' if is_first else 'next'} that has a record as young."), _by_time(trace.at_ms, step)]
    elif is_first:
        first = [Told(f"Segment {name}: its base offset, {whole(step.segment)}, is the largest at or below {whole(step.wanted)}.")]
    else:
        first = [Told(f"There it is not, so the next segment is looked into: {name}.")]
    return [*first, _by_offset(step), _walk(step), *_batch(step)]


def _by_time(at_ms: int, step: Step) -> Told:
    entry = step.time_entry
    if entry is None:
        return Told(f"No entry of its time index is before {at(at_ms)}: the search begins with its first offset, {whole(step.wanted)}.")
    words = (
        f"Its time index: the last entry before {at(at_ms)} is number {whole(entry.number)}, which says that up to offset "
        f"{whole(entry.offset)} no record is younger than {at(entry.at_ms)}. The search begins there."
    )
    return Told(words, times=step.time_entries, chosen=entry.number)


def _by_offset(step: Step) -> Told:
    entry = step.entry
    if entry is None:
        words = f"No entry of its offset index is at or below {whole(step.wanted)}: the walk begins with the first byte of the file."
        return Told(words, step.entries)
    words = (
        f"Its offset index: the last entry at or below {whole(step.wanted)} is number {whole(entry.number)}, which says that the batch "
        f"that ends with offset {whole(entry.offset)} begins at byte {whole(entry.position)}."
    )
    return Told(words, step.entries, chosen=entry.number)


def _walk(step: Step) -> Told:
    if not step.batches_passed:
        return Told(f"The batch at byte {whole(step.position)} is it at once: nothing is walked over.")
    over = f"{counted(step.batches_passed, 'batch', 'batches')} ({size(step.bytes_passed)})"
    return Told(f"From byte {whole(step.position)} on {over} are walked over by their headers alone; no record is looked at.")


def _batch(step: Step) -> list[Told]:
    batch = step.batch
    if batch is None:
        return []
    offsets = f"offsets {whole(batch.base_offset)} to {whole(batch.last_offset)}"
    newest = "" if batch.largest_at_ms is None else f", its youngest record is of {at(batch.largest_at_ms)}"
    return [Told(f"The batch at byte {whole(batch.position)} has {offsets} in {size(batch.size_bytes)}{newest}: reading begins here.")]


def checkpoints(look: LogLook) -> list[Checkpoint]:
    """What each file says of this log beside what is true by now, and what the next start makes of it."""
    known = look.checkpoints
    epochs = "Which leader epoch began where (epoch: first offset): by it is decided what a follower cuts off."
    if known.epochs_total > len(known.epochs):
        epochs += f" The newest {len(known.epochs)} of {whole(known.epochs_total)} are shown."
    return [
        Checkpoint(
            "recovery-point-offset-checkpoint",
            whole(known.recovery_point),
            _written(known.recovery_point_written),
            "What is below it has been flushed; after a crash the segments from it on are checked batch by batch.",
        ),
        Checkpoint(
            "replication-offset-checkpoint",
            whole(look.high_watermark),
            _written(known.high_watermark_written),
            "The high watermark with which a replica begins, until its leader tells it a newer one.",
        ),
        Checkpoint(
            "log-start-offset-checkpoint",
            whole(look.log_start_offset),
            _written(known.log_start_written),
            "Named only where the log begins within its first segment, as after a deletion of records.",
        ),
        Checkpoint("leader-epoch-checkpoint", _epochs(known.epochs), _epochs(known.epochs_written), epochs),
    ]


def _written(offset: int | None) -> str:
    return "not named" if offset is None else whole(offset)


def _epochs(epochs: tuple[LeaderEpoch, ...] | None) -> str:
    return "no file" if epochs is None else ", ".join(f"{one.epoch}: {whole(one.start_offset)}" for one in epochs) or "none"
