"""Which segments expire (spec S4). Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from broker_core.config import TopicConfig


class SegmentAge(NamedTuple):
    """A segment as the decision to delete it needs it; `end_offset` is where the next one begins."""

    size_bytes: int
    largest_timestamp: int
    end_offset: int


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
