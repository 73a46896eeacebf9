"""All logs of a broker: start, stop, checkpoints, creation and deletion."""

from __future__ import annotations

import errno
import gc
import uuid

import pytest

from broker_core.config import BrokerConfig, ConfigHolder
from broker_core.errors import ConfigError, ErrorCode, KafkaError
from broker_core.model import TopicPartition
from broker_core.storage.folder.data_folder import DataFolder
from broker_core.storage.folder.names import CLEANER_CHECKPOINT, RECOVERY_POINT_CHECKPOINT, REPLICATION_CHECKPOINT
from broker_core.storage.loading import LoadedLog, LogLoader
from broker_core.storage.log import AppendOrigin, PartitionLog
from broker_core.storage.manager import LogManager
from tests.support.log_world import START_MS, Crash, MemoryDisk, World, all_bytes, batch, sized_batch

pytestmark = pytest.mark.spec("S6")

A, B = TopicPartition("a", 0), TopicPartition("b", 3)
TOPIC_ID = uuid.UUID(int=77)


def manager(world: World, broker_id: int = 1, cluster_id: str = "c1", **settings: str) -> LogManager:
    config = BrokerConfig.load({"log.dirs": "/data", **{name.replace("_", "."): value for name, value in settings.items()}})
    return LogManager(world.node, ConfigHolder(config), broker_id, cluster_id)


async def running(world: World, **settings: str) -> LogManager:
    logs = manager(world, **settings)
    await logs.start()
    return logs


async def checkpoint(logs: LogManager) -> None:
    for folder in logs.folders.all:
        await logs.upkeep.checkpoint(folder)


async def stop(world: World, logs: LogManager, *, clean: bool = True) -> World:
    if clean:
        await logs.shutdown()
    await world.spawn.stop()
    return world.next_process()


async def test_logs_come_back_after_a_clean_stop() -> None:
    world = World()
    logs = await running(world)
    log = await logs.get_or_create(A, TOPIC_ID)
    assert await logs.get_or_create(A, TOPIC_ID) is log
    await logs.get_or_create(B)
    log.append_as_leader(batch(3), 0, AppendOrigin.CLIENT, START_MS)
    log.update_high_watermark(2)
    data = all_bytes(log)
    next_world = await stop(world, logs)
    assert "/data/.kafka_cleanshutdown" in next_world.disk.files
    snapshots = [path for path in next_world.disk.files if path.endswith(".snapshot")]
    assert snapshots == ["/data/a-0/00000000000000000003.snapshot"], "an empty log needs none"
    again = await running(next_world)
    assert "/data/.kafka_cleanshutdown" not in next_world.disk.files
    assert [each.topic_partition for each in again.all()] == [A, B]
    opened = again.get(A)
    assert opened is not None
    assert (opened.topic_id, all_bytes(opened), opened.high_watermark) == (TOPIC_ID, data, 2)
    assert opened.recovery.point == 3
    await stop(next_world, again)


async def test_a_kill_is_not_clean_and_the_torn_tail_goes() -> None:
    world = World()
    logs = await running(world)
    log = await logs.get_or_create(A)
    log.append_as_leader(batch(3), 0, AppendOrigin.CLIENT, START_MS)
    log.append_as_leader(batch(3), 0, AppendOrigin.CLIENT, START_MS)
    next_world = await stop(world, logs, clean=False)
    del next_world.disk.files[f"/data/a-0/{0:020d}.log"][-5:]
    again = await running(next_world)
    opened = again.get(A)
    assert opened is not None and opened.log_end_offset == 3
    await stop(next_world, again)


@pytest.mark.spec("B16")
async def test_a_crash_while_loading_is_not_clean() -> None:
    """KAFKA-10471: the mark is gone before the first log is opened."""
    world = World()
    logs = await running(world)
    log = await logs.get_or_create(A)
    next_world = await stop(world, logs)
    next_world.disk.files[f"{log.directory}/{0:020d}.log.deleted"] = bytearray(b"to be removed at the next start")
    next_world.disk.crash_at = 1
    with pytest.raises(Crash):
        await manager(next_world).start()
    assert next_world.disk.steps[0] == ("remove", "/data/.kafka_cleanshutdown")
    assert "/data/.kafka_cleanshutdown" not in next_world.disk.files


async def test_another_brokers_folder_is_refused() -> None:
    world = World()
    await stop(world, await running(world))
    for wrong in (manager(world, broker_id=2), manager(world, cluster_id="c2")):
        with pytest.raises(ConfigError, match=r"meta\.properties"):
            await wrong.start()


