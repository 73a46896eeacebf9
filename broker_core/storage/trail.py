"""The way that a lookup took through a log, kept while it goes: which segments, which index entries, how many batches were walked over."""

from __future__ import annotations

from collections import deque

from msgspec import Struct

from broker_core.storage.segments.batch_scan import Span
from broker_core.storage.segments.segment import Segment, Way

VISITS_MAX = 10


class Visit(Struct):
    """One segment that was looked into."""

    segment: Segment
    way: Way
    batches_passed: int = 0
    bytes_passed: int = 0
    found: Span | None = None

    def pass_by(self, span: Span) -> None:
        self.batches_passed += 1
        self.bytes_passed += span.size_bytes


class Trail:
    """The last visits, and how many segments were not looked into, since their time index ends before the time."""

    def __init__(self) -> None:
        self.visits: deque[Visit] = deque(maxlen=VISITS_MAX)
        self.segments_passed = 0

    def enter(self, segment: Segment, way: Way) -> Visit:
        visit = Visit(segment, way)
        self.visits.append(visit)
        return visit
