"""Compaction: the last record of each key stays."""

from __future__ import annotations

import contextlib
import errno
import itertools
import struct
from dataclasses import replace
from typing import Any

import pytest

from broker_core.model import TopicPartition
from broker_core.records.batch import Codec, Record, build_batch, check_batch, iter_headers, read_records
from broker_core.records.budget import DECODED_RECORDS_MAX
from broker_core.records.steps import RECORDS_PER_STEP, finish
from broker_core.storage.cleaning.cleanable import CleanRange, SegmentSpan, clean_range, wants_cleaning
from broker_core.storage.cleaning.compaction import OffsetMap
from broker_core.storage.cleaning.log_cleaner import LogCleaner, groups
from broker_core.storage.folder import names
from broker_core.storage.folder.data_folder import DataFolder
from broker_core.storage.log import AppendOrigin, PartitionLog
from broker_core.storage.segments.segment import Segment
from broker_core.storage.segments.segment_store import SegmentStore
from broker_core.storage.slices import SLICE_MS
from tests.support.bombs import many_records
from tests.support.log_world import FOLDER, PARTITION, START_MS, Crash, MemoryDisk, World, all_bytes, at_time, sized_batch

pytestmark = pytest.mark.spec("S4")

DAY_MS = 86_400_000
COMPACT = {"cleanup_policy": ("compact",), "segment_bytes": 400, "min_cleanable_dirty_ratio": 0.0, "delete_retention_ms": DAY_MS}


class Cleaning:
    """A compacted log and its cleaner."""

    def __init__(self, world: World, log: PartitionLog) -> None:
        self.world = world
        self.log = log
        self.folder = DataFolder(world.node, "/data")
        self.cleaner = LogCleaner(world.node, world.holder, lambda: [self.log], [self.folder])

    def put(self, *pairs: tuple[str, str | None], **fields: Any) -> None:
        records = [Record(n, START_MS, key.encode(), None if value is None else value.encode(), ()) for n, (key, value) in enumerate(pairs)]
        self.log.append_as_leader(build_batch(records, base_offset=0, **fields), 0, AppendOrigin.CLIENT, START_MS)

    def end(self, producer_id: int, *, commit: bool) -> None:
        marker = Record(0, START_MS, struct.pack(">hh", 0, int(commit)), struct.pack(">hi", 0, 0), ())
        data = build_batch([marker], base_offset=0, producer_id=producer_id, producer_epoch=0, transactional=True, control=True)
        self.log.append_as_leader(data, 0, AppendOrigin.COORDINATOR, START_MS)

    def close_segment(self) -> None:
        """All there is becomes cleanable."""
        self.log.update_high_watermark(self.log.log_end_offset)
        self.log.roll(self.world.clock.now_ms())

    async def clean(self) -> None:
        await self.cleaner.clean_all()

    def records(self) -> list[tuple[int, str, str | None]]:
        return records(self.log)


def records(log: PartitionLog) -> list[tuple[int, str, str | None]]:
    found, data = [], all_bytes(log)
    for position, header in iter_headers(data):
        check_batch(data, position, header)
        if not header.is_control:
            for record in read_records(data, position, header):
                found.append((record.offset, (record.key or b"").decode(), None if record.value is None else record.value.decode()))
    return found


async def cleaning(**settings: Any) -> Cleaning:
    world = World(**{**COMPACT, **settings})
    return Cleaning(world, await world.open())


async def test_the_last_value_of_each_key_stays_at_its_offset() -> None:
    c = await cleaning()
    for number in range(30):
        c.put((f"k{number % 3}", f"v{number}"), (f"once{number}", "x" * 20))
    c.close_segment()
    before = c.log.segments.size_bytes
    end = c.log.log_end_offset
    await c.clean()
    assert [(key, value) for _, key, value in c.records() if key.startswith("k")] == [("k0", "v27"), ("k1", "v28"), ("k2", "v29")]
    assert [offset for offset, key, _ in c.records() if key.startswith("once")] == list(range(1, 60, 2))
    assert c.log.log_end_offset == end
    assert c.log.segments.size_bytes < before
    assert c.cleaner.cleaned == {PARTITION: end}
    assert bytes(c.world.disk.files["/data/cleaner-offset-checkpoint"]) == f"0\n1\nevents 0 {end}\n".encode()


