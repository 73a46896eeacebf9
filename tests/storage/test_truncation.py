"""Cutting a log at its end: what a follower does before it follows a new leader."""

from __future__ import annotations

import errno

import pytest

from broker_core.errors import KafkaError
from broker_core.records.batch import iter_headers
from broker_core.storage.log import AppendOrigin, PartitionLog
from tests.support.log_world import FOLDER, START_MS, World, all_bytes, batch, sized_batch


def append(log: PartitionLog, epoch: int, *values: str) -> None:
    for value in values:
        log.append_as_leader(batch(1, value=value), epoch, AppendOrigin.CLIENT, START_MS)


def copy(source: PartitionLog, target: PartitionLog) -> None:
    """The follower's fetch."""
    while target.log_end_offset < source.log_end_offset:
        part = source.read(target.log_end_offset, 10_000, source.log_end_offset, min_one_batch=True)
        assert part.records is not None
        target.append_as_follower(part.records.file.pread(part.records.position, part.length), START_MS)


async def follow(leader: PartitionLog, follower: PartitionLog) -> None:
    """OffsetsForLeaderEpoch, truncation, fetch (KIP-101 and KIP-279), on the logs alone."""
    while (latest := follower.epochs.latest) is not None:
        epoch, end = leader.epochs.end_offset_for(latest, leader.log_end_offset)
        if end < 0:
            await follower.truncate_to(follower.high_watermark)
            break
        own_epoch, own_end = follower.epochs.end_offset_for(epoch, follower.log_end_offset)
        if own_epoch == epoch:
            await follower.truncate_to(min(end, own_end, follower.log_end_offset))
            break
        await follower.truncate_to(own_end)
    copy(leader, follower)


async def two() -> tuple[PartitionLog, PartitionLog]:
    return await World().open(), await World().open()


def same(one: PartitionLog, other: PartitionLog) -> bool:
    return all_bytes(one) == all_bytes(other) and one.epochs.entries == other.epochs.entries


async def test_truncation_moves_every_offset_back() -> None:
    world = World(segment_bytes=1000, index_interval_bytes=0)
    log = await world.open()
    for _ in range(10):
        log.append_as_leader(sized_batch(300), 0, AppendOrigin.CLIENT, START_MS)
    await log.recovery.flush()
    log.update_high_watermark(10)
    assert await log.truncate_to(4)
    assert (log.log_end_offset, log.high_watermark, log.recovery.point) == (4, 4, 4)
    assert log.segments.bases == [0, 3]
    assert log.segments.size_bytes == 1200
    assert not await log.truncate_to(4)
    assert not await log.truncate_to(9)
    assert log.log_end_offset == 4
    log.append_as_leader(sized_batch(300), 1, AppendOrigin.CLIENT, START_MS)
    assert [header.base_offset for _, header in iter_headers(all_bytes(log))] == [0, 1, 2, 3, 4]


async def test_truncation_into_a_batch_takes_the_whole_batch() -> None:
    log = await World().open()
    log.append_as_leader(batch(3), 0, AppendOrigin.CLIENT, START_MS)
    log.append_as_leader(batch(3), 0, AppendOrigin.CLIENT, START_MS)
    await log.truncate_to(4)
    assert log.log_end_offset == 3
    assert [header.last_offset for _, header in iter_headers(all_bytes(log))] == [2]


@pytest.mark.spec("R6")
async def test_first_failure_a_record_cut_at_the_high_watermark_is_kept_with_epochs() -> None:
    """The follower restarts before it learns the high watermark, then the leader dies."""
    leader, follower = await two()
    append(leader, 0, "m1", "m2")
    copy(leader, follower)
    leader.update_high_watermark(2)
    follower.update_high_watermark(1)
    await follow(leader, follower)
    assert follower.log_end_offset == 2
    await follower.side_files.assign_epoch(1, follower.log_end_offset)
    append(follower, 1, "m3")
    await follow(follower, leader)
    assert same(leader, follower)


@pytest.mark.spec("R6")
async def test_second_failure_logs_that_diverge_become_equal() -> None:
    """A follower that lost an unflushed record is elected; the old leader's record is cut."""
    leader, follower = await two()
    append(leader, 0, "m1", "m2")
    copy(leader, follower)
    leader.update_high_watermark(2)
    await follower.truncate_to(1)
    await follower.side_files.assign_epoch(1, follower.log_end_offset)
    append(follower, 1, "m3")
    assert follower.epochs.entries == [(0, 0), (1, 1)]
    await follow(follower, leader)
    assert same(leader, follower)
    assert leader.log_end_offset == 2


