"""Reading a log: from offsets and timestamps to ranges of segment files (spec S2).

Slices begin and end at batch boundaries. The place where one read ended is remembered, so a reader that goes on there
needs neither index nor scan.
"""

from __future__ import annotations

from typing import NamedTuple

from msgspec import Struct

from broker_core.errors import CorruptData
from broker_core.records.batch import LOG_APPEND_TIME, parse_header, reading_records
from broker_core.records.budget import Budget, BudgetSpent
from broker_core.records.steps import Steps
from broker_core.seams import FileRange
from broker_core.storage.log_health import LogHealth
from broker_core.storage.segments.batch_scan import Span
from broker_core.storage.segments.log_segments import LogSegments
from broker_core.storage.segments.segment import Segment
from broker_core.storage.trail import Trail

BATCHES_PER_STEP = 64
HINTS_LIMIT = 64


class LogSlice(Struct, frozen=True):
    """Whole batches of one segment.

    `first_offset` is the first batch's base offset (the asked one when empty), `next_offset` the one to ask for next.
    `aborted`: (producer id, first offset) of aborted transactions that touch the slice, for read_committed readers.
    """

    records: FileRange | None
    length: int
    first_offset: int
    next_offset: int
    aborted: list[tuple[int, int]]


class ReadLimits(Struct, frozen=True):
    """How far a read may go: at most `max_bytes` (or one batch), only batches below `end_offset`."""

    max_bytes: int
    end_offset: int
    log_end_offset: int
    min_one_batch: bool


class TimestampAndOffset(NamedTuple):
    offset: int
    timestamp: int
    leader_epoch: int


