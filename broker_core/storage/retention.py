"""When a segment is rolled and which ones expire (spec S4). Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from broker_core.config import TopicConfig

OFFSET_ENTRY_BYTES = 8
TIME_ENTRY_BYTES = 12


class RollState(NamedTuple):
    """The active segment as the decision to roll it needs it; `first_timestamp` is -1 where there is none."""

    size_bytes: int
    created_ms: int
    first_timestamp: int
    roll_jitter_ms: float
    offset_entries: int
    time_entries: int


class SegmentAge(NamedTuple):
    """A segment as the decision to delete it needs it; `end_offset` is where the next one begins."""

    size_bytes: int
    largest_timestamp: int
    end_offset: int


def should_roll(active: RollState, config: TopicConfig, incoming_bytes: int, incoming_timestamp: int, now_ms: int) -> bool:
    """Whether an append of so many bytes needs a new segment: size, age (by records' timestamps), or a full index."""
    if active.size_bytes == 0:
        return False
    if active.size_bytes > config.segment_bytes - incoming_bytes:
        return True
    age_ms = incoming_timestamp - active.first_timestamp if active.first_timestamp >= 0 else now_ms - active.created_ms
    segment_ms = min(config.segment_ms, config.max_compaction_lag_ms) if "compact" in config.cleanup_policy else config.segment_ms
    if age_ms > segment_ms - active.roll_jitter_ms:
        return True
    offset_entries_max = config.segment_index_bytes // OFFSET_ENTRY_BYTES
    time_entries_max = config.segment_index_bytes // TIME_ENTRY_BYTES - 1
    return active.offset_entries >= offset_entries_max or active.time_entries >= time_entries_max


def expired_count(segments: Sequence[SegmentAge], config: TopicConfig, log_start_offset: int, high_watermark: int, now_ms: int) -> int:
    """How many of the oldest segments may go, consumed or not.

    Only whole segments below the high watermark; an empty active one stays. A topic that is only compacted loses segments
    just where the log start has passed them. Time, size and log start are asked in turn of the oldest that is left.
    """
    by_age = "delete" in config.cleanup_policy
    spare_bytes = sum(segment.size_bytes for segment in segments) - config.retention_bytes
    count = 0
    for segment in segments:
        if segment.end_offset > high_watermark or (segment is segments[-1] and segment.size_bytes == 0):
            break
        too_old = by_age and 0 <= config.retention_ms < now_ms - segment.largest_timestamp
        too_large = by_age and config.retention_bytes >= 0 and spare_bytes >= segment.size_bytes
        if not (too_old or too_large or segment.end_offset <= log_start_offset):
            break
        spare_bytes -= segment.size_bytes
        count += 1
    return count
