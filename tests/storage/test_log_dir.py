"""What takes a data folder offline, and what an offline folder still does: nothing."""

from __future__ import annotations

import errno

import pytest

from broker_core.config import BrokerConfig, ConfigHolder
from broker_core.errors import ErrorCode, KafkaError
from broker_core.model import TopicPartition
from broker_core.storage.folder.log_dir import LogDirFailure
from broker_core.storage.log import AppendOrigin, PartitionLog
from broker_core.storage.manager import LogManager
from tests.support.log_world import START_MS, World, batch

pytestmark = pytest.mark.spec("S6")

A, B = TopicPartition("a", 0), TopicPartition("b", 3)


class Logs:
    """A running log manager with two logs, and what it told of its folder."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.told: list[LogDirFailure] = []
        self.manager = LogManager(world.node, ConfigHolder(BrokerConfig.load({"log.dirs": "/data"})), 1, "c1")
        self.manager.on_offline = self.told.append

    async def start(self) -> tuple[PartitionLog, PartitionLog]:
        await self.manager.start()
        made = await self.manager.get_or_create(A), await self.manager.get_or_create(B)
        await self.checkpoint()
        return made

    async def checkpoint(self) -> None:
        for folder in self.manager.folders.all:
            await self.manager.upkeep.checkpoint(folder)

    async def stop(self) -> None:
        await self.manager.shutdown()
        await self.world.spawn.stop()


def append(log: PartitionLog) -> None:
    log.append_as_leader(batch(1), 0, AppendOrigin.CLIENT, START_MS)


async def running() -> tuple[Logs, PartitionLog, PartitionLog]:
    logs = Logs(World())
    return logs, *await logs.start()


async def test_an_error_in_one_log_takes_all_offline_and_keeps_what_is_known() -> None:
    logs, a, b = await running()
    append(a)
    append(b)
    a.update_high_watermark(1)
    await logs.checkpoint()
    before = {path: bytes(data) for path, data in logs.world.disk.files.items() if path.count("/") == 2 and path.endswith("checkpoint")}
    logs.world.disk.fail["append"] = errno.EIO
    with pytest.raises(KafkaError) as refused:
        append(a)
    assert refused.value.code is ErrorCode.KAFKA_STORAGE_ERROR
    logs.world.disk.fail.clear()
    assert [(failure.at_ms, failure.what) for failure in logs.told] == [(START_MS, "append of a-0")]
    for again in (lambda: append(a), lambda: append(b)):
        with pytest.raises(KafkaError) as refused:
            again()
        assert refused.value.code is ErrorCode.KAFKA_STORAGE_ERROR
    for tp in (A, TopicPartition("new", 0)):
        with pytest.raises(KafkaError, match="/data is offline: append of a-0 failed"):
            await logs.manager.get_or_create(tp)
        with pytest.raises(KafkaError, match="/data is offline"):
            await logs.manager.delete(tp)
    assert logs.manager.all() == []
    await logs.world.clock.advance(120_000)
    await logs.world.spawn.settle()
    await logs.stop()
    after = {path: bytes(data) for path, data in logs.world.disk.files.items() if path.count("/") == 2 and path.endswith("checkpoint")}
    assert after == before, "the next process finds the offsets of all logs"
    assert "/data/.kafka_cleanshutdown" not in logs.world.disk.files
    assert len(logs.told) == 1


@pytest.mark.parametrize("failing", ["write_atomic", "fsync", "rename"])
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO, errno.EROFS])
async def test_work_in_the_background_takes_it_offline_too(failing: str, code: int) -> None:
    """Checkpoints, flushes by time and deletions, though no client writes at that moment."""
    logs, a, _ = await running()
    append(a)
    a.update_high_watermark(1)
    logs.world.disk.fail[failing] = code
    if failing == "rename":
        with pytest.raises(KafkaError):
            await logs.manager.delete(A)
    elif failing == "fsync":
        with pytest.raises(KafkaError):
            await a.recovery.flush()
    else:
        await logs.world.clock.advance(120_000)
        await logs.world.spawn.settle()
    assert len(logs.told) == 1
    await logs.stop()


@pytest.mark.parametrize("code", [errno.EMFILE, errno.ENFILE])
async def test_a_want_of_file_handles_is_not_the_disks_fault(code: int) -> None:
    logs, a, _ = await running()
    logs.world.disk.fail["append"] = logs.world.disk.fail["write_atomic"] = code
    with pytest.raises(KafkaError) as refused:
        append(a)
    assert refused.value.code is ErrorCode.KAFKA_STORAGE_ERROR
    await logs.world.clock.advance(120_000)
    await logs.world.spawn.settle()
    logs.world.disk.fail.clear()
    append(a)
    assert (a.log_end_offset, logs.told) == (1, [])
    await logs.stop()
    assert "/data/.kafka_cleanshutdown" in logs.world.disk.files


@pytest.mark.parametrize("code", [errno.ENAMETOOLONG, errno.EEXIST])
async def test_a_name_that_no_log_can_have_is_not_the_disks_fault(code: int) -> None:
    """Whoever writes to ZooKeeper can name a topic so: its log cannot be made, the others go on."""
    logs, a, _ = await running()
    logs.world.disk.fail["create"] = code
    with pytest.raises(KafkaError) as refused:
        await logs.manager.get_or_create(TopicPartition("x" * 249, 1234567), None)
    assert refused.value.code is ErrorCode.KAFKA_STORAGE_ERROR
    logs.world.disk.fail.clear()
    append(a)
    assert (a.log_end_offset, logs.told) == (1, [])
    await logs.stop()


async def test_a_log_that_cannot_be_opened_at_the_start_takes_it_offline() -> None:
    """The broker starts all the same, and can say so."""
    first, _, _ = await running()
    await first.stop()
    logs = Logs(first.world.next_process())
    logs.world.disk.fail["create"] = errno.EIO
    logs.world.disk.files.pop("/data/a-0/00000000000000000000.index")
    await logs.manager.start()
    assert [failure.what for failure in logs.told] == ["open of a-0"]
    assert logs.manager.all() == []
    await logs.stop()


async def test_the_idempotent_producers_sequence_is_as_it_was() -> None:
    """Before and after the next start: the refused batch is taken there, the one before is a duplicate."""
    logs, a, _ = await running()

    def send(log: PartitionLog, sequence: int) -> bool:
        data = batch(1, producer_id=7, producer_epoch=0, base_sequence=sequence)
        return log.append_as_leader(data, 0, AppendOrigin.CLIENT, START_MS).duplicate

    send(a, 0)
    logs.world.disk.full = True
    for sequence in (1, 2, 1):
        with pytest.raises(KafkaError) as refused:
            send(a, sequence)
        assert refused.value.code is ErrorCode.KAFKA_STORAGE_ERROR
    await logs.stop()
    again = Logs(logs.world.next_process())
    restarted, _ = await again.start()
    assert [send(restarted, sequence) for sequence in (0, 1, 2, 1)] == [True, False, False, True]
    assert restarted.log_end_offset == 3
    await again.stop()


@pytest.mark.parametrize("work", ["a new epoch", "a new segment"])
async def test_what_the_disk_does_to_work_that_nobody_waits_for_is_told_once(work: str) -> None:
    """As the folder's failure, not as an error of ours besides."""
    logs, a, _ = await running()
    append(a)
    await logs.world.spawn.settle()
    step = logs.world.disk.step

    def full(operation: str, path: str, torn: object = None) -> bool:
        if path.endswith((".snapshot", "leader-epoch-checkpoint", "leader-epoch-checkpoint.tmp")) or operation == "fsync":
            raise OSError(errno.ENOSPC, "No space left on device", path)
        return bool(step(operation, path, torn))

    logs.world.disk.step = full  # type: ignore[method-assign]
    before = len(logs.world.spawn.tasks)
    if work == "a new epoch":
        a.append_as_leader(batch(1), 5, AppendOrigin.CLIENT, START_MS)
    else:
        a.roll(START_MS)
    await logs.world.spawn.settle()
    begun = logs.world.spawn.tasks[before:]
    assert begun
    assert [task.exception() for task in begun if task.done() and not task.cancelled()] == [None] * len([t for t in begun if t.done()])
    assert len(logs.told) == 1
    logs.world.disk.step = step  # type: ignore[method-assign]
    await logs.stop()
