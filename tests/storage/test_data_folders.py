"""Several data folders: where logs go, what a start finds in them, and one that fails while the others go on (KIP-112, KIP-113)."""

from __future__ import annotations

import errno
import uuid

import pytest

from broker_core.config import BrokerConfig, ConfigHolder
from broker_core.errors import ConfigError, ErrorCode, KafkaError
from broker_core.model import TopicPartition
from broker_core.storage.folder.checkpoints import decode_offsets
from broker_core.storage.log import AppendOrigin, PartitionLog
from broker_core.storage.manager import LogManager
from tests.support.log_world import START_MS, Crash, World, all_bytes, batch

pytestmark = pytest.mark.spec("S6")

A, B, C = TopicPartition("a", 0), TopicPartition("b", 3), TopicPartition("c", 1)
ONE, TWO, THREE = FOLDERS = ("/one", "/two", "/three")
TOPIC_ID = uuid.UUID(int=77)


def manager(world: World, unusable: dict[str, OSError] | None = None, folders: tuple[str, ...] = FOLDERS) -> LogManager:
    return LogManager(world.node, ConfigHolder(BrokerConfig.load({"log.dirs": ",".join(folders)})), 1, "c1", unusable or {})


async def running(world: World, unusable: dict[str, OSError] | None = None) -> LogManager:
    logs = manager(world, unusable)
    await logs.start()
    return logs


async def end(world: World, logs: LogManager, *, clean: bool = True) -> World:
    if clean:
        await logs.shutdown()
    await world.spawn.stop()
    return world.next_process()


def append(log: PartitionLog, count: int = 1) -> None:
    log.append_as_leader(batch(count), 0, AppendOrigin.CLIENT, START_MS)


def offsets(world: World, path: str) -> dict[TopicPartition, int]:
    return decode_offsets(bytes(world.disk.files[path]), path)


async def future_of(logs: LogManager, log: PartitionLog, folder: str) -> PartitionLog:
    """A future log with all that the log has."""
    wanted = logs.folders.named(folder)
    assert wanted is not None
    future = await logs.create_future(log.topic_partition, wanted, log.topic_id)
    future.append_as_follower(all_bytes(log), START_MS)
    return future


async def test_a_new_log_goes_where_the_fewest_are_and_each_folder_keeps_its_own_checkpoints() -> None:
    world = World()
    logs = await running(world)
    made = [await logs.get_or_create(TopicPartition("t", number), TOPIC_ID) for number in range(7)]
    assert [log.data_folder for log in made] == [*FOLDERS, *FOLDERS, ONE]
    for number, log in enumerate(made):
        append(log, number + 1)
        log.update_high_watermark(number + 1)
    world = await end(world, logs)
    for number, folder in enumerate(FOLDERS):
        own = {log.topic_partition: log.log_end_offset for log in made[number::3]}
        assert offsets(world, f"{folder}/replication-offset-checkpoint") == own
        assert offsets(world, f"{folder}/recovery-point-offset-checkpoint") == own
        assert f"{folder}/.kafka_cleanshutdown" in world.disk.files
        assert b"broker.id=1" in world.disk.files[f"{folder}/meta.properties"]
    again = await running(world)
    assert [(log.topic_partition, log.directory, log.high_watermark) for log in again.all()] == [
        (log.topic_partition, log.directory, log.log_end_offset) for log in made
    ]
    await end(world, again)


