"""Which log is compacted next, and which part of it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from broker_core.config import TopicConfig


class CleanRange(NamedTuple):
    """Offsets [first_dirty, end) are to be compacted together with what lies below."""

    first_dirty: int
    end: int
    dirty_ratio: float
    overdue: bool


class SegmentSpan(NamedTuple):
    base_offset: int
    size_bytes: int
    largest_timestamp: int


def clean_range(
    segments: Sequence[SegmentSpan], config: TopicConfig, *, checkpoint: int | None, log_start: int, last_stable: int, now_ms: int
) -> CleanRange | None:
    """What of a log may be compacted, None where nothing may.

    `segments` with the active one, which stays as it is; so do records at or above the last stable offset (KAFKA-13194) and
    segments younger than `min.compaction.lag.ms`. A checkpoint outside of the log is of no use: all is dirty then.
    """
    first_dirty = log_start if checkpoint is None or not log_start <= checkpoint <= segments[-1].base_offset else checkpoint
    young = (
        s.base_offset for s in segments if config.min_compaction_lag_ms and s.largest_timestamp > now_ms - config.min_compaction_lag_ms
    )
    end = min(segments[-1].base_offset, last_stable, next(young, last_stable))
    if end <= first_dirty:
        return None
    ends = [s.base_offset for s in segments[1:]]
    clean = sum(s.size_bytes for s, upper in zip(segments, ends, strict=False) if upper <= first_dirty)
    dirty = [s for s, upper in zip(segments, ends, strict=False) if upper > first_dirty and s.base_offset < end]
    dirty_bytes = sum(s.size_bytes for s in dirty)
    oldest = min((s.largest_timestamp for s in dirty), default=now_ms)
    ratio = dirty_bytes / (clean + dirty_bytes) if clean + dirty_bytes else 0.0
    return CleanRange(first_dirty, end, ratio, now_ms - oldest > config.max_compaction_lag_ms)


def wants_cleaning(found: CleanRange, config: TopicConfig) -> bool:
    return found.overdue or found.dirty_ratio > config.min_cleanable_dirty_ratio