class Reader:
    """Positions in one log's segments."""

    __slots__ = ("_health", "_hints", "_segments")

    def __init__(self, segments: LogSegments, health: LogHealth) -> None:
        self._segments = segments
        self._health = health
        self._hints: dict[int, tuple[Segment, int]] | None = None

    def remember(self, offset: int, segment: Segment, position: int) -> None:
        """Notes that the batch that begins at `offset` is, or will be, at `position`."""
        if self._hints is None:
            self._hints = {}
        elif len(self._hints) >= HINTS_LIMIT:
            del self._hints[next(iter(self._hints))]
        self._hints[offset] = (segment, position)

    def forget(self) -> None:
        """Drops what is remembered: segments were cut or replaced."""
        self._hints = None

    def _hinted(self, offset: int, segment: Segment) -> int | None:
        hint = self._hints.get(offset) if self._hints else None
        return hint[1] if hint is not None and hint[0] is segment and hint[1] < segment.size_bytes else None

    def read(self, offset: int, limits: ReadLimits) -> LogSlice:
        """Batches of one segment from the one that has `offset` on."""
        if offset >= limits.end_offset:
            return LogSlice(None, 0, offset, offset, [])
        for segment in self._segments.from_offset(offset):
            start = self._start(segment, offset)
            if start is not None:
                return self._slice(segment, start, offset, limits)
        return LogSlice(None, 0, offset, limits.end_offset, [])

    def _start(self, segment: Segment, offset: int) -> tuple[int, int] | None:
        """(position, base offset) of the batch that has `offset` or is the next one after it in the segment."""
        hinted = self._hinted(offset, segment)
        if hinted is not None:
            return hinted, offset
        span = segment.find(offset)
        return (span.position, span.base_offset) if span is not None else None

    def _slice(self, segment: Segment, start: tuple[int, int], offset: int, limits: ReadLimits) -> LogSlice:
        position, first_offset = start
        segment_end = self._segments.end_offset(segment, limits.log_end_offset)
        next_offset = min(limits.end_offset, segment_end)
        bound = segment.size_bytes if limits.end_offset >= segment_end else self._bound(segment, limits.end_offset)
        if bound - position > limits.max_bytes:
            last = segment.last_span_before(position + limits.max_bytes, position)
            if last is None and limits.min_one_batch:
                last = next(segment.spans(position), None)
            bound, next_offset = (last.end, last.last_offset + 1) if last is not None else (position, offset)
        if bound <= position:
            return LogSlice(None, 0, offset, offset, [])
        if next_offset < segment_end or segment is self._segments.active:
            self.remember(next_offset, segment, bound)
        records = FileRange(segment.file, position, bound - position)
        return LogSlice(records, bound - position, first_offset, next_offset, self._aborted(segment, offset, next_offset))

    def _bound(self, segment: Segment, end_offset: int) -> int:
        """Position up to which all of a segment's batches end below `end_offset`."""
        hinted = self._hinted(end_offset, segment)
        if hinted is not None:
            return hinted
        span = segment.find(end_offset)
        return segment.size_bytes if span is None else span.position

    def _aborted(self, segment: Segment, offset: int, upper_bound: int) -> list[tuple[int, int]]:
        found: list[tuple[int, int]] = []
        for later in self._segments.from_offset(segment.base_offset):
            if later.txn_index.collect(offset, upper_bound, found):
                break
        return found

    def size_between(self, offset: int, end_offset: int, log_end_offset: int) -> int:
        """Bytes of the batches in [offset, end_offset), for fetch.min.bytes."""
        if offset >= end_offset:
            return 0
        total = 0
        for segment in self._segments.from_offset(offset):
            if segment.base_offset >= end_offset:
                break
            start = self._start(segment, offset)
            if start is not None:
                whole = end_offset >= self._segments.end_offset(segment, log_end_offset)
                total += (segment.size_bytes if whole else self._bound(segment, end_offset)) - start[0]
        return total

    def find_timestamp(
        self, timestamp_ms: int, log_start_offset: int, budget: Budget, trail: Trail | None = None
    ) -> Steps[TimestampAndOffset | None]:
        """The first record at or after `log_start_offset` whose timestamp is at least `timestamp_ms`; `KafkaError` KAFKA_STORAGE_ERROR."""
        trail = trail or Trail()
        try:
            for segment in self._segments.from_offset(log_start_offset):
                if segment.largest[0] < timestamp_ms:
                    trail.segments_passed += 1
                    continue
                way = segment.way_to_time(timestamp_ms)
                visit = trail.enter(segment, way)
                for span in segment.spans(way.position):
                    if span.max_timestamp >= timestamp_ms and span.last_offset >= log_start_offset:
                        found = yield from _first_in_batch(segment, span, timestamp_ms, log_start_offset, budget)
                        if found is not None:
                            visit.found = span
                            return found
                    visit.pass_by(span)
        except (OSError, CorruptData) as error:
            raise self._health.unreadable(error) from error
        return None

    def trace(self, offset: int, trail: Trail) -> Steps[Span | None]:
        """The batch that has `offset` or is the next one after it, by the way that `read` takes where no place is remembered; raises
        likewise."""
        try:
            for segment in self._segments.from_offset(offset):
                way = segment.way_to(offset)
                visit = trail.enter(segment, way)
                for span in segment.spans(way.position):
                    if span.last_offset >= offset:
                        visit.found = span
                        return span
                    visit.pass_by(span)
                    if visit.batches_passed % BATCHES_PER_STEP == 0:
                        yield
        except (OSError, CorruptData) as error:
            raise self._health.unreadable(error) from error
        return None

    def max_timestamp(self, log_start_offset: int, budget: Budget) -> Steps[TimestampAndOffset | None]:
        """The first record that has the log's largest timestamp; raises likewise."""
        try:
            largest = max(segment.largest[0] for segment in self._segments.from_offset(log_start_offset))
        except (OSError, CorruptData) as error:
            raise self._health.unreadable(error) from error
        return (yield from self.find_timestamp(largest, log_start_offset, budget)) if largest >= 0 else None


def _first_in_batch(segment: Segment, span: Span, timestamp_ms: int, start_offset: int, budget: Budget) -> Steps[TimestampAndOffset | None]:
    """Of a batch that would cost too much to look into, where it begins: whoever reads from there misses nothing."""
    if span.magic < 2:
        return TimestampAndOffset(max(span.base_offset, start_offset), span.max_timestamp, -1)
    data = segment.file.pread(span.position, span.size_bytes)
    header = parse_header(data)
    if header.timestamp_type == LOG_APPEND_TIME or header.is_control:
        return TimestampAndOffset(max(span.base_offset, start_offset), span.max_timestamp, header.leader_epoch)
    try:
        for records in (yield from reading_records(data, 0, header, budget)):
            for record in records:
                if record.timestamp_ms >= timestamp_ms and record.offset >= start_offset:
                    return TimestampAndOffset(record.offset, record.timestamp_ms, header.leader_epoch)
            yield
    except BudgetSpent:
        return TimestampAndOffset(max(span.base_offset, start_offset), span.max_timestamp, header.leader_epoch)
    if len(data) < span.size_bytes:
        raise CorruptData(f"{segment.path}: batch at {span.position} is cut short")
    return None
