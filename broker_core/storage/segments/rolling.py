"""When a segment is full or old enough for the next one (spec S4). Pure."""

from __future__ import annotations

from msgspec import Struct

from broker_core.config import TopicConfig

OFFSET_ENTRY_BYTES = 8
TIME_ENTRY_BYTES = 12


class RollParams(Struct, frozen=True):
    """The active segment as the decision to roll it needs it; `first_timestamp` is -1 where there is none."""

    size_bytes: int
    created_ms: int
    first_timestamp: int
    roll_jitter_ms: float
    offset_entries: int
    time_entries: int


def should_roll(active: RollParams, config: TopicConfig, incoming_bytes: int, incoming_timestamp: int, now_ms: int) -> bool:
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