@pytest.mark.spec("B2")
async def test_fast_double_failover_with_uneven_epochs() -> None:
    """KIP-279: the leader's answer names an epoch the follower does not know, so it asks again."""
    one, other = await two()
    append(one, 0, "a", "b")
    copy(one, other)
    append(one, 1, "c", "d")
    append(other, 2, "e")
    append(one, 3, "f")
    await follow(one, other)
    assert same(one, other)
    assert one.epochs.entries == [(0, 0), (1, 2), (3, 4)]


async def test_an_unknown_epoch_falls_back_to_the_high_watermark() -> None:
    one, other = await two()
    append(other, 5, "x", "y")
    other.update_high_watermark(1)
    append(one, 4, "x")
    await follow(one, other)
    assert other.log_end_offset == 1


async def test_starting_anew_beyond_the_end() -> None:
    world = World()
    log = await world.open()
    append(log, 0, "a", "b")
    await log.truncate_fully_and_start_at(100)
    assert (log.log_start_offset, log.log_end_offset, log.high_watermark) == (100, 100, 100)
    assert log.epochs.entries == []
    log.append_as_follower(batch(2, base_offset=100), START_MS)
    again = await world.next_process().open(log_start_offset=100)
    assert (again.log_start_offset, again.log_end_offset) == (100, 102)


async def test_a_log_start_inside_of_a_batch_is_followed() -> None:
    """DeleteRecords on the leader: the follower's first batch begins before its log start."""
    leader, world = await World().open(), World()
    follower = await world.open()
    leader.append_as_leader(batch(10), 2, AppendOrigin.CLIENT, START_MS)
    append(leader, 2, "x")
    leader.update_high_watermark(11)
    leader.advance_log_start(5)
    await follower.truncate_fully_and_start_at(5)
    copy(leader, follower)
    assert (follower.log_start_offset, follower.log_end_offset) == (5, 11)
    assert all_bytes(follower) == all_bytes(leader)
    again = await world.next_process().open(log_start_offset=5)
    assert (again.log_start_offset, again.log_end_offset, again.epochs.latest) == (5, 11, 2)


async def test_truncation_below_the_first_segment_starts_anew() -> None:
    log = await World().open()
    await log.truncate_fully_and_start_at(100)
    log.append_as_follower(batch(2, base_offset=100), START_MS)
    await log.truncate_to(50)
    assert (log.log_start_offset, log.log_end_offset) == (50, 50)


async def test_producer_state_follows_a_truncation() -> None:
    world = World(segment_bytes=1000)
    log = await world.open()
    for number in range(8):
        data = batch(1, value="x" * 250, producer_id=4, producer_epoch=0, base_sequence=number)
        log.append_as_leader(data, 0, AppendOrigin.CLIENT, START_MS)
    await world.spawn.settle()
    await log.truncate_to(4)
    assert log.producer_state.entries[4].last_sequence == 3
    assert [path for path in world.disk.files if path.endswith(".snapshot")] == [f"{FOLDER}/{3:020d}.snapshot"]
    data = batch(1, producer_id=4, producer_epoch=0, base_sequence=4)
    assert log.append_as_leader(data, 0, AppendOrigin.CLIENT, START_MS).first_offset == 4


async def test_recovery_points_are_told_after_a_truncation() -> None:
    log = await World().open()
    told: list[int] = []

    async def tell() -> None:
        told.append(log.recovery.point)

    log.recovery.on_save = tell
    append(log, 0, "a", "b")
    await log.recovery.flush()
    await log.truncate_to(1)
    assert told == [1]


async def test_epochs_are_durable_when_assigned() -> None:
    world = World()
    log = await world.open()
    await log.side_files.assign_epoch(3, 0)
    assert bytes(world.disk.files[f"{FOLDER}/leader-epoch-checkpoint"]) == b"0\n1\n3 0\n"
    append(log, 3, "a")
    await log.side_files.assign_epoch(4, 1)
    await log.side_files.assign_epoch(5, 1)
    assert bytes(world.disk.files[f"{FOLDER}/leader-epoch-checkpoint"]) == b"0\n2\n3 0\n5 1\n"
    assert log.epochs.end_offset_for(4, log.log_end_offset) == (3, 1)


async def test_an_epoch_that_found_no_file_handle_is_written_later() -> None:
    world = World()
    log = await world.open()
    world.disk.fail["write_atomic"] = errno.EMFILE
    with pytest.raises(KafkaError):
        await log.side_files.assign_epoch(3, 0)
    del world.disk.fail["write_atomic"]
    append(log, 3, "a")
    await log.recovery.flush()
    assert bytes(world.disk.files[f"{FOLDER}/leader-epoch-checkpoint"]) == b"0\n1\n3 0\n"


async def test_a_closed_log_takes_nothing() -> None:
    log = await World().open()
    await log.close()
    with pytest.raises(KafkaError, match="closed"):
        append(log, 0, "a")
