"""When segments are rolled and when they go."""

from __future__ import annotations

from typing import Any

import pytest

from broker_core.errors import ErrorCode, KafkaError
from broker_core.storage.log import AppendOrigin, PartitionLog
from tests.support.log_world import FOLDER, START_MS, World, all_bytes, at_newest, at_time, sized_batch

HOUR_MS = 3_600_000


def append(log: PartitionLog, timestamp_ms: int, now_ms: int | None = None) -> None:
    log.append_as_leader(sized_batch(300, timestamp_ms=timestamp_ms), 0, AppendOrigin.CLIENT, now_ms or timestamp_ms)


async def hourly(count: int = 9, **settings: Any) -> tuple[World, PartitionLog]:
    """Three batches a segment, one batch an hour, all replicated."""
    world = World(**{"segment_bytes": 1000, "retention_ms": -1, **settings})
    log = await world.open()
    for number in range(count):
        append(log, START_MS + number * HOUR_MS)
    log.update_high_watermark(count)
    return world, log


@pytest.mark.spec("S4")
async def test_retention_by_time() -> None:
    """Consumed or not, a segment goes when its newest record is too old."""
    _world, log = await hourly(retention_ms=4 * HOUR_MS)
    assert await log.delete_expired(START_MS + 9 * HOUR_MS) == 1
    assert (log.log_start_offset, log.segments.bases) == (3, [3, 6])
    assert await log.delete_expired(START_MS + 9 * HOUR_MS) == 0


async def test_retention_by_size() -> None:
    world, log = await hourly(retention_bytes=1000)
    assert await log.delete_expired(START_MS) == 1
    assert log.segments.size_bytes == 1800
    world.configure(retention_bytes=0)
    await log.delete_expired(START_MS)
    assert log.log_start_offset == 9


async def test_nothing_above_the_high_watermark_goes() -> None:
    _, log = await hourly(retention_bytes=0)
    log.update_high_watermark(5)
    assert await log.delete_expired(START_MS) == 1
    assert log.log_start_offset == 3


async def test_the_active_segment_is_rolled_before_it_goes() -> None:
    _world, log = await hourly(retention_ms=HOUR_MS)
    await log.delete_expired(START_MS + 100 * HOUR_MS)
    assert (log.log_start_offset, log.log_end_offset, log.segments.bases) == (9, 9, [9])
    assert await log.delete_expired(START_MS + 100 * HOUR_MS) == 0
    append(log, START_MS + 100 * HOUR_MS)
    assert log.log_end_offset == 10


async def test_compacted_topics_keep_their_segments() -> None:
    """Only what lies below a raised log start goes."""
    _, log = await hourly(retention_bytes=0, retention_ms=1, cleanup_policy=("compact",))
    assert await log.delete_expired(START_MS + 100 * HOUR_MS) == 0
    log.advance_log_start(7)
    assert await log.delete_expired(START_MS + 100 * HOUR_MS) == 2
    assert (log.log_start_offset, log.segments.bases) == (7, [6])


async def test_compact_and_delete_together() -> None:
    _, log = await hourly(retention_bytes=1000, cleanup_policy=("compact", "delete"))
    assert await log.delete_expired(START_MS) == 1


async def test_files_go_after_the_delay_and_readers_keep_theirs() -> None:
    """file.delete.delay.ms; a slice taken before stays readable after."""
    world, log = await hourly(retention_bytes=0, file_delete_delay_ms=60_000)
    part = log.read(0, 10_000, 9)
    before = all_bytes(log)
    await log.delete_expired(START_MS)
    await world.spawn.settle()
    assert f"{FOLDER}/{0:020d}.log.deleted" in world.disk.files
    assert part.records is not None
    assert part.records.file.pread(part.records.position, part.length) == before[:900]
    await world.clock.advance(60_000)
    await world.spawn.settle()
    assert [path for path in world.disk.files if path.endswith(".deleted")] == []
    assert part.records.file.pread(part.records.position, part.length) == before[:900]


async def test_a_restart_finishes_the_deletion() -> None:
    world, log = await hourly(retention_bytes=1000)
    await log.delete_expired(START_MS)
    next_world = world.next_process()
    again = await next_world.open()
    assert again.log_start_offset == 3
    assert [path for path in next_world.disk.files if path.endswith(".deleted")] == []


async def test_log_start_may_not_pass_the_high_watermark() -> None:
    _, log = await hourly()
    log.update_high_watermark(5)
    with pytest.raises(KafkaError) as caught:
        log.advance_log_start(6)
    assert caught.value.code is ErrorCode.OFFSET_OUT_OF_RANGE
    assert log.advance_log_start(5)
    assert not log.advance_log_start(4)
    with pytest.raises(KafkaError):
        log.read(4, 100, 9)
    assert log.epochs.entries == [(0, 5)]


async def test_a_segment_is_rolled_by_age() -> None:
    """segment.ms counts from the first record's timestamp."""
    world = World(segment_ms=HOUR_MS)
    log = await world.open()
    append(log, START_MS)
    append(log, START_MS + HOUR_MS)
    append(log, START_MS + HOUR_MS + 1)
    assert log.segments.bases == [0, 2]


async def test_records_without_timestamps_age_with_the_clock() -> None:
    world = World(segment_ms=HOUR_MS)
    log = await world.open()
    append(log, -1, START_MS)
    append(log, -1, START_MS + HOUR_MS)
    append(log, -1, START_MS + HOUR_MS + 1)
    assert log.segments.bases == [0, 2]


async def test_a_full_index_rolls() -> None:
    world = World(segment_index_bytes=36, index_interval_bytes=0)
    log = await world.open()
    for number in range(8):
        append(log, START_MS + number)
    assert log.segments.bases[1] == 3


async def test_offsets_too_far_for_the_index_roll() -> None:
    world = World()
    log = await world.open()
    log.append_as_follower(sized_batch(300, base_offset=0), START_MS)
    log.append_as_follower(sized_batch(300, base_offset=2**31), START_MS)
    log.append_as_follower(sized_batch(300, base_offset=2**33), START_MS)
    assert log.segments.bases == [0, 2**31, 2**33]
    assert log.read(5, 1000, log.log_end_offset).first_offset == 2**31
    await log.recovery.flush()
    again = await world.next_process().open(recovery_point=log.recovery.point)
    assert again.log_end_offset == 2**33 + 1


async def test_lookup_by_timestamp() -> None:
    """The first record at or after a time; (-1) where there is none."""
    _, log = await hourly(index_interval_bytes=0)
    assert at_time(log, START_MS) == (0, START_MS, 0)
    assert at_time(log, START_MS + 4 * HOUR_MS - 1) == (4, START_MS + 4 * HOUR_MS, 0)
    assert at_time(log, START_MS + 9 * HOUR_MS) is None
    assert at_newest(log) == (8, START_MS + 8 * HOUR_MS, 0)
    log.advance_log_start(5)
    assert at_time(log, START_MS) == (5, START_MS + 5 * HOUR_MS, 0)


async def test_lookup_by_timestamp_with_falling_times() -> None:
    world = World(index_interval_bytes=0)
    log = await world.open()
    for timestamp_ms in (10, 50, 20, 40, 60, 30):
        append(log, timestamp_ms, START_MS)
    found = [at_time(log, timestamp_ms) for timestamp_ms in (5, 11, 51, 61)]
    assert found == [(0, 10, 0), (1, 50, 0), (4, 60, 0), None]
    assert at_newest(log) == (4, 60, 0)
