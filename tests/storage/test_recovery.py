"""What a log is after the process died."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import struct
import zlib
from collections.abc import Awaitable, Callable

import pytest

from broker_core.errors import ErrorCode, KafkaError
from broker_core.records.batch import iter_headers
from broker_core.storage.log import AppendOrigin, PartitionLog
from tests.support.log_world import FOLDER, START_MS, Crash, MemoryDisk, MemoryFile, World, all_bytes, at_time, batch, sized_batch

LOG = f"{FOLDER}/{0:020d}.log"


def append(log: PartitionLog, count: int, epoch: int = 0, size_bytes: int = 300) -> None:
    for _ in range(count):
        log.append_as_leader(sized_batch(size_bytes), epoch, AppendOrigin.CLIENT, START_MS)


def offsets(log: PartitionLog) -> list[int]:
    return [header.base_offset for _, header in iter_headers(all_bytes(log))]


async def filled(count: int = 10, **settings: object) -> tuple[World, PartitionLog]:
    world = World(**{"segment_bytes": 1000, "index_interval_bytes": 0, **settings})
    log = await world.open()
    append(log, count)
    return world, log


@pytest.mark.parametrize("cut", [1, 60, 150, 299])
async def test_a_torn_last_batch_is_cut_off(cut: int) -> None:
    world, _log = await filled(3, segment_bytes=10_000)
    del world.disk.files[LOG][-cut:]
    again = await world.next_process().open()
    assert again.log_end_offset == 2
    assert offsets(again) == [0, 1]
    append(again, 1)
    assert offsets(again) == [0, 1, 2]


async def test_everything_after_a_bad_batch_goes() -> None:
    """A damaged byte in the middle: the log ends before its batch, later segments go."""
    world, _log = await filled()
    world.disk.files[f"{FOLDER}/{3:020d}.log"][300 + 100] ^= 1
    again = await world.next_process().open()
    assert (again.log_end_offset, again.segments.bases) == (4, [0, 3])
    assert sorted(name for name in world.disk.list_dir(FOLDER) if name.endswith(".log"))[0] == f"{0:020d}.log"
    append(again, 3)
    assert offsets(again) == list(range(7))


async def test_below_the_recovery_point_nothing_is_read() -> None:
    """Flushed segments are taken as they are; damage there is found by readers' CRC checks."""
    world, log = await filled()
    await world.spawn.settle()
    assert log.recovery.point == 9
    world.disk.files[f"{FOLDER}/{3:020d}.log"][300 + 100] ^= 1
    again = await world.next_process().open(recovery_point=9)
    assert again.log_end_offset == 10
    assert again.recovery.point == 9


async def test_garbage_in_an_index_is_noticed_and_mended() -> None:
    for kind, garbage in ((".index", b"\xff" * 16), (".index", b"\x00" * 9), (".timeindex", b"\xff" * 24), (".timeindex", b"abc")):
        world, log = await filled(6)
        await log.close()
        good = bytes(world.disk.files[f"{FOLDER}/{0:020d}{kind}"])
        world.disk.files[f"{FOLDER}/{0:020d}{kind}"] = bytearray(garbage)
        next_world = world.next_process()
        again = await next_world.open(clean=True)
        assert bytes(next_world.disk.files[f"{FOLDER}/{0:020d}{kind}"]) == good
        assert offsets(again) == list(range(6))


async def test_missing_and_orphaned_indexes() -> None:
    world, log = await filled(6)
    await log.close()
    del world.disk.files[f"{FOLDER}/{0:020d}.index"]
    world.disk.files[f"{FOLDER}/{777:020d}.index"] = bytearray(8)
    next_world = world.next_process()
    again = await next_world.open(clean=True)
    assert offsets(again) == list(range(6))
    assert f"{FOLDER}/{0:020d}.index" in next_world.disk.files
    assert f"{FOLDER}/{777:020d}.index" not in next_world.disk.files