async def test_a_log_that_moves_is_left_alone_also_in_the_midst_of_a_compaction() -> None:
    c = await cleaning()
    for number in range(30):
        c.put((f"k{number % 3}", f"v{number}"), (f"once{number}", "x" * 20))
    c.close_segment()
    before = c.records()
    read, calls, pause = c.log.segments[0].file.__class__.pread, [], c.cleaner.pause(PARTITION)

    def pausing(self: Any, position: int, count: int) -> bytes:
        calls.append(position)
        if len(calls) == 3:
            pause.send(None)  # as far as it waits for the compaction to end
        return read(self, position, count)

    c.log.segments[0].file.__class__.pread = pausing  # type: ignore[method-assign]
    try:
        await c.clean()
    finally:
        c.log.segments[0].file.__class__.pread = read  # type: ignore[method-assign]
        pause.close()
    await c.clean()
    assert (c.records(), c.cleaner.cleaned) == (before, {})
    assert not [path for path in c.world.disk.files if path.endswith(".cleaned")]
    c.cleaner.resume(PARTITION)
    await c.clean()
    assert len(c.records()) == 33


async def test_every_offset_can_still_be_asked_for() -> None:
    c = await cleaning()
    for number in range(40):
        c.put((f"k{number % 4}", f"v{number}"))
    c.close_segment()
    c.put(("k0", "new"))
    await c.clean()
    kept = [offset for offset, _, _ in c.records()]
    assert kept == [36, 37, 38, 39, 40]
    for offset in range(c.log.log_end_offset):
        part = c.log.read(offset, 1 << 20, c.log.log_end_offset, min_one_batch=True)
        assert part.records is not None
        data = part.records.file.pread(part.records.position, part.length)
        first = next(header for _, header in iter_headers(data))
        assert first.last_offset == next(each for each in kept if each >= offset)


async def test_tombstones_go_after_their_time() -> None:
    """delete.retention.ms counts from the first compaction that met the tombstone (KIP-534)."""
    c = await cleaning()
    c.put(("gone", "value"), ("kept", "value"))
    c.put(("gone", None))
    c.close_segment()
    await c.clean()
    assert c.records() == [(1, "kept", "value"), (2, "gone", None)]
    await c.world.clock.advance(DAY_MS)
    c.put(("other", "1"))
    c.close_segment()
    await c.clean()
    assert (2, "gone", None) in c.records()
    await c.world.clock.advance(1)
    c.put(("other", "2"))
    c.close_segment()
    await c.clean()
    assert c.records() == [(1, "kept", "value"), (4, "other", "2")]


async def test_timestamps_survive_a_delete_horizon() -> None:
    c = await cleaning()
    c.put(("a", None), ("b", "1"))
    c.close_segment()
    await c.clean()
    data = all_bytes(c.log)
    ((position, header),) = iter_headers(data)
    assert header.attributes & 0x40
    assert header.base_timestamp == START_MS + DAY_MS
    assert [record.timestamp_ms for record in read_records(data, position, header)] == [START_MS, START_MS]
    assert header.max_timestamp == START_MS


@pytest.mark.parametrize("codec", [0, 1, 2, 3, 4])
async def test_compressed_batches_stay_compressed(codec: int) -> None:
    c = await cleaning()
    c.put(("a", "1"), ("b", "2"), ("c", "3"), compression=codec)
    c.put(("b", "4"), compression=codec)
    c.close_segment()
    await c.clean()
    assert c.records() == [(0, "a", "1"), (2, "c", "3"), (3, "b", "4")]
    assert {header.compression for _, header in iter_headers(all_bytes(c.log))} == {codec}


@pytest.mark.spec("B21")
async def test_nothing_above_the_stable_offset_is_touched() -> None:
    """KAFKA-13194: neither unreplicated records nor open transactions are compacted."""
    c = await cleaning(segment_bytes=100_000)
    c.put(("a", "1"))
    c.put(("a", "2"))
    c.close_segment()
    c.put(("a", "3"), producer_id=1, producer_epoch=0, base_sequence=0, transactional=True)
    c.put(("a", "4"))
    c.close_segment()
    c.log.update_high_watermark(4)
    assert c.log.last_stable_offset == 2
    await c.clean()
    assert [value for _, _, value in c.records()] == ["2", "3", "4"]
    c.log.update_high_watermark(1)
    found = c.cleaner.range_of(c.log)
    assert found is None