async def test_checkpoint_files() -> None:
    world = World()
    logs = await running(world)
    log = await logs.get_or_create(A)
    await logs.get_or_create(B)
    log.append_as_leader(batch(5), 0, AppendOrigin.CLIENT, START_MS)
    log.update_high_watermark(4)
    log.advance_log_start(2)
    await log.recovery.flush()
    await checkpoint(logs)
    files = world.disk.files
    assert bytes(files["/data/recovery-point-offset-checkpoint"]) == b"0\n2\na 0 5\nb 3 0\n"
    assert bytes(files["/data/replication-offset-checkpoint"]) == b"0\n2\na 0 4\nb 3 0\n"
    assert bytes(files["/data/log-start-offset-checkpoint"]) == b"0\n1\na 0 2\n"
    assert bytes(files["/data/meta.properties"]) == b"#\ncluster.id=c1\nversion=0\nbroker.id=1\n"
    steps = len(world.disk.steps)
    await checkpoint(logs)
    assert len(world.disk.steps) == steps
    next_world = await stop(world, logs, clean=False)
    again = await running(next_world)
    opened = again.get(A)
    assert opened is not None
    assert (opened.log_start_offset, opened.high_watermark) == (2, 4)
    await stop(next_world, again)


async def test_an_unreadable_checkpoint_only_costs_time() -> None:
    world = World()
    logs = await running(world)
    log = await logs.get_or_create(A)
    log.append_as_leader(batch(5), 0, AppendOrigin.CLIENT, START_MS)
    next_world = await stop(world, logs, clean=False)
    next_world.disk.files["/data/recovery-point-offset-checkpoint"] = bytearray(b"garbage")
    again = await running(next_world)
    opened = again.get(A)
    assert opened is not None and opened.log_end_offset == 5
    await stop(next_world, again)


async def test_deletion_is_at_once_for_readers_and_later_for_files() -> None:
    world = World()
    logs = await running(world)
    log = await logs.get_or_create(A)
    log.append_as_leader(batch(5), 0, AppendOrigin.CLIENT, START_MS)
    log.update_high_watermark(5)
    log.advance_log_start(3)
    await checkpoint(logs)
    await logs.delete(A)
    assert logs.get(A) is None
    with pytest.raises(KafkaError, match="closed"):
        log.append_as_leader(batch(1), 0, AppendOrigin.CLIENT, START_MS)
    (folder,) = [name for name in world.disk.list_dir("/data") if name.endswith("-delete")]
    assert folder.startswith("a-0.")
    fresh = await logs.get_or_create(A)
    assert (fresh.log_start_offset, fresh.log_end_offset, fresh.high_watermark) == (0, 0, 0)
    await world.spawn.settle()
    await world.clock.advance(60_000)
    await world.spawn.settle()
    assert not [name for name in world.disk.list_dir("/data") if name.endswith("-delete")]
    await logs.delete(B)
    await stop(world, logs)


async def test_logs_deleted_together_are_checkpointed_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """A checkpoint names every log: one for each of a topic's partitions would cost their square. None is done before it is written."""
    world = World()
    logs = await running(world)
    many = [TopicPartition("many", number) for number in range(30)]
    for tp in [A, *many]:
        await logs.get_or_create(tp)
    await checkpoint(logs)
    written: list[bytes] = []
    write = world.disk.write_atomic

    async def counted(path: str, data: bytes) -> None:
        if path.endswith("recovery-point-offset-checkpoint"):
            written.append(bytes(data))
        await write(path, data)

    monkeypatch.setattr(world.disk, "write_atomic", counted)
    for tp, deletion in [(tp, world.spawn(logs.delete(tp), name="delete")) for tp in many]:
        await deletion
        assert f"many {tp.partition} ".encode() not in written[-1]
    assert len(written) <= 2, "the first may have been alone"
    await logs.delete(A)
    assert b"a 0 " not in written[-1]
    await stop(world, logs)