async def test_one_folder_fails_and_the_others_go_on() -> None:
    """Only its logs are gone; a replica that is not new is not made anew elsewhere, a new one is; the others are left clean."""
    world = World()
    logs = await running(world)
    told: list[str] = []
    logs.on_offline = lambda failure: told.append(failure.what)
    a, b, c = [await logs.get_or_create(tp) for tp in (A, B, C)]
    logs.folders.all[0].state.report("append of a-0", OSError(errno.EIO, "no more"))
    assert (told, [folder.path for folder in logs.folders.online]) == (["append of a-0"], [TWO, THREE])
    assert (logs.get(A), logs.get(B), logs.get(C)) == (None, b, c)
    with pytest.raises(KafkaError) as refused:
        append(a)
    assert refused.value.code is ErrorCode.KAFKA_STORAGE_ERROR
    append(b, 2)
    for again in (lambda: logs.get_or_create(A, is_new=False), lambda: logs.delete(A)):
        with pytest.raises(KafkaError, match="/one is offline") as refused:
            await again()
        assert refused.value.code is ErrorCode.KAFKA_STORAGE_ERROR
    assert await logs.get_or_create(B, is_new=False) is b
    assert (await logs.get_or_create(TopicPartition("new", 0), is_new=True)).data_folder == TWO
    await logs.delete(C)
    await world.clock.advance(120_000)
    await world.spawn.settle()
    world = await end(world, logs)
    assert [f"{folder}/.kafka_cleanshutdown" in world.disk.files for folder in FOLDERS] == [False, True, True]
    assert len(told) == 1
    again_running = await running(world)
    assert [log.topic_partition for log in again_running.all()] == [A, B, TopicPartition("new", 0)], "the failed folder is read again"
    await end(world, again_running)


async def test_a_folder_that_takes_no_new_log_is_offline_and_the_next_one_has_it() -> None:
    world = World()
    logs = await running(world)
    world.disk.fail["create"] = errno.EROFS
    make, calls = world.disk.make_dirs, []

    def heal(path: str) -> None:
        calls.append(path)
        if len(calls) == 2:
            world.disk.fail.clear()
        make(path)

    world.disk.make_dirs = heal  # type: ignore[method-assign]
    assert (await logs.get_or_create(A)).data_folder == TWO
    assert [folder.path for folder in logs.folders.offline] == [ONE]
    await end(world, logs)


async def test_a_start_goes_on_without_an_unusable_folder_and_not_without_any() -> None:
    world = World()
    logs = await running(world, {TWO: OSError(errno.ENOTDIR, "a file")})
    assert [folder.path for folder in logs.folders.online] == [ONE, THREE]
    assert f"{TWO}/meta.properties" not in world.disk.files
    assert [(await logs.get_or_create(tp)).data_folder for tp in (A, B)] == [ONE, THREE]
    world = await end(world, logs)
    with pytest.raises(OSError, match="a file"):
        await manager(world, {folder: OSError(errno.ENOTDIR, "a file") for folder in FOLDERS}).start()
    with pytest.raises(ConfigError, match="broker 1"):
        await LogManager(world.node, ConfigHolder(BrokerConfig.load({"log.dirs": "/new,/three"})), 7, "c1").start()


async def test_a_future_log_takes_the_place_and_leaves_nothing_behind() -> None:
    world = World()
    logs = await running(world)
    log = await logs.get_or_create(A, TOPIC_ID)
    append(log, 3)
    log.update_high_watermark(2)
    future = await future_of(logs, log, THREE)
    assert future.directory.startswith(f"{THREE}/a-0.")
    assert future.directory.endswith("-future")
    await logs.upkeep.checkpoint(logs.folders.all[2])
    assert offsets(world, f"{THREE}/recovery-point-offset-checkpoint") == {A: 0}
    switched: list[bool] = []
    await logs.name_future(future)
    assert not await logs.promote(future, ready=lambda: False, switch=lambda: switched.append(False))
    assert logs.get(A) is log
    assert await logs.promote(future, ready=lambda: True, switch=lambda: switched.append(True))
    assert (switched, logs.get(A), logs.future(A), log.newest, future.directory) == ([True], future, None, future, f"{THREE}/a-0")
    assert (future.high_watermark, future.topic_id, log.data_folder) == (2, TOPIC_ID, ONE)
    append(future)
    assert log.directory.endswith("-delete")
    await world.clock.advance(120_000)
    await world.spawn.settle()
    assert not [path for path in world.disk.files if path.startswith(f"{ONE}/a-0")]
    assert offsets(world, f"{THREE}/replication-offset-checkpoint") == {A: 2}
    world = await end(world, logs)
    again = await running(world)
    assert [(each.directory, each.log_end_offset) for each in again.all()] == [(f"{THREE}/a-0", 4)]
    await end(world, again)


