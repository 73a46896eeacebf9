"""What `flush.messages` asks for is on disk before it is acknowledged, and holds up nothing else."""

from __future__ import annotations

import asyncio
import errno

import pytest

from broker_core.errors import ErrorCode, KafkaError
from broker_core.storage.log import AppendInfo, AppendOrigin, PartitionLog
from tests.support.log_world import FOLDER, START_MS, MemoryDisk, MemoryFile, World, batch

pytestmark = pytest.mark.spec("S5")

LOG = f"{FOLDER}/{0:020d}.log"


class SlowFile(MemoryFile):
    async def fsync(self) -> None:
        assert isinstance(self.disk, SlowDisk)
        if self.path == LOG:
            await self.disk.permits.acquire()
        await super().fsync()


class SlowDisk(MemoryDisk):
    """A flush of the log takes as long as the test wants: each needs a permit."""

    def __init__(self) -> None:
        super().__init__(folders=["/data"])
        self.permits = asyncio.Semaphore(0)

    def open(self, path: str, *, create: bool = False) -> MemoryFile:
        super().open(path, create=create)
        return SlowFile(self, path, self.files[path])

    def permit(self, flushes: int = 100) -> None:
        for _ in range(flushes):
            self.permits.release()

    @property
    def log_flushes(self) -> int:
        return self.steps.count(("fsync", LOG))


async def opened(flush_messages: int) -> tuple[World, SlowDisk, PartitionLog]:
    disk = SlowDisk()
    world = World(disk, flush_messages=flush_messages)
    return world, disk, await world.open()


def append(log: PartitionLog, count: int = 1) -> AppendInfo:
    return log.append_as_leader(batch(count), 0, AppendOrigin.CLIENT, START_MS)


async def settling(world: World, log: PartitionLog, end_offset: int) -> asyncio.Task[None]:
    task = world.spawn(log.recovery.settle(end_offset), name="acknowledgement")
    await world.spawn.settle()
    return task


async def test_without_the_setting_nothing_is_held() -> None:
    world, disk, log = await opened(2**63 - 1)
    append(log, 1000)
    assert log.recovery.settled_offset == 1000
    await log.recovery.settle(1000)
    await world.spawn.settle()
    assert disk.log_flushes == 0


async def test_the_record_that_fills_the_interval_waits_for_the_flush() -> None:
    world, disk, log = await opened(3)
    append(log, 2)
    await log.recovery.settle(2)
    append(log)
    assert log.recovery.settled_offset == 2, "the two before were acknowledged without a flush, which is all that was asked for"
    waiting = await settling(world, log, 3)
    assert not waiting.done()
    disk.permit()
    await waiting
    assert (log.recovery.settled_offset, log.recovery.point) == (3, 3)
    append(log, 2)
    assert log.recovery.settled_offset == 5, "the count starts anew"
    assert disk.log_flushes == 1


async def test_appends_during_a_flush_share_the_next_one() -> None:
    """One flush at a time; none is acknowledged by a flush that began before it was appended."""
    world, disk, log = await opened(1)
    told: list[int] = []
    log.recovery.on_settled = lambda: told.append(log.recovery.settled_offset)
    append(log)
    first = await settling(world, log, 1)
    append(log)
    append(log)
    later = [await settling(world, log, end) for end in (2, 3)]
    disk.permit(1)
    await first
    await world.spawn.settle()
    assert log.recovery.settled_offset == 1
    assert not any(task.done() for task in later)
    disk.permit(1)
    for task in later:
        await task
    assert (told, disk.log_flushes) == ([1, 3], 2)


async def test_a_record_appended_during_a_flush_waits_for_it_but_asks_for_none() -> None:
    world, disk, log = await opened(2)
    append(log, 2)
    await world.spawn.settle()
    append(log)
    waiting = await settling(world, log, 3)
    assert not waiting.done()
    disk.permit()
    await waiting
    await world.spawn.settle()
    assert (log.recovery.settled_offset, log.recovery.point, disk.log_flushes) == (3, 2, 1)


