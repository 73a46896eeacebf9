"""From an offset to a position, through the sparse index: worked examples."""

from __future__ import annotations

import struct

import pytest

from broker_core.records.batch import iter_headers
from broker_core.storage.folder.files import FilePool
from broker_core.storage.log import PartitionLog
from broker_core.storage.segments.offset_index import OffsetIndex
from broker_core.storage.segments.time_index import TimeIndex
from tests.support.log_world import FOLDER, START_MS, World, sized_batch


def entries(world: World, base_offset: int) -> list[tuple[int, int]]:
    data = bytes(world.disk.files[f"{FOLDER}/{base_offset:020d}.index"])
    return list(struct.iter_unpack(">ii", data))


def append(log: PartitionLog, base_offset: int, *sizes: int) -> None:
    for index, size_bytes in enumerate(sizes):
        log.append_as_follower(sized_batch(size_bytes, base_offset=base_offset + index), START_MS)


@pytest.mark.spec("S2")
async def test_b_three_segments_and_the_entry_of_170418() -> None:
    """Segments 0, 170410, 239430; 170418 is found through [8, 1325], and [3, 348] is 170413."""
    world = World(index_interval_bytes=340)
    log = await world.open()
    append(log, 170409, 100)
    log.roll(START_MS)
    append(log, 170410, 116, 116, 116, 70, 70, 70, 70, 697, 90, 90)
    append(log, 239429, 100)
    log.roll(START_MS)
    append(log, 239430, 100)
    await world.spawn.settle()

    assert log.segments.bases == [0, 170410, 239430]
    assert entries(world, 170410)[:2] == [(3, 348), (8, 1325)]
    segment = log.segments[log.segments.floor_index(170418)]
    assert segment.base_offset == 170410
    assert segment.offset_index.lookup(170418) == 1325
    part = log.read(170418, 90, log.log_end_offset)
    assert part.records is not None
    assert (part.records.position, part.first_offset) == (1325, 170418)
    found = segment.find(170413)
    assert found is not None
    assert (found.base_offset, found.position) == (170413, 348)


@pytest.mark.spec("S2")
async def test_c_offset_7_through_the_entry_of_6() -> None:
    """The largest entry at most 7 is 6, at position 9807; from there the log is scanned for 7."""
    world = World(index_interval_bytes=4096)
    log = await world.open()
    append(log, 0, 1634, 1634, 1635, 1634, 1634, 1636, 500, 400, 300)
    segment = log.segments.active
    assert segment.offset_index.lookup(7) == 9807
    span = segment.find(6)
    assert span is not None
    assert (span.base_offset, span.position) == (6, 9807)
    part = log.read(7, 10_000, log.log_end_offset)
    assert part.records is not None
    assert part.records.position == 9807 + 500
    data = part.records.file.pread(part.records.position, part.length)
    assert [header.base_offset for _, header in iter_headers(data)] == [7, 8]


@pytest.mark.spec("S2")
async def test_index_lookup_agrees_with_a_full_scan() -> None:
    """Every offset is found, in memory, in the warm end and in the rest of a long index."""
    world = World(index_interval_bytes=0)
    index = OffsetIndex(FilePool(world.disk), "/data/0.index", 1000)
    index.create()
    for number in range(5000):
        index.append(1000 + number * 3 + 2, number * 10)
    for offset in range(1000, 1000 + 15_000, 7):
        assert index.lookup(offset) == max((offset - 1002) // 3, 0) * 10
    assert index.count == 5000
    assert index.position_floor(25) == 20
    assert index.lookup(999) == 0


async def test_time_index_lookup_and_truncation() -> None:
    world = World()
    index = TimeIndex(FilePool(world.disk), "/data/0.timeindex", 100)
    index.create()
    for number in range(1000):
        index.maybe_append(START_MS + number * 10, 100 + number)
    index.maybe_append(START_MS, 5000)
    assert index.count == 1000
    assert index.lookup(START_MS + 15) == 101
    assert index.lookup(START_MS - 1) == 100
    index.truncate(600)
    assert index.last() == (START_MS + 4990, 599)


@pytest.mark.spec("S1")
async def test_index_bytes_are_kafkas() -> None:
    """8-byte offset entries and 12-byte time entries, big-endian, relative to the base."""
    world = World(index_interval_bytes=0)
    log = await world.open()
    append(log, 0, 100, 120, 140)
    await log.close()
    files = world.disk.files
    assert files[f"{FOLDER}/00000000000000000000.index"].hex() == "0000000100000064" + "00000002000000dc"
    assert files[f"{FOLDER}/00000000000000000000.timeindex"].hex() == f"{START_MS:016x}" + "00000000"