async def test_an_abort_that_is_not_replicated_is_no_abort_yet() -> None:
    """The marker lies above the high watermark: a new leader might not have it."""
    c = await cleaning(segment_bytes=100_000)
    c.put(("a", "1"))
    c.put(("a", "2"))
    c.put(("a", "3"), producer_id=1, producer_epoch=0, base_sequence=0, transactional=True)
    c.end(1, commit=False)
    c.put(("z", "1"), producer_id=1, producer_epoch=0, base_sequence=1)
    c.log.update_high_watermark(3)
    c.log.roll(START_MS)
    await c.clean()
    assert [value for _, _, value in c.records()] == ["2", "3", "1"]


async def test_only_flushed_segments_are_exchanged() -> None:
    """Holes that compaction makes lie below the recovery point, where recovery does not look for holes."""
    c = await cleaning()
    for number in range(20):
        c.put(("k", f"v{number}"))
    c.close_segment()
    await c.world.spawn.stop()
    assert c.log.recovery.point == 0
    await c.clean()
    assert c.log.recovery.point == 20


async def test_aborted_records_go_and_their_markers_follow() -> None:
    c = await cleaning()
    c.put(("a", "kept"))
    c.put(("a", "aborted"), producer_id=1, producer_epoch=0, base_sequence=0, transactional=True)
    c.end(1, commit=False)
    c.put(("b", "committed"), producer_id=2, producer_epoch=0, base_sequence=0, transactional=True)
    c.end(2, commit=True)
    c.put(("z", "1"), producer_id=1, producer_epoch=0, base_sequence=1)
    c.put(("z", "2"), producer_id=2, producer_epoch=0, base_sequence=1)
    c.close_segment()
    c.log.update_high_watermark(c.log.log_end_offset)
    await c.clean()
    assert c.records() == [(0, "a", "kept"), (3, "b", "committed"), (6, "z", "2")]
    assert markers(c.log) == [2, 4]
    assert c.log.read(0, 1 << 20, c.log.last_stable_offset).aborted == [(1, 1)]
    await c.world.clock.advance(DAY_MS + 1)
    c.put(("b", "new"))
    c.close_segment()
    await c.clean()
    assert markers(c.log) == [4]
    assert c.log.read(0, 1 << 20, c.log.last_stable_offset).aborted == []


def markers(log: PartitionLog) -> list[int]:
    return [header.base_offset for _, header in iter_headers(all_bytes(log)) if header.is_control]


async def test_a_producers_last_batch_keeps_its_sequence() -> None:
    c = await cleaning()
    c.put(("a", "1"), producer_id=1, producer_epoch=0, base_sequence=0)
    c.put(("a", "2"))
    c.close_segment()
    await c.clean()
    assert c.records() == [(1, "a", "2")]
    empty = next(header for _, header in iter_headers(all_bytes(c.log)))
    assert (empty.record_count, empty.producer_id, empty.base_sequence, empty.last_offset) == (0, 1, 0, 0)
    again = await c.world.next_process().open()
    assert again.producer_state.entries[1].last_sequence == 0


async def test_the_map_of_keys_is_bounded() -> None:
    """What does not fit is compacted by the next run; nothing is lost meanwhile."""
    c = await cleaning(segment_bytes=100_000)
    c.world.holder.current = replace(c.world.holder.current, log_cleaner_dedupe_buffer_size=1000)
    for number in range(20):
        c.put((f"k{number % 10}", f"v{number}"))
    c.close_segment()
    found = c.cleaner.range_of(c.log)
    assert found is not None
    await c.cleaner.clean(c.log, found)
    assert 0 < c.cleaner.cleaned[PARTITION] < 20
    assert {key: value for _, key, value in c.records()} == {f"k{n}": f"v{n + 10}" for n in range(10)}
    await c.clean()
    assert c.cleaner.cleaned[PARTITION] == 20


async def test_a_truncation_meanwhile_throws_the_work_away() -> None:
    c = await cleaning()
    for number in range(20):
        c.put(("k", f"v{number}"))
    c.close_segment()
    ticks = iter(range(10**6))
    c.world.clock.monotonic_ms = lambda: float(next(ticks) * 3)
    task = c.world.spawn(c.clean(), name="cleaner")
    await c.world.spawn.settle(rounds=5)
    assert not task.done()
    await c.log.truncate_to(2)
    await task
    assert c.records() == [(0, "k", "v0"), (1, "k", "v1")]
    assert not [path for path in c.world.disk.files if path.endswith((names.CLEANED, names.SWAP))]


