"""Looks at one replica's log: its segments and indexes, what checkpoints say of it, its producers, and the way of one lookup.

The lookup is the broker's own, watched (`storage/trail.py`). All is bounded, and done in slices, as requests by time are: others are
served meanwhile, so a segment may go between two of them; it is left out then.
"""

from __future__ import annotations

import heapq
from itertools import islice, starmap

from broker_core.contract import log_look as told
from broker_core.contract.feed import LeaderEpoch
from broker_core.errors import CorruptData, ErrorCode, KafkaError
from broker_core.records.budget import Budget, TimeSpent
from broker_core.records.steps import Steps
from broker_core.storage.log import PartitionLog
from broker_core.storage.producer_state import ProducerStateEntry
from broker_core.storage.segments.batch_scan import Span
from broker_core.storage.segments.log_segments import LogSegments
from broker_core.storage.segments.segment import Segment
from broker_core.storage.trail import Trail, Visit

SEGMENTS_MAX = 50
EPOCHS_MAX = 50
EPOCHS_FILE_BYTES_MAX = 256 * 1024
PRODUCERS_MAX = 50
PRODUCERS_LOOKED_AT_MAX = 20_000


def trace(log: PartitionLog, asked: told.Look, budget: Budget) -> Steps[told.Trace | None]:
    """The lookup that was asked for, if any; `KafkaError` when the log cannot be read, or not in time."""
    try:
        if asked.offset is not None:
            return (yield from _by_offset(log, asked.offset))
        if asked.at_ms is not None:
            return (yield from _by_time(log, asked.at_ms, budget))
    except TimeSpent as error:
        raise KafkaError(ErrorCode.REQUEST_TIMED_OUT, "the lookup took longer than a request may take") from error
    return None


def _by_offset(log: PartitionLog, offset: int) -> Steps[told.Trace]:
    if not log.local_log_start_offset <= offset <= log.log_end_offset:
        return _traced("out_of_range", offset=offset)
    if offset == log.log_end_offset:
        return _traced("at_end", offset=offset)
    trail = Trail()
    span = yield from log.reader.trace(offset, trail)
    return _traced("nothing" if span is None else "found", trail, offset=offset)


def _by_time(log: PartitionLog, at_ms: int, budget: Budget) -> Steps[told.Trace]:
    trail = Trail()
    found = yield from log.reader.find_timestamp(at_ms, log.log_start_offset, budget, trail)
    if found is None:
        return _traced("nothing", trail, at_ms=at_ms)
    return _traced("found", trail, at_ms=at_ms, record_offset=found.offset, record_at_ms=found.timestamp)


def _traced(outcome: told.Outcome, trail: Trail | None = None, **known: int) -> told.Trace:
    visits, passed = (trail.visits, trail.segments_passed) if trail else ((), 0)
    blank: dict[str, int | None] = dict.fromkeys(("offset", "at_ms", "record_offset", "record_at_ms"))
    return told.Trace(outcome=outcome, segments_passed=passed, steps=tuple(map(_step, visits)), **blank | known)


def _step(visit: Visit) -> told.Step:
    segment, way = visit.segment, visit.way
    times = tuple(starmap(told.TimeEntry, segment.time_index.around(way.time_entry))) if way.time_entry >= 0 else ()
    offsets = tuple(starmap(told.OffsetEntry, segment.offset_index.around(way.offset_entry)))
    return told.Step(
        segment=segment.base_offset,
        time_entry=next((entry for entry in times if entry.number == way.time_entry), None),
        time_entries=times,
        wanted=way.wanted,
        entry=next((entry for entry in offsets if entry.number == way.offset_entry), None),
        entries=offsets,
        position=way.position,
        batches_passed=visit.batches_passed,
        bytes_passed=visit.bytes_passed,
        batch=None if visit.found is None else _batch(visit.found),
    )


def _batch(span: Span) -> told.Batch:
    return told.Batch(span.base_offset, span.last_offset, span.position, span.size_bytes, _known(span.max_timestamp))


def _known(number: int) -> int | None:
    return number if number >= 0 else None


def segment_rows(log: PartitionLog, before: int | None) -> Steps[tuple[tuple[told.Segment, ...], int | None]]:
    """A page of them, the newest first, and where the next begins; `KafkaError` when an index cannot be read."""
    segments = log.segments
    until = len(segments) if before is None else segments.floor_index(before - 1) + 1
    page = list(segments)[max(until - SEGMENTS_MAX, 0) : until]
    rows = []
    for segment in reversed(page):
        row = _row(log, segments, segment)
        if row is not None:
            rows.append(row)
        yield
    return tuple(rows), page[0].base_offset if page and until > SEGMENTS_MAX else None


def _row(log: PartitionLog, segments: LogSegments, segment: Segment) -> told.Segment | None:
    """None of one that has gone meanwhile, by retention or compaction."""
    if segments[segments.floor_index(segment.base_offset)] is not segment:
        return None
    try:
        return told.Segment(
            base_offset=segment.base_offset,
            end_offset=segments.end_offset(segment, log.log_end_offset),
            size_bytes=segment.size_bytes,
            offset_entries=segment.offset_index.count,
            time_entries=segment.time_index.count,
            largest_at_ms=_known(segment.largest[0]),
            active=segment is segments.active,
        )
    except (OSError, CorruptData) as error:
        raise log.health.unreadable(error) from error


def producer_rows(log: PartitionLog) -> Steps[tuple[told.Producer, ...]]:
    """Those in a transaction, the oldest first, then those that wrote last, of as many as are looked at."""
    state = log.producer_state
    open_txns = [state.entries[one] for one in islice(state.ongoing.values(), PRODUCERS_MAX) if one in state.entries]
    yield
    others = (entry for entry in islice(state.entries.values(), PRODUCERS_LOOKED_AT_MAX) if entry.txn_first_offset < 0)
    newest = heapq.nlargest(PRODUCERS_MAX - len(open_txns), others, key=lambda entry: entry.last_timestamp)
    return tuple(_producer(entry) for entry in [*open_txns, *newest])


def _producer(entry: ProducerStateEntry) -> told.Producer:
    figures = (_known(entry.last_sequence), _known(entry.last_offset), _known(entry.last_timestamp), _known(entry.txn_first_offset))
    return told.Producer(entry.producer_id, entry.epoch, *figures)


def checkpoints(log: PartitionLog, written: tuple[int | None, int | None, int | None]) -> told.Checkpoints:
    """`written`: what the data folder's checkpoints have."""
    try:
        epochs = log.side_files.read_epochs(EPOCHS_FILE_BYTES_MAX)
    except (OSError, CorruptData):
        epochs = None
    recovery_point, high_watermark, log_start = written
    return told.Checkpoints(
        recovery_point=log.recovery.point,
        recovery_point_written=recovery_point,
        high_watermark_written=high_watermark,
        log_start_written=log_start,
        epochs=tuple(starmap(LeaderEpoch, log.epochs.entries[-EPOCHS_MAX:])),
        epochs_total=len(log.epochs.entries),
        epochs_written=None if epochs is None else tuple(starmap(LeaderEpoch, epochs[-EPOCHS_MAX:])),
    )