async def test_who_waits_for_a_flush_of_a_moved_log_waits_for_the_other() -> None:
    """`flush.messages`: nothing is acknowledged before it is on disk in the log that the partition has then."""
    world = World()
    logs = await running(world)
    log = await logs.get_or_create(A)
    append(log)
    future = await future_of(logs, log, TWO)
    log.recovery.appended(0, 1)
    waiting = world.spawn(log.recovery.settle(1), name="settle")
    await logs.name_future(future)
    assert future.recovery.point == 0
    assert await logs.promote(future, ready=lambda: True, switch=lambda: None)
    await waiting
    assert future.recovery.point == 1
    await end(world, logs)


@pytest.mark.parametrize("more_in", ["old", "new"])
async def test_a_crash_between_the_two_names_leaves_the_log_that_has_more(more_in: str) -> None:
    world = World()
    logs = await running(world)
    log = await logs.get_or_create(A)
    append(log, 2)
    future = await future_of(logs, log, TWO)
    await logs.name_future(future)
    append(log if more_in == "old" else future)
    world = await end(world, logs, clean=False)
    assert {f"{ONE}/a-0", f"{TWO}/a-0"} <= world.disk.folders
    again = await running(world)
    kept = again.get(A)
    assert kept is not None
    assert (kept.data_folder, kept.log_end_offset) == (ONE if more_in == "old" else TWO, 3)
    assert again.future(A) is None
    await world.clock.advance(120_000)
    await world.spawn.settle()
    assert len([folder for folder in world.disk.folders if "a-0" in folder]) == 1
    await end(world, again)


async def test_a_crash_at_any_step_of_an_exchange_leaves_one_log_with_all_records() -> None:
    for crash_at in range(200):
        world = World()
        logs = await running(world)
        log = await logs.get_or_create(A)
        append(log, 3)
        future = await future_of(logs, log, TWO)
        world.disk.crash_at = len(world.disk.steps) + crash_at
        try:
            await future.recovery.flush()
            await logs.name_future(future)
            assert await logs.promote(future, ready=lambda: True, switch=lambda: None)
            finished = True
        except (Crash, KafkaError):
            finished = False
        world = await end(world, logs, clean=False)
        again = await running(world)
        kept = again.get(A)
        assert kept is not None, crash_at
        assert kept.log_end_offset == 3, crash_at
        await end(world, again)
        if finished:
            return
    raise AssertionError("the exchange never ended")


async def test_a_future_log_is_found_again_and_goes_with_the_deletion_of_its_partition() -> None:
    world = World()
    logs = await running(world)
    log = await logs.get_or_create(A)
    append(log, 3)
    future = await future_of(logs, log, TWO)
    world = await end(world, logs, clean=False)
    again = await running(world)
    found = again.future(A)
    assert found is not None
    assert (found.directory, found.log_end_offset) == (future.directory, 3)
    await again.delete(A)
    assert (again.get(A), again.future(A)) == (None, None)
    await world.clock.advance(120_000)
    await world.spawn.settle()
    assert not [path for path in world.disk.files if "a-0" in path]
    await end(world, again)


async def test_no_future_log_while_a_folder_is_offline() -> None:
    world = World()
    logs = await running(world)
    log = await logs.get_or_create(A)
    logs.folders.all[2].state.report("x", OSError(errno.EIO, "no more"))
    with pytest.raises(KafkaError, match="/three is offline") as refused:
        await future_of(logs, log, TWO)
    assert refused.value.code is ErrorCode.KAFKA_STORAGE_ERROR
    await end(world, logs)
