"""Appending to and reading from one partition's log."""

from __future__ import annotations

import errno

import pytest

from broker_core.errors import ErrorCode, KafkaError
from broker_core.records.batch import iter_headers
from broker_core.storage.log import AppendOrigin
from tests.support.log_world import START_MS, World, all_bytes, at_time, batch, sized_batch


async def test_offsets_and_epochs_are_stamped_in_order() -> None:
    log = await World().open()
    first = log.append_as_leader(batch(3), 7, AppendOrigin.CLIENT, START_MS)
    second = log.append_as_leader(batch(2), 7, AppendOrigin.CLIENT, START_MS)
    assert (first.first_offset, first.last_offset, second.first_offset, second.last_offset) == (0, 2, 3, 4)
    assert [(header.base_offset, header.leader_epoch) for _, header in iter_headers(all_bytes(log))] == [(0, 7), (3, 7)]
    assert log.log_end_offset == 5


async def test_a_slice_holds_whole_batches_within_both_bounds() -> None:
    log = await World().open()
    for _ in range(10):
        log.append_as_leader(sized_batch(200), 0, AppendOrigin.CLIENT, START_MS)
    part = log.read(2, 700, 10)
    assert (part.first_offset, part.length, part.next_offset) == (2, 600, 5)
    part = log.read(2, 10_000, 4)
    assert (part.length, part.next_offset) == (400, 4)
    assert log.read(4, 100, 10).records is None
    assert log.read(4, 100, 10, min_one_batch=True).length == 200
    assert log.read(10, 100, 10, min_one_batch=True).records is None


async def test_offsets_outside_of_the_log_are_refused() -> None:
    log = await World().open()
    log.append_as_leader(batch(3), 0, AppendOrigin.CLIENT, START_MS)
    for offset in (-1, 4):
        with pytest.raises(KafkaError) as caught:
            log.read(offset, 100, 3)
        assert caught.value.code is ErrorCode.OFFSET_OUT_OF_RANGE


@pytest.mark.spec("S1")
async def test_reading_across_segments() -> None:
    """Segment files are named by their base offset, 20 digits."""
    world = World(segment_bytes=1000)
    log = await world.open()
    for _ in range(10):
        log.append_as_leader(sized_batch(300), 0, AppendOrigin.CLIENT, START_MS)
    assert [name for name in world.disk.list_dir("/data/events-0") if name.endswith(".log")] == [
        "00000000000000000000.log",
        "00000000000000000003.log",
        "00000000000000000006.log",
        "00000000000000000009.log",
    ]
    part = log.read(2, 10_000, 10)
    assert (part.length, part.next_offset) == (300, 3)
    assert [header.base_offset for _, header in iter_headers(all_bytes(log))] == list(range(10))


async def test_a_remembered_place_is_not_mistaken_for_the_next_segments() -> None:
    log = await World().open()
    log.append_as_leader(sized_batch(300), 0, AppendOrigin.CLIENT, START_MS)
    assert log.read(0, 1000, 1).next_offset == 1
    log.roll(START_MS)
    for _ in range(5):
        log.append_as_leader(sized_batch(200), 0, AppendOrigin.CLIENT, START_MS)
    part = log.read(1, 10_000, 6)
    assert part.records is not None
    assert (part.records.position, part.length) == (0, 1000)


async def test_a_clean_restart_gives_the_same_log() -> None:
    world = World(segment_bytes=1000)
    log = await world.open()
    for _ in range(10):
        log.append_as_leader(sized_batch(300), 0, AppendOrigin.CLIENT, START_MS)
    data = all_bytes(log)
    await log.close()
    again = await world.next_process().open(clean=True)
    assert (again.log_end_offset, all_bytes(again), again.recovery.point) == (10, data, 10)
    assert again.append_as_leader(batch(1), 0, AppendOrigin.CLIENT, START_MS).first_offset == 10


async def test_a_disk_that_cannot_be_read() -> None:
    world = World()
    log = await world.open()
    log.append_as_leader(batch(3), 0, AppendOrigin.CLIENT, START_MS)
    log.append_as_leader(batch(3), 0, AppendOrigin.CLIENT, START_MS)
    world.disk.fail["read"] = errno.EIO
    for action in (lambda: log.read(1, 1, 6), lambda: log.size_between(1, 5), lambda: at_time(log, START_MS)):
        with pytest.raises(KafkaError) as caught:
            action()
        assert caught.value.code is ErrorCode.KAFKA_STORAGE_ERROR
    del world.disk.fail["read"]
    assert log.size_between(1, 6) == log.segments.size_bytes
    assert log.size_between(1, 3) == log.segments.size_bytes // 2
    assert log.size_between(6, 6) == 0


async def test_a_follower_takes_offsets_as_they_are() -> None:
    leader, follower = await World().open(), await World().open()
    for epoch in (3, 3, 5):
        leader.append_as_leader(batch(2), epoch, AppendOrigin.CLIENT, START_MS)
    info = follower.append_as_follower(all_bytes(leader) + batch(1)[:20], START_MS)
    assert (info.first_offset, info.last_offset, info.batches) == (0, 5, 3)
    assert all_bytes(follower) == all_bytes(leader)
    assert follower.epochs.entries == leader.epochs.entries == [(3, 0), (5, 4)]
    with pytest.raises(KafkaError):
        follower.append_as_follower(all_bytes(leader), START_MS)
