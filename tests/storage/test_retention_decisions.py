"""As pure decisions, at their edges: when an append needs a new segment, and how many of the oldest may go."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from broker_core.config import BrokerConfig, TopicConfig
from broker_core.storage.retention import SegmentAge, expired_count
from broker_core.storage.segments.rolling import RollParams, should_roll

pytestmark = pytest.mark.spec("S4")

DEFAULTS = TopicConfig.from_overrides(BrokerConfig(), {})
NOW_MS = 1_000_000


def rolls(state: dict[str, Any], *, incoming_bytes: int = 100, incoming_timestamp: int = NOW_MS, **settings: Any) -> bool:
    values = {
        "size_bytes": 300,
        "created_ms": NOW_MS,
        "first_timestamp": NOW_MS,
        "roll_jitter_ms": 0.0,
        "offset_entries": 0,
        "time_entries": 0,
    }
    return should_roll(RollParams(**{**values, **state}), replace(DEFAULTS, **settings), incoming_bytes, incoming_timestamp, NOW_MS)


@pytest.mark.parametrize(("size_bytes", "needed"), [(0, False), (899, False), (900, False), (901, True)])
def test_a_segment_is_filled_to_its_size(size_bytes: int, needed: bool) -> None:
    """An empty one takes even what is larger than it should be."""
    assert rolls({"size_bytes": size_bytes}, incoming_bytes=100 if size_bytes else 5_000, segment_bytes=1000) is needed


@pytest.mark.parametrize(("age_ms", "needed"), [(600, False), (601, True)])
@pytest.mark.parametrize("jitter_ms", [0, 100])
def test_age_counts_from_the_first_records_time_less_the_jitter(age_ms: int, needed: bool, jitter_ms: int) -> None:
    state = {"first_timestamp": NOW_MS - age_ms + jitter_ms, "created_ms": 0, "roll_jitter_ms": float(jitter_ms)}
    assert rolls(state, segment_ms=600) is needed
    assert rolls({**state, "first_timestamp": -1, "created_ms": NOW_MS - age_ms + jitter_ms}, segment_ms=600) is needed


def test_the_time_that_counts_is_the_records_not_the_clocks() -> None:
    assert not rolls({"first_timestamp": 5_000, "created_ms": 0}, incoming_timestamp=5_100, segment_ms=600)


@pytest.mark.parametrize(("policy", "needed"), [(("delete",), False), (("compact",), True), (("compact", "delete"), True)])
def test_a_compacted_topics_segment_closes_before_its_records_are_overdue(policy: tuple[str, ...], needed: bool) -> None:
    """KIP-354: only closed segments are compacted."""
    state = {"first_timestamp": NOW_MS - 700}
    assert rolls(state, segment_ms=100_000, max_compaction_lag_ms=600, cleanup_policy=policy) is needed


@pytest.mark.parametrize(
    ("entries", "needed"),
    [({"offset_entries": 14}, False), ({"offset_entries": 15}, True), ({"time_entries": 8}, False), ({"time_entries": 9}, True)],
)
def test_an_index_is_filled_to_its_last_entry(entries: dict[str, int], needed: bool) -> None:
    """120 bytes: 15 offsets of 8 bytes, 10 times of 12 bytes of which the last is for the roll."""
    assert rolls(entries, segment_index_bytes=120) is needed


def expired(
    *, log_start: int = 0, high_watermark: int = 30, now_ms: int = NOW_MS, sizes: tuple[int, ...] = (100, 100, 100), **settings: Any
) -> int:
    """Of three segments of ten records, written 300, 200 and 100 ms ago."""
    segments = [SegmentAge(size, NOW_MS - 300 + 100 * number, 10 * (number + 1)) for number, size in enumerate(sizes)]
    config = replace(DEFAULTS, **{"retention_ms": -1, "retention_bytes": -1, **settings})
    return expired_count(segments, config, log_start, high_watermark, now_ms)


def test_without_limits_everything_stays_for_ever() -> None:
    assert expired(now_ms=10**15) == 0


@pytest.mark.parametrize(("retention_ms", "gone"), [(0, 3), (99, 3), (100, 2), (200, 1), (300, 0)])
def test_older_than_the_limit_is_too_old(retention_ms: int, gone: int) -> None:
    assert expired(retention_ms=retention_ms) == gone


@pytest.mark.parametrize(("retention_bytes", "gone"), [(0, 3), (1, 2), (100, 2), (101, 1), (200, 1), (201, 0), (300, 0)])
def test_what_is_left_is_never_less_than_the_size_asked_for(retention_bytes: int, gone: int) -> None:
    assert expired(retention_bytes=retention_bytes) == gone


@pytest.mark.parametrize(("log_start", "gone"), [(9, 0), (10, 1), (19, 1), (20, 2)])
@pytest.mark.parametrize("policy", ["delete", "compact"])
def test_segments_below_the_log_start_go(log_start: int, gone: int, policy: str) -> None:
    """After DeleteRecords, compacted or not."""
    assert expired(log_start=log_start, cleanup_policy=(policy,)) == gone


@pytest.mark.parametrize(("high_watermark", "gone"), [(9, 0), (10, 1), (29, 2), (30, 3)])
def test_only_what_is_replicated_goes(high_watermark: int, gone: int) -> None:
    assert expired(retention_ms=0, high_watermark=high_watermark) == gone


def test_compaction_alone_knows_no_limits() -> None:
    assert expired(retention_ms=0, retention_bytes=0, cleanup_policy=("compact",)) == 0


def test_an_empty_active_segment_stays() -> None:
    assert expired(retention_ms=0, sizes=(100, 100, 0)) == 2