async def test_crash_at_each_step_of_compaction() -> None:
    """Whatever the step: every key has its last value, no offset moves, and compaction can be done again."""
    for step in range(1000):
        world = World(MemoryDisk(folders=["/data"]), **{**COMPACT, "file_delete_delay_ms": 0})
        c = Cleaning(world, await world.open())
        for number in range(24):
            c.put((f"k{number % 5}", f"v{number}"))
        c.close_segment()
        world.configure(segment_bytes=1000)
        await world.spawn.settle()
        end, point = c.log.log_end_offset, c.log.recovery.point
        expected = {key: (offset, value) for offset, key, value in c.records()}
        world.disk.crash_at = len(world.disk.steps) + step
        with contextlib.suppress(Crash):
            await c.clean()
            await world.spawn.settle()
        crashed = world.disk.crashed
        await world.spawn.stop()
        next_world = world.next_process()
        again = Cleaning(next_world, await next_world.open(recovery_point=point))
        assert again.log.log_end_offset == end
        assert {key: (offset, value) for offset, key, value in again.records()} == expected
        again.log.update_high_watermark(end)
        await again.clean()
        assert len(again.records()) == 5
        assert not [path for path in next_world.disk.list_dir(FOLDER) if path.endswith((names.CLEANED, names.SWAP))]
        if not crashed:
            assert step > 20
            return


def test_what_may_be_compacted() -> None:
    config = World(**COMPACT).topic_config
    segments = [SegmentSpan(0, 100, 10), SegmentSpan(10, 300, 20), SegmentSpan(20, 50, 30), SegmentSpan(30, 0, -1)]

    def found(**changes: Any) -> CleanRange | None:
        values = {"checkpoint": 10, "log_start": 0, "last_stable": 30, "now_ms": 1000, **changes}
        return clean_range(segments, replace(config, **values.pop("config", {})), **values)

    assert found() == CleanRange(10, 30, 350 / 450, False)
    assert found(checkpoint=None) == CleanRange(0, 30, 1.0, False)
    assert found(checkpoint=99) == CleanRange(0, 30, 1.0, False)
    assert found(last_stable=25) == CleanRange(10, 25, 350 / 450, False)
    assert found(last_stable=10) is None
    assert found(checkpoint=30) is None
    assert found(now_ms=110, config={"min_compaction_lag_ms": 85}) == CleanRange(10, 20, 300 / 400, False)
    assert found(last_stable=15, now_ms=110, config={"min_compaction_lag_ms": 85}) == CleanRange(10, 15, 300 / 400, False)
    overdue = found(config={"max_compaction_lag_ms": 900, "min_cleanable_dirty_ratio": 1.0})
    assert overdue is not None and overdue.overdue
    assert wants_cleaning(overdue, replace(config, min_cleanable_dirty_ratio=1.0))
    assert not wants_cleaning(CleanRange(0, 1, 0.5, False), replace(config, min_cleanable_dirty_ratio=0.5))


async def test_segments_are_joined_as_far_as_an_index_reaches() -> None:
    """Offsets in an index are relative to the base, in 31 bits."""
    world = World()
    log = await world.open()
    for base in (0, 1000, 2**31 - 10, 2**31 + 10, 2**32):
        log.append_as_follower(sized_batch(300, base_offset=base), START_MS)
        log.roll(START_MS, base + 1)
    closed = [segment for segment in log.segments.closed if segment.size_bytes]
    found = groups(closed, 10_000, lambda segment: log.segments.end_offset(segment, log.log_end_offset))
    for group in found:
        last = max(span.last_offset for segment in group for span in segment.spans())
        assert all(group[0].takes(span.last_offset) for segment in group for span in segment.spans()), last
    by_size = groups(closed, 600, lambda segment: 0)
    assert [len(group) for group in by_size] == [2, 2, 1]


def test_the_offset_map_keeps_the_largest_offset() -> None:
    offsets = OffsetMap(10_000, 0)
    assert finish(offsets.adding([[Record(0, 0, b"a", b"1"), Record(1, 0, b"a", b"2")], [Record(2, 0, None, b"3")]], 3))
    kept = [offsets.is_latest(Record(n, 0, key, b"")) for n, key in ((0, b"a"), (1, b"a"), (2, None), (3, b"a"))]
    assert kept == [False, True, False, True]
    assert not finish(OffsetMap(100, 0).adding([[Record(0, 0, b"a", b"1")]], 1))