async def test_a_log_that_cannot_be_deleted_keeps_no_other_from_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Though it comes last, the checkpoint without the others is written."""
    world = World()
    logs = await running(world)
    for tp in (A, B):
        await logs.get_or_create(tp)
    await checkpoint(logs)
    rename = world.disk.rename

    def refused(path: str, to: str) -> None:
        if "/b-" in path:
            raise OSError(5, "I/O error")
        rename(path, to)

    monkeypatch.setattr(world.disk, "rename", refused)
    first, last = (world.spawn(logs.delete(tp), name="delete") for tp in (A, B))
    await first
    with pytest.raises(KafkaError, match="I/O error"):
        await last
    assert b"a 0" not in world.disk.files["/data/recovery-point-offset-checkpoint"]
    await stop(world, logs)


async def test_a_restart_removes_deleted_folders() -> None:
    world = World()
    logs = await running(world)
    await logs.get_or_create(A)
    await logs.delete(A)
    next_world = await stop(world, logs, clean=False)
    again = await running(next_world)
    await next_world.spawn.settle()
    assert again.all() == []
    assert not [name for name in next_world.disk.list_dir("/data") if name.endswith("-delete")]
    await stop(next_world, again)


async def test_another_topics_log_is_refused() -> None:
    world = World()
    logs = await running(world)
    await logs.get_or_create(A, TOPIC_ID)
    with pytest.raises(KafkaError) as caught:
        await logs.get_or_create(A, uuid.UUID(int=78))
    assert caught.value.code is ErrorCode.INCONSISTENT_TOPIC_ID
    await stop(world, logs)


async def test_a_disk_that_refuses_a_new_log() -> None:
    world = World()
    logs = await running(world)
    world.disk.full = True
    with pytest.raises(KafkaError) as caught:
        await logs.get_or_create(A)
    assert caught.value.code is ErrorCode.KAFKA_STORAGE_ERROR
    world.disk.full = False
    with pytest.raises(KafkaError, match="is offline: making the log of a-0 failed"):
        await logs.get_or_create(A)
    await stop(world, logs)


async def test_a_failed_log_forbids_the_clean_mark() -> None:
    world = World()
    logs = await running(world)
    log = await logs.get_or_create(A)
    log.append_as_leader(batch(1), 0, AppendOrigin.CLIENT, START_MS)
    world.disk.fail["fsync"] = errno.EIO
    await logs.shutdown()
    await world.spawn.stop()
    assert "/data/.kafka_cleanshutdown" not in world.disk.files


async def test_background_work() -> None:
    """Retention, flush by time, recovery after a cut that found no file handle and checkpoints happen by themselves."""
    world = World()
    logs = await running(world, log_segment_bytes="1000", log_retention_bytes="1000", log_flush_interval_ms="1000")
    log = await logs.get_or_create(A)
    for _ in range(9):
        log.append_as_leader(sized_batch(300, timestamp_ms=world.clock.now), 0, AppendOrigin.CLIENT, world.clock.now)
    log.update_high_watermark(9)
    await world.spawn.settle()
    assert log.recovery.point == 6
    await world.clock.advance(5_000)
    await world.spawn.settle()
    assert log.recovery.point == 9
    assert b"a 0 9" in bytes(world.disk.files["/data/replication-offset-checkpoint"])
    await world.clock.advance(30_000)
    await world.spawn.settle()
    assert log.log_start_offset == 3
    log.health.failure = OSError(errno.EMFILE, "as if")
    await world.clock.advance(5_000)
    await world.spawn.settle()
    assert log.health.failure is None
    await stop(world, logs)


async def test_truncations_reach_the_recovery_checkpoint() -> None:
    world = World()
    logs = await running(world)
    log = await logs.get_or_create(A)
    log.append_as_leader(batch(5), 0, AppendOrigin.CLIENT, START_MS)
    log.append_as_leader(batch(5), 0, AppendOrigin.CLIENT, START_MS)
    await log.recovery.flush()
    await checkpoint(logs)
    await log.truncate_to(5)
    assert bytes(world.disk.files["/data/recovery-point-offset-checkpoint"]) == b"0\n1\na 0 5\n"
    await stop(world, logs)


async def test_files_that_are_no_logs_are_left_alone() -> None:
    world = World(
        MemoryDisk({"/data/notes.txt": bytearray(b"x"), "/data/a-1": bytearray(b"a file")}, folders=["/data", "/data/lost+found"])
    )
    logs = await running(world)
    assert logs.all() == []
    await stop(world, logs)
    assert "/data/notes.txt" in world.disk.files


async def test_a_deleted_log_leaves_its_successors_files_alone() -> None:
    """A pass of retention over many logs may reach one that was deleted, and made anew, since the pass began."""
    world = World()
    logs = await running(world, log_retention_bytes="0")
    former = await logs.get_or_create(A)
    former.append_as_leader(batch(1), 0, AppendOrigin.CLIENT, START_MS)
    former.update_high_watermark(1)
    await logs.delete(A)
    log = await logs.get_or_create(A)
    log.append_as_leader(batch(1, value="new"), 0, AppendOrigin.CLIENT, START_MS)
    data = all_bytes(log)
    assert await former.delete_expired(START_MS) == 0
    assert all_bytes(log) == data
    next_world = await stop(world, logs)
    again = await running(next_world)
    opened = again.get(A)
    assert opened is not None and all_bytes(opened) == data
    await stop(next_world, again)


async def test_a_log_that_could_not_be_opened_is_not_called_deleted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its files are still there: the controller has to ask again after a restart."""
    world = World()
    logs = await running(world)
    await logs.get_or_create(A)
    next_world = await stop(world, logs)

    async def refused(loader: LogLoader) -> LoadedLog:
        raise OSError(errno.EACCES, "Permission denied", "/data/a-0")

    monkeypatch.setattr(LogLoader, "load", refused)
    again = await running(next_world)
    monkeypatch.undo()
    with pytest.raises(KafkaError) as caught:
        await again.delete(A)
    assert caught.value.code is ErrorCode.KAFKA_STORAGE_ERROR
    third_world = await stop(next_world, again)
    third = await running(third_world)
    assert third.get(A) is not None
    await third.delete(A)
    await stop(third_world, third)


