"""Which offsets of which partitions a search reads: fixed when it begins, so that its end is known."""

from __future__ import annotations

from console.gateway.record_log import EARLIEST, LATEST, RecordLog
from console.rules.records.progress import Span
from console.rules.records.query import Query, read_positions


class NotThere(Exception):
    """The topic has no such partition."""


def spans_of(query: Query, log: RecordLog) -> list[Span]:
    numbers = log.partitions()
    if query.partition is not None:
        if query.partition not in numbers:
            raise NotThere(f"The topic has no partition {query.partition}: it has 0 to {len(numbers) - 1}.")
        numbers = [query.partition]
    positions = read_positions(query.at)
    if positions:
        return [_resumed(query, number, *positions[number]) for number in numbers if number in positions]
    first, last = log.offsets(numbers, EARLIEST), log.offsets(numbers, LATEST)
    since = _since(query, log, numbers, last)
    return [_span(query, number, max(first[number], since.get(number, 0)), last[number]) for number in numbers]


def _since(query: Query, log: RecordLog, numbers: list[int], last: dict[int, int]) -> dict[int, int]:
    """All records below these offsets are older than the range of time that is asked for."""
    if query.since_ms is None:
        return {}
    return {number: last[number] if at < 0 else at for number, at in log.offsets(numbers, query.since_ms).items()}


def _span(query: Query, number: int, first: int, last: int) -> Span:
    if query.start == "live":
        return Span(partition=number, first=last, last=None, at=last)
    if query.start == "newest":
        return Span(partition=number, first=min(first, last), last=last, at=last)
    if query.start == "offset":
        first = max(first, query.offset or 0)
    first = min(first, last)
    return Span(partition=number, first=first, last=last, at=first)


def _resumed(query: Query, number: int, low: int, high: int) -> Span:
    return Span(partition=number, first=low, last=high, at=high if query.start == "newest" else low)