async def test_the_dirtiest_log_comes_first() -> None:
    c = await cleaning(min_cleanable_dirty_ratio=0.5)
    c.put(("a", "1"))
    c.close_segment()
    other = await PartitionLog.open(c.world.node, "/data/events-1", TopicPartition("events", 1), lambda: c.world.topic_config)
    cleaner = LogCleaner(c.world.node, c.world.holder, lambda: [other, c.log], [c.folder])
    chosen = cleaner.choose({})
    assert chosen is not None and chosen[0] is c.log
    assert cleaner.choose({PARTITION: chosen[1]}) is None


async def test_a_log_that_cannot_be_compacted_is_left_alone() -> None:
    """A damaged batch will not mend itself: it is told once, and others have their turn."""
    c = await cleaning()
    for number in range(20):
        c.put(("k", f"v{number}"))
    c.close_segment()
    await c.world.spawn.settle()
    damaged = c.world.disk.files[f"{FOLDER}/{0:020d}.log"]
    damaged[70] ^= 1
    before = bytes(damaged)
    await c.clean()
    assert c.cleaner.choose({}) is None
    assert bytes(c.world.disk.files[f"{FOLDER}/{0:020d}.log"]) == before, "kept as it is"
    assert not [path for path in c.world.disk.files if path.endswith((names.CLEANED, names.SWAP))]


async def test_a_full_disk_leaves_no_half_of_a_compaction() -> None:
    c = await cleaning()
    for number in range(20):
        c.put(("k", f"v{number}"))
    c.close_segment()
    await c.world.spawn.settle()
    c.world.disk.fail["append"] = errno.ENOSPC
    await c.clean()
    assert not [path for path in c.world.disk.files if path.endswith((names.CLEANED, names.SWAP))]
    assert c.records()[-1] == (19, "k", "v19")
    del c.world.disk.fail["append"]
    await c.clean()
    assert c.records() == [(19, "k", "v19")], "tried again once there is space"


async def test_what_compaction_leaves_is_on_disk_before_it_takes_its_place() -> None:
    """And the recovery point before that: recovery looks for holes above it."""
    c = await cleaning()
    for number in range(20):
        c.put(("k", f"v{number}"))
    c.close_segment()
    await c.world.spawn.settle()
    told: list[int] = []

    async def tell() -> None:
        told.append(len(c.world.disk.steps))

    c.log.recovery.on_save = tell
    steps = c.world.disk.steps
    await c.clean()
    written = [number for number, (kind, path) in enumerate(steps) if kind == "append" and path.endswith(names.CLEANED)]
    flushed = [number for number, (kind, path) in enumerate(steps) if kind == "fsync" and path.endswith(f".log{names.CLEANED}")]
    renamed = [number for number, (kind, path) in enumerate(steps) if kind == "rename" and path.endswith(f".log{names.CLEANED}")]
    assert told and told[0] <= written[0]
    assert written[-1] < flushed[-1] < renamed[-1]


async def test_a_truncation_before_the_exchange_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    c = await cleaning()
    for number in range(20):
        c.put(("k", f"v{number}"))
    c.close_segment()
    monkeypatch.setattr(SegmentStore, "replace", lambda store, old, new: False)
    await c.clean()
    assert not [path for path in c.world.disk.files if path.endswith((names.CLEANED, names.SWAP))]
    assert PARTITION not in c.cleaner.cleaned


async def test_which_of_several_logs_is_compacted_first() -> None:
    """The overdue one, then the dirtiest; never one whose disk failed."""
    c = await cleaning(max_compaction_lag_ms=DAY_MS)
    logs = [
        await PartitionLog.open(c.world.node, f"/data/events-{n}", TopicPartition("events", n), lambda: c.world.topic_config)
        for n in (1, 2, 3)
    ]
    clean, dirty, overdue = logs
    for log in logs:
        for number in range(6):
            written_ms = START_MS - (2 * DAY_MS if log is overdue else 0)
            data = build_batch([Record(0, written_ms, b"k", str(number).encode(), ())], base_offset=0)
            log.append_as_leader(data, 0, AppendOrigin.CLIENT, START_MS)
            if number % 2:
                log.roll(START_MS)
        log.update_high_watermark(log.log_end_offset)
    cleaner = LogCleaner(c.world.node, c.world.holder, lambda: logs, [c.folder])
    cleaner.cleaned.update({clean.topic_partition: 4, overdue.topic_partition: 2})
    order = []
    while (chosen := cleaner.choose({})) is not None:
        order.append(chosen[0])
        chosen[0].health.failure = OSError("out of the way")
    assert order == [overdue, dirty, clean]


