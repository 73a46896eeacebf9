"""A log on the real disk, and how many files it keeps open."""

from __future__ import annotations

import errno
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from broker_core.model import TopicPartition
from broker_core.server.adapters.disk import RealDisk
from broker_core.storage.folder.files import FilePool
from broker_core.storage.log import AppendOrigin, PartitionLog
from tests.support.log_world import START_MS, MemoryFile, World, all_bytes, batch, sized_batch


@pytest.fixture
async def world() -> AsyncIterator[World]:
    disk = RealDisk()
    world = World(disk, segment_bytes=10_000)
    yield world
    await world.spawn.stop()
    disk.close()


@pytest.mark.spec("S1")
async def test_append_roll_restart_truncate(world: World, tmp_path: Path) -> None:
    """The folder has Kafka's files, and nothing but them."""
    folder = f"{tmp_path}/events-0"
    log = await world.open(folder=folder)
    for number in range(100):
        log.append_as_leader(
            batch(3, value="x" * 200, producer_id=7, producer_epoch=0, base_sequence=number * 3), 1, AppendOrigin.CLIENT, START_MS
        )
    data = all_bytes(log)
    await log.close()
    again = await world.open(folder=folder, clean=True)
    assert all_bytes(again) == data
    assert sorted({path.suffix for path in (tmp_path / "events-0").iterdir()}) == ["", ".index", ".log", ".snapshot", ".timeindex"]
    await again.close(clean=False)
    with open(sorted((tmp_path / "events-0").glob("*.log"))[-1], "ab") as file:
        file.write(data[:50])
    last = await world.open(folder=folder)
    assert all_bytes(last) == data
    await last.truncate_to(150)
    assert all_bytes(last) == data[: len(data) // 2]
    assert last.producer_state.entries[7].last_sequence == 149
    await last.close()


async def test_a_slice_outlives_truncation_and_deletion(world: World, tmp_path: Path) -> None:
    log = await world.open(folder=f"{tmp_path}/events-0")
    log.append_as_leader(sized_batch(5_000), 0, AppendOrigin.CLIENT, START_MS)
    log.append_as_leader(sized_batch(6_000), 0, AppendOrigin.CLIENT, START_MS)
    part = log.read(0, 100_000, 2)
    await log.truncate_fully_and_start_at(9)
    await log.close()
    assert part.records is not None
    assert len(part.records.file.pread(part.records.position, part.length)) == 5_000


async def test_open_files_are_bounded() -> None:
    """Many logs with many segments share a few handles; writing goes on through handles that were given up."""
    world = World(segment_bytes=1000, index_interval_bytes=0)
    pool = FilePool(world.disk, limit=4)
    logs = []
    for number in range(10):
        partition = TopicPartition("events", number)
        logs.append(await PartitionLog.open(world.node, f"/data/{partition}", partition, lambda: world.topic_config, pool=pool))
    for _ in range(8):
        for log in logs:
            log.append_as_leader(sized_batch(300), 0, AppendOrigin.CLIENT, START_MS)
    assert pool.open_count <= 4
    assert all(len(all_bytes(log)) == 8 * 300 for log in logs)
    for log in logs:
        await log.truncate_to(4)
        await log.close()
    assert pool.open_count == 0


async def test_logs_do_with_fewer_handles_where_the_process_has_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(segment_bytes=10_000)
    left, opened = 4, world.disk.open

    def scarce(path: str, *, create: bool = False) -> MemoryFile:
        if sum(not file.closed for file in handles) >= left:
            raise OSError(errno.EMFILE, "Too many open files", path)
        handles.append(opened(path, create=create))
        return handles[-1]

    handles: list[MemoryFile] = []
    monkeypatch.setattr(world.disk, "open", scarce)
    pool = FilePool(world.disk)
    for number in range(9):
        pool.create(f"/data/{number}")
    assert pool.open_count <= left
    pool.close()
    left = 0
    with pytest.raises(OSError, match="Too many open files"):
        pool.get("/data/1")