async def test_the_first_compaction_after_a_start_is_written_down() -> None:
    """What was read at the start is the reader's to change."""
    world = World()
    world.disk.files["/data/cleaner-offset-checkpoint"] = bytearray(b"0\n1\na 0 8\n")
    folder = DataFolder(world.node, "/data")
    cleaned = folder.read_checkpoint(CLEANER_CHECKPOINT)
    cleaned[A] = 9
    await folder.write_checkpoint(CLEANER_CHECKPOINT, lambda: list(cleaned.items()))
    assert bytes(world.disk.files["/data/cleaner-offset-checkpoint"]) == b"0\n1\na 0 9\n"


async def test_what_is_cut_off_is_not_called_compacted() -> None:
    """Else what comes in its place would never be compared with what lies below, and its tombstones would go before what they delete."""
    world = World()
    world.disk.files["/data/cleaner-offset-checkpoint"] = bytearray(b"0\n1\na 0 8\n")
    logs = await running(world)
    log = await logs.get_or_create(A)
    for _ in range(10):
        log.append_as_leader(batch(1), 0, AppendOrigin.CLIENT, START_MS)
    await log.truncate_to(9)
    assert bytes(world.disk.files["/data/cleaner-offset-checkpoint"]) == b"0\n1\na 0 8\n"
    await log.truncate_to(5)
    assert bytes(world.disk.files["/data/cleaner-offset-checkpoint"]) == b"0\n1\na 0 5\n"
    await stop(world, logs)


async def test_a_deletion_takes_logs_out_of_the_checkpoints_and_asks_nobody_about_the_others() -> None:
    world = World()
    logs = await running(world)
    for partition in (A, B):
        log = await logs.get_or_create(partition, TOPIC_ID)
        log.append_as_leader(batch(3), 0, AppendOrigin.CLIENT, START_MS)
        log.update_high_watermark(2)
    await checkpoint(logs)
    kept = logs.get(B)
    assert kept is not None
    kept.update_high_watermark(3)
    await logs.delete(A)
    assert DataFolder(world.node, "/data").read_checkpoint(REPLICATION_CHECKPOINT) == {B: 2}, "as it was written last"
    assert DataFolder(world.node, "/data").read_checkpoint(RECOVERY_POINT_CHECKPOINT).keys() == {B}
    await checkpoint(logs)
    assert DataFolder(world.node, "/data").read_checkpoint(REPLICATION_CHECKPOINT) == {B: 3}
    await stop(world, logs)


async def test_a_deleted_log_goes_without_a_garbage_collection() -> None:
    """Its objects may be frozen: in a cycle they would stay for ever."""
    world = World()
    logs = await running(world)
    gone, kept = id(await logs.get_or_create(A, TOPIC_ID)), id(await logs.get_or_create(B, TOPIC_ID))
    gc.collect()
    gc.disable()
    try:
        await logs.delete(A)
        await world.spawn.settle()
        left = {id(each) for each in gc.get_objects() if isinstance(each, PartitionLog)}
    finally:
        gc.enable()
    assert gone not in left and kept in left
    await stop(world, logs)