async def test_the_checkpoint_forgets_logs_that_are_gone() -> None:
    c = await cleaning()
    c.cleaner.cleaned.update({PARTITION: 0, TopicPartition("gone", 0): 7})
    await c.cleaner.checkpoint()
    assert LogCleaner(c.world.node, c.world.holder, list, [c.folder]).cleaned == {PARTITION: 0}


async def test_a_cut_into_a_segment_throws_its_compaction_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """The segment is still in the log, but what was read of it above the cut is not."""
    c = await cleaning(segment_bytes=100_000)
    for number in range(4):
        c.put(("k", f"v{number}"))
    c.log.roll(START_MS)
    c.put(("k", "lonely"))
    c.log.update_high_watermark(2)
    sync = Segment.sync

    async def cut_first(segment: Segment) -> None:
        if segment.suffix == names.CLEANED:
            await c.log.truncate_to(2)
        await sync(segment)

    monkeypatch.setattr(Segment, "sync", cut_first)
    await c.clean()
    assert c.records() == [(0, "k", "v0"), (1, "k", "v1")]
    c.put(("k", "new"))
    assert c.records()[-1] == (2, "k", "new")
    assert not [path for path in c.world.disk.files if path.endswith((names.CLEANED, names.SWAP))]


async def test_tombstones_may_stay_for_ever() -> None:
    """delete.retention.ms may be as large as its type allows."""
    c = await cleaning(delete_retention_ms=2**63 - 1)
    c.put(("gone", "value"), ("kept", "value"))
    c.put(("gone", None))
    c.close_segment()
    await c.clean()
    assert c.records() == [(1, "kept", "value"), (2, "gone", None)]


async def test_a_topic_made_anew_is_compacted_whatever_its_predecessor_was() -> None:
    world = World(**COMPACT)
    c = Cleaning(world, await world.open())
    logs = [c.log]
    c.cleaner = LogCleaner(world.node, world.holder, lambda: logs, [c.folder])
    for number in range(20):
        c.put(("k", f"v{number}"))
    c.close_segment()
    await world.spawn.settle()
    world.disk.files[f"{FOLDER}/{0:020d}.log"][70] ^= 1
    await c.clean()
    assert c.cleaner.choose({}) is None
    logs.clear()
    await c.cleaner.checkpoint()
    c.log = await world.open(folder="/data/events-0-anew")
    logs.append(c.log)
    for number in range(20):
        c.put(("k", f"v{number}"))
    c.close_segment()
    await c.clean()
    assert c.records() == [(19, "k", "v19")]


@pytest.mark.parametrize("codec", [1, 2, 3, 4])
async def test_an_emptied_batch_of_a_compressing_producer_can_be_read(codec: int) -> None:
    """By whoever looks for a time, and by the next compaction."""
    c = await cleaning()
    c.put(("a", "1"), producer_id=1, producer_epoch=0, base_sequence=0, compression=codec)
    c.put(("a", "2"))
    c.close_segment()
    await c.clean()
    empty = next(header for _, header in iter_headers(all_bytes(c.log)))
    assert (empty.record_count, empty.compression) == (0, 0), "as Kafka leaves it"
    found = at_time(c.log, START_MS)
    assert found is not None and found.offset == 1
    c.put(("a", "3"))
    c.close_segment()
    await c.clean()
    assert c.records() == [(2, "a", "3")]


async def test_a_stored_batch_of_millions_of_records_leaves_its_log_as_it_is() -> None:
    """It came from another broker, or before the topic was compacted: to look into it would take the memory of all the others."""
    c = await cleaning()
    c.log.append_as_follower(many_records(DECODED_RECORDS_MAX + 1_000_000, Codec.ZSTD), START_MS)
    c.close_segment()
    before = all_bytes(c.log)
    assert c.cleaner.choose({}) is not None
    await c.cleaner.clean_all()
    assert (all_bytes(c.log), c.cleaner.cleaned) == (before, {})
    assert c.cleaner.choose({}) is None, "until the next start"


async def test_a_large_batch_is_compacted_in_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    count = 10_000
    c = await cleaning()
    c.log.append_as_follower(build_batch([Record(n, START_MS, b"k%d" % (n % 7), b"v") for n in range(count)]), START_MS)
    c.close_segment()
    looks = itertools.count(START_MS)
    monkeypatch.setattr(c.world.clock, "monotonic_ms", lambda: float(next(looks)))
    await c.clean()
    assert [offset for offset, _, _ in c.records()] == list(range(count - 7, count))
    assert c.world.clock.yields > 2 * count / RECORDS_PER_STEP / SLICE_MS / 2, "of both passes"