async def test_a_failed_flush_is_a_storage_error_and_takes_the_log_offline() -> None:
    world, disk, log = await opened(1)
    append(log)
    waiting = await settling(world, log, 1)
    disk.fail["fsync"] = errno.EIO
    disk.permit()
    with pytest.raises(KafkaError) as told:
        await waiting
    assert told.value.code is ErrorCode.KAFKA_STORAGE_ERROR
    assert log.recovery.settled_offset == 0
    for refused in (lambda: append(log), lambda: log.append_as_follower(batch(1, base_offset=1), START_MS)):
        with pytest.raises(KafkaError, match="waits for recovery"):
            refused()
    with pytest.raises(KafkaError, match="waits for recovery"):
        await log.recovery.settle(1)
    del disk.fail["fsync"]
    await log.look_after(START_MS)
    await log.recovery.settle(1)
    append(log)
    await log.recovery.settle(2)
    assert log.recovery.point == 2


async def test_a_flush_that_found_no_file_handle_is_tried_again() -> None:
    """By whoever waits next, and by the periodic look where nobody does."""
    world, disk, log = await opened(1)
    disk.permit()
    for number in (1, 2):
        append(log)
        disk.fail["fsync"] = errno.EMFILE
        with pytest.raises(KafkaError):
            await log.recovery.settle(number)
        assert (log.health.failure, log.recovery.settled_offset) == (None, number - 1)
        del disk.fail["fsync"]
        if number == 1:
            await log.recovery.settle(number)
        else:
            await log.look_after(START_MS)
            await world.spawn.settle()
        assert log.recovery.settled_offset == number


async def test_a_duplicate_of_a_held_batch_waits_as_well() -> None:
    world, disk, log = await opened(1)
    data = batch(1, producer_id=7, producer_epoch=0, base_sequence=0)
    log.append_as_leader(data, 0, AppendOrigin.CLIENT, START_MS)
    again = log.append_as_leader(data, 0, AppendOrigin.CLIENT, START_MS)
    assert again.duplicate
    waiting = await settling(world, log, again.last_offset + 1)
    assert not waiting.done()
    disk.permit()
    await waiting


async def test_records_that_are_cut_off_are_not_acknowledged() -> None:
    world, disk, log = await opened(1)
    append(log)
    kept = await settling(world, log, 1)
    append(log)
    gone = await settling(world, log, 2)
    cutting = world.spawn(log.truncate_to(1), name="cut")
    await world.spawn.settle()
    with pytest.raises(KafkaError) as told:
        await gone
    assert told.value.code is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert (log.recovery.settled_offset, kept.done()) == (0, False)
    disk.permit()
    await kept
    await cutting
    assert log.recovery.settled_offset == 1


async def test_a_cut_below_all_that_is_held_leaves_nothing_held() -> None:
    world, disk, log = await opened(1)
    disk.permit(1)
    append(log)
    await log.recovery.settle(1)
    append(log)
    cutting = world.spawn(log.truncate_to(1), name="cut")
    await world.spawn.settle()
    assert log.recovery.settled_offset == log.log_end_offset == 1
    disk.permit()
    await cutting


@pytest.mark.parametrize("clean", [True, False])
async def test_closing_ends_the_wait(clean: bool) -> None:
    """A clean close flushes, so the records are acknowledged; otherwise nobody may say that they are safe."""
    world, disk, log = await opened(1)
    append(log)
    waiting = await settling(world, log, 1)
    closing = world.spawn(log.close(clean), name="close")
    await world.spawn.settle()
    disk.permit()
    await closing
    if clean:
        await waiting
    else:
        with pytest.raises(KafkaError) as told:
            await waiting
        assert told.value.code is ErrorCode.KAFKA_STORAGE_ERROR