async def test_kafkas_preallocated_index_of_a_killed_broker() -> None:
    """A killed Kafka leaves its active index at full size, zeros after the entries: it is made anew."""
    world, _log = await filled(3)
    world.disk.files[f"{FOLDER}/{0:020d}.index"] = bytearray(10_000 // 8 * 8)
    world.disk.files[f"{FOLDER}/{0:020d}.timeindex"] = bytearray(10_000 // 12 * 12)
    for clean in (False, True):
        next_world = world.next_process()
        again = await next_world.open(clean=clean)
        assert offsets(again) == [0, 1, 2]
        assert again.segments.active.offset_index.count == 2


@pytest.mark.parametrize(("stale", "end"), [((5, 1), 10), ((0, 12), 10), ((10, 1), 11), ((12, 1), 13)])
async def test_a_good_batch_in_the_wrong_place_is_no_part_of_the_log(stale: tuple[int, int], end: int) -> None:
    """What an earlier life left behind the end: whole, with a right CRC, but its offsets do not go on from there."""
    world = World(segment_bytes=10_000)
    log = await world.open()
    append(log, 10)
    world.disk.files[LOG] += batch(stale[1], base_offset=stale[0])
    again = await world.next_process().open()
    assert again.log_end_offset == end
    assert [header.base_offset for _, header in iter_headers(all_bytes(again))][:10] == list(range(10))


@pytest.mark.spec("S6", "R6")
@pytest.mark.parametrize("producer_id", [0, 7])
async def test_epochs_and_producers_come_back_from_the_batches(producer_id: int) -> None:
    """Epoch entries and producer state are rebuilt with the indexes."""
    world = World(segment_bytes=1000)
    log = await world.open()
    for number in range(8):
        data = batch(2, value="x" * 100, producer_id=producer_id, producer_epoch=0, base_sequence=number * 2)
        log.append_as_leader(data, number // 3, AppendOrigin.CLIENT, START_MS)
    epochs, producers = log.epochs.entries, log.producer_state.entries
    world.disk.files.pop(f"{FOLDER}/leader-epoch-checkpoint", None)
    again = await world.next_process().open()
    assert again.epochs.entries == epochs == [(0, 0), (1, 6), (2, 12)]
    assert again.producer_state.entries == producers
    repeat = batch(2, value="x" * 100, producer_id=producer_id, producer_epoch=0, base_sequence=14)
    info = again.append_as_leader(repeat, 2, AppendOrigin.CLIENT, START_MS)
    assert (info.duplicate, info.first_offset, info.last_offset) == (True, 14, 15)


async def test_an_unreadable_epoch_checkpoint_is_made_from_the_batches() -> None:
    world = World()
    log = await world.open()
    append(log, 2, epoch=3)
    append(log, 2, epoch=5)
    await log.close()
    world.disk.files[f"{FOLDER}/leader-epoch-checkpoint"] = bytearray(b"nonsense")
    again = await world.next_process().open(clean=True)
    assert again.epochs.entries == [(3, 0), (5, 2)]


async def test_a_corrupt_snapshot_is_dropped() -> None:
    world = World(segment_bytes=1000)
    log = await world.open()
    for number in range(4):
        log.append_as_leader(
            batch(1, value="x" * 300, producer_id=7, producer_epoch=0, base_sequence=number), 0, AppendOrigin.CLIENT, START_MS
        )
    producers = log.producer_state.entries
    await log.close()
    for path in list(world.disk.files):
        if path.endswith(".snapshot"):
            world.disk.files[path] = bytearray(b"broken")
    again = await world.next_process().open(clean=True)
    assert again.producer_state.entries == producers


async def test_a_log_that_ends_below_its_start_is_emptied() -> None:
    world, _log = await filled(3)
    again = await world.next_process().open(log_start_offset=50)
    assert (again.log_start_offset, again.log_end_offset, again.segments.bases) == (50, 50, [50])


async def test_recovery_lets_others_run() -> None:
    """Slices: with a clock that moves at every look, the loop gets its turn again and again."""
    world, _log = await filled(200, segment_bytes=1 << 20)
    next_world = world.next_process()
    ticks = iter(range(10**6))
    next_world.clock.monotonic_ms = lambda: float(next(ticks) * 3)
    again = await next_world.open()
    assert again.log_end_offset == 200
    assert next_world.clock.yields > 5


def old_message(offset: int, value: bytes, timestamp_ms: int) -> bytes:
    """One message of magic 1."""
    body = struct.pack(">bbqii", 1, 0, timestamp_ms, -1, len(value)) + value
    body = struct.pack(">I", zlib.crc32(body)) + body
    return struct.pack(">qi", offset, len(body)) + body


@pytest.mark.spec("S3")
async def test_segments_of_the_old_format_are_read() -> None:
    """A log written with magic 1 opens, answers by offset and time, and goes on in magic 2."""
    world = World(
        MemoryDisk({LOG: bytearray(b"".join(old_message(n, b"x" * 100, START_MS + n) for n in range(50)))}, folders=["/data", FOLDER])
    )
    log = await world.open()
    assert log.log_end_offset == 50
    assert log.read(17, 134 * 3, 50).length == 134 * 3
    assert log.read(17, 134 * 3, 50).next_offset == 20
    assert at_time(log, START_MS + 20) == (20, START_MS + 20, -1)
    append(log, 1)
    again = await world.next_process().open()
    assert again.log_end_offset == 51
    world.disk.files[LOG][134 * 30 + 60] ^= 1
    again = await world.next_process().open()
    assert again.log_end_offset == 30


async def test_a_batch_larger_than_the_read_chunk() -> None:
    world = World()
    log = await world.open()
    for size_bytes in (300, 700_000, 300):
        append(log, 1, size_bytes=size_bytes)
    again = await world.next_process().open()
    assert again.log_end_offset == 3


async def crash_everywhere(
    prepare: Callable[[World], Awaitable[PartitionLog]],
    action: Callable[[World, PartitionLog], Awaitable[None]],
    check: Callable[[World, PartitionLog], Awaitable[None]],
) -> int:
    """Runs `action` with a death at its first, second, … disk operation, reopens and checks; returns how many steps it has."""
    for step in range(1000):
        world = World(MemoryDisk(folders=["/data"]), segment_bytes=1000, index_interval_bytes=0)
        log = await prepare(world)
        await world.spawn.settle()
        world.disk.crash_at = len(world.disk.steps) + step
        with contextlib.suppress(Crash):
            await action(world, log)
            await world.spawn.settle()
            for task in world.spawn.tasks:
                if task.done() and not task.cancelled() and task.exception() is not None:
                    raise task.exception() or AssertionError
        crashed = world.disk.crashed
        await world.spawn.stop()
        next_world = world.next_process()
        again = await next_world.open(recovery_point=log.recovery.point)
        await check(next_world, again)
        if not crashed:
            return step
    raise AssertionError("never ran through")


async def prepared(world: World) -> PartitionLog:
    log = await world.open()
    append(log, 8, epoch=1)
    append(log, 1, epoch=2)
    return log


async def test_crash_at_each_step_of_appending_and_rolling() -> None:
    async def action(world: World, log: PartitionLog) -> None:
        append(log, 6, epoch=3)

    async def check(world: World, log: PartitionLog) -> None:
        assert 9 <= log.log_end_offset <= 15
        assert offsets(log) == list(range(log.log_end_offset))
        assert log.epochs.entries == [(1, 0), (2, 8), (3, 9)][: 2 + (log.log_end_offset > 9)]
        append(log, 1, epoch=4)

    assert await crash_everywhere(prepared, action, check) > 10


@pytest.mark.parametrize("target", [8, 7, 6, 4, 1, 0])
async def test_crash_at_each_step_of_truncation(target: int) -> None:
    async def action(world: World, log: PartitionLog) -> None:
        await log.truncate_to(target)

    async def check(world: World, log: PartitionLog) -> None:
        assert target <= log.log_end_offset <= 9
        assert offsets(log) == list(range(log.log_end_offset))
        assert all(start < log.log_end_offset for _, start in log.epochs.entries)
        await log.truncate_to(target)
        append(log, 1, epoch=4)
        assert offsets(log) == list(range(target + 1))

    assert await crash_everywhere(prepared, action, check) > 1


async def test_crash_at_each_step_of_starting_anew() -> None:
    async def action(world: World, log: PartitionLog) -> None:
        await log.truncate_fully_and_start_at(500)

    async def check(world: World, log: PartitionLog) -> None:
        assert log.log_end_offset in {*range(10), 500}
        assert offsets(log) == list(range(log.log_end_offset if log.log_end_offset < 500 else 0))
        await log.truncate_fully_and_start_at(500)
        append(log, 1, epoch=4)
        assert offsets(log) == [500]

    assert await crash_everywhere(prepared, action, check) > 5


async def test_crash_at_each_step_of_retention() -> None:
    async def action(world: World, log: PartitionLog) -> None:
        world.configure(retention_bytes=400)
        log.update_high_watermark(log.log_end_offset)
        await log.delete_expired(START_MS)

    async def check(world: World, log: PartitionLog) -> None:
        assert log.log_end_offset == 9
        assert offsets(log) == list(range(log.log_start_offset, 9))
        assert log.log_start_offset in {0, 3, 6}

    assert await crash_everywhere(prepared, action, check) > 3


@pytest.mark.parametrize("segment_bytes", [10_000, 1_000])
async def test_a_full_disk_closes_the_log_as_it_was_and_is_told_to_its_owner(segment_bytes: int) -> None:
    """At an append, and at the roll that it asks for: the next process finds what was acknowledged, and no half of a batch."""
    world, log = await filled(3, segment_bytes=segment_bytes)
    told: list[tuple[str, int | None]] = []
    log.health.on_io_error = lambda what, error: told.append((what, error.errno))
    world.disk.full = True
    for _ in range(3):
        with pytest.raises(KafkaError) as caught:
            append(log, 1)
        assert caught.value.code is ErrorCode.KAFKA_STORAGE_ERROR
    assert told == [("append of events-0", errno.ENOSPC)], "the later ones were not tried"
    assert (log.log_end_offset, offsets(log), log.segments.bases) == (3, [0, 1, 2], [0])
    world.disk.full = False
    with pytest.raises(KafkaError, match="waits for recovery"):
        append(log, 1)
    again = await world.next_process().open()
    assert offsets(again) == [0, 1, 2]
    append(again, 1)
    assert offsets(again) == [0, 1, 2, 3]


@pytest.mark.spec("B16")
async def test_after_an_io_error_nothing_is_appended_until_recovery() -> None:
    """KAFKA-10778."""
    world, log = await filled(2, segment_bytes=10_000)
    world.disk.fail["append"] = errno.EIO
    with pytest.raises(KafkaError):
        append(log, 1)
    del world.disk.fail["append"]
    with pytest.raises(KafkaError, match="waits for recovery"):
        append(log, 1)
    await log.recover()
    append(log, 1)
    assert offsets(log) == [0, 1, 2]


async def test_what_an_io_error_left_behind_is_overwritten() -> None:
    world, log = await filled(2, segment_bytes=10_000)
    world.disk.fail["append"] = errno.EIO
    with pytest.raises(KafkaError):
        append(log, 1)
    del world.disk.fail["append"]
    world.disk.files[LOG] += sized_batch(300)[:200]
    await log.recover()
    append(log, 1)
    assert len(world.disk.files[LOG]) == 900
    assert offsets(log) == [0, 1, 2]


async def test_a_failed_flush_does_not_move_the_recovery_point() -> None:
    world, log = await filled(2, segment_bytes=10_000)
    world.disk.fail["fsync"] = errno.EIO
    with pytest.raises(KafkaError):
        await log.recovery.flush()
    assert log.recovery.point == 0
    assert log.health.failure is not None
    await log.close()
    assert not [path for path in world.disk.files if path.endswith(".snapshot")]


@pytest.mark.spec("S5")
class CachedFile(MemoryFile):
    """One whose disk has only zeros from some position on, which the page cache hides until it is dropped."""

    async def flush_and_drop_cache(self) -> None:
        await super().flush_and_drop_cache()
        assert isinstance(self.disk, CachingDisk)
        on_disk = self.disk.on_disk.get(self.path, len(self.data))
        self.data[on_disk:] = bytes(len(self.data) - on_disk)


class CachingDisk(MemoryDisk):
    """`on_disk`: how many bytes of a file the disk has got, where it lacks some."""

    on_disk: dict[str, int]

    def open(self, path: str, *, create: bool = False) -> MemoryFile:
        super().open(path, create=create)
        return CachedFile(self, path, self.files[path])


async def test_what_only_the_page_cache_has_is_no_part_of_the_log() -> None:
    """After a flush that failed the next one says yes without having written: what recovery kept would be zeros one day."""
    world, _log = await filled(10)
    disk = CachingDisk(world.disk.files, sorted(world.disk.folders))
    disk.on_disk = {f"{FOLDER}/{3:020d}.log": 450}
    again = await World(disk, segment_bytes=1000).open()
    assert (again.log_end_offset, again.segments.bases) == (4, [0, 3])
    assert offsets(again) == [0, 1, 2, 3]


class MindfulFile(MemoryFile):
    """Its first flush tells that what an earlier process wrote did not reach the disk."""

    async def fsync(self) -> None:
        assert isinstance(self.disk, MindfulDisk)
        if any(self.data is file for file in self.disk.failed_before):
            self.disk.failed_before = [file for file in self.disk.failed_before if self.data is not file]
            raise OSError(errno.EIO, "an earlier write failed", self.path)
        await super().fsync()


class MindfulDisk(MemoryDisk):
    failed_before: list[bytearray]

    def open(self, path: str, *, create: bool = False) -> MemoryFile:
        super().open(path, create=create)
        return MindfulFile(self, path, self.files[path])


async def test_what_failed_under_the_process_before_does_not_fail_the_flushes_of_this_one() -> None:
    world, log = await filled(10)
    await log.close()
    disk = MindfulDisk(world.disk.files, sorted(world.disk.folders))
    disk.failed_before = list(disk.files.values())
    again = await World(disk, segment_bytes=1000, index_interval_bytes=0).open()
    append(again, 10)
    await again.recovery.flush()
    assert again.recovery.point == again.log_end_offset == 20


async def test_a_disk_that_still_fails_is_told_when_the_log_is_opened() -> None:
    world, _log = await filled(3)
    process = world.next_process()
    process.disk.fail["fsync"] = errno.EIO
    with pytest.raises(OSError, match="fsync failed"):
        await process.open()


async def test_flush_by_message_count() -> None:
    """`flush.messages`."""
    world, log = await filled(0, segment_bytes=10_000, flush_messages=3)
    append(log, 2)
    await world.spawn.settle()
    assert log.recovery.point == 0
    append(log, 1)
    await world.spawn.settle()
    assert log.recovery.point == 3
    assert ("fsync", LOG) in world.disk.steps


async def test_a_roll_that_failed_half_way_hides_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """File handles may run out between a segment's log and its index; a smaller batch still fits into the old segment."""
    world, log = await filled(3)
    step = world.disk.step

    def no_index(operation: str, path: str, torn: Callable[[], None] | None = None) -> bool:
        if operation == "create" and path.endswith(".index"):
            raise OSError(errno.EMFILE, "Too many open files", path)
        return step(operation, path, torn)

    monkeypatch.setattr(world.disk, "step", no_index)
    with pytest.raises(KafkaError):
        append(log, 1)
    monkeypatch.undo()
    append(log, 1, size_bytes=100)
    append(log, 1)
    await log.close()
    again = await world.next_process().open(clean=True)
    assert [again.read(offset, 1, 5, True).first_offset for offset in range(5)] == list(range(5))


async def test_a_log_that_cannot_start_anew_is_as_it_was() -> None:
    world, log = await filled(3)
    world.disk.fail["create"] = errno.EMFILE
    with pytest.raises(KafkaError):
        await log.truncate_fully_and_start_at(100)
    del world.disk.fail["create"]
    assert offsets(log) == [0, 1, 2]
    await log.look_after(START_MS)
    await log.truncate_fully_and_start_at(100)
    append(log, 1)
    assert offsets(log) == [100]
    await log.close()
    assert offsets(await world.next_process().open(clean=True)) == [100]


def with_producer(log: PartitionLog, count: int) -> None:
    for number in range(count):
        log.append_as_leader(batch(1, producer_id=7, producer_epoch=0, base_sequence=number), 0, AppendOrigin.CLIENT, START_MS)


async def test_a_snapshot_that_a_broken_truncation_left_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The log grows past it again, with other batches than those it knows of."""
    world = World()
    log = await world.open()
    with_producer(log, 4)
    log.roll(START_MS)
    await world.spawn.settle()

    async def die(path: str) -> None:
        raise Crash(path)

    monkeypatch.setattr(world.disk, "remove", die)
    with pytest.raises(Crash):
        await log.truncate_to(2)
    next_world = world.next_process()
    log = await next_world.open()
    assert log.log_end_offset == 2
    append(log, 3)
    again = await next_world.next_process().open()
    assert again.log_end_offset == 5
    assert again.producer_state.entries[7].last_sequence == 1


async def test_a_stop_in_a_truncation_leaves_no_snapshot_of_what_was_cut() -> None:
    """A producer would be told that its batch is a duplicate, and the batch is not there."""
    world = World()
    log = await world.open()
    with_producer(log, 40)
    ticks = iter(range(10**6))
    world.clock.monotonic_ms = lambda: float(next(ticks) * 3)
    cut = world.spawn(log.truncate_to(30), name="cut")
    await world.spawn.settle(rounds=1)
    assert not cut.done()
    cut.cancel()
    await log.close()
    again = await world.next_process().open(clean=True)
    assert again.log_end_offset == 30
    assert again.producer_state.entries[7].last_sequence == 29


async def test_a_snapshot_on_its_way_to_the_disk_is_cut_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    log = await world.open()
    with_producer(log, 4)
    written, write = asyncio.Event(), world.disk.write_atomic

    async def slow(path: str, data: bytes) -> None:
        if path.endswith(".snapshot"):
            await written.wait()
        await write(path, data)

    monkeypatch.setattr(world.disk, "write_atomic", slow)
    log.roll(START_MS)
    await world.spawn.settle()
    cut = world.spawn(log.truncate_to(2), name="cut")
    await world.spawn.settle()
    written.set()
    await cut
    await world.spawn.settle()
    assert not [path for path in world.disk.files if path.endswith(".snapshot")]
