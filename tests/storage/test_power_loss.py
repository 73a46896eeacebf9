"""Random histories on a disk that loses what was not flushed: below the recovery point nothing goes, above it no lies."""

from __future__ import annotations

import asyncio
import random

import pytest

from broker_core.errors import KafkaError
from broker_core.records.batch import build_batch, check_batch, iter_headers, read_records
from broker_core.storage.log import AppendOrigin, PartitionLog
from tests.simulation.kernel.disk import DiskState, SimDisk
from tests.support.log_world import FOLDER, START_MS, ManualClock, World, all_bytes, record

pytestmark = pytest.mark.spec("S6")


class HastyClock(ManualClock):
    """Time passes by sleeping."""

    async def sleep(self, delay_ms: float) -> None:
        await asyncio.sleep(0)


def world_on(state: DiskState, chance: random.Random) -> World:
    clock = HastyClock()
    disk = SimDisk(state, clock, chance, lambda kind, path, data: None)
    world = World(disk, segment_bytes=2000, index_interval_bytes=100, file_delete_delay_ms=0)
    world.clock = clock
    world.node = type(world.node)(clock, world.spawn, world.node.entropy, disk, world.node.network, world.node.store)
    return world


class History:
    """What the log should hold: value by offset, and how much of it is safe."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.values: list[bytes] = []
        self.epoch = 0
        self.serial = 0

    async def step(self, log: PartitionLog) -> None:
        kind = self.chance.choices(["append", "flush", "truncate", "epoch", "roll"], [10, 2, 1, 1, 1])[0]
        if kind == "append":
            self.append(log)
        elif kind == "flush":
            await log.recovery.flush()
        elif kind == "roll":
            log.roll(START_MS)
        elif kind == "epoch":
            self.epoch += 1
            await log.side_files.assign_epoch(self.epoch, log.log_end_offset)
        elif self.values:
            end = len(self.values) - self.chance.randrange(min(8, len(self.values)) + 1)
            await log.truncate_to(end)
            del self.values[log.log_end_offset :]

    def append(self, log: PartitionLog) -> None:
        values = []
        for _ in range(self.chance.randint(1, 4)):
            self.serial += 1
            values.append(f"{self.serial}".encode() * self.chance.randint(1, 40))
        records = [record(index)._replace(value=value) for index, value in enumerate(values)]
        log.append_as_leader(build_batch(records, base_offset=0), self.epoch, AppendOrigin.CLIENT, START_MS)
        self.values += values


def check(log: PartitionLog) -> list[bytes]:
    """Every batch is whole and in order; returns the values by offset."""
    data, values = all_bytes(log), []
    for position, header in iter_headers(data):
        check_batch(data, position, header)
        assert header.base_offset == len(values)
        assert log.epochs.epoch_of(header.base_offset) == header.leader_epoch
        values += [each.value or b"" for each in read_records(data, position, header)]
    assert len(values) == log.log_end_offset
    starts = [start for _, start in log.epochs.entries]
    assert starts == sorted(set(starts)) and all(start < log.log_end_offset for start in starts)
    return values


@pytest.mark.parametrize("seed", range(40))
async def test_a_power_loss_takes_only_what_was_not_flushed(seed: int) -> None:
    chance = random.Random(seed)
    state, history = DiskState(), History(chance)
    state.folders["/data"] = None
    recovery_point = 0
    for _ in range(6):
        world = world_on(state, chance)
        log = await world.open(recovery_point=recovery_point)
        values = check(log)
        assert len(values) >= recovery_point
        assert values == history.values[: len(values)]
        history.values = values
        for _ in range(chance.randint(1, 25)):
            await history.step(log)
            recovery_point = min(recovery_point, log.recovery.point) if chance.random() < 0.3 else log.recovery.point
        recovery_point = log.recovery.point
        world.disk.dead = True
        await world.spawn.stop()
        if chance.random() < 0.7:
            state.lose_power(chance)
        with pytest.raises(KafkaError):
            log.health.closed = True
            history.append(log)
        assert FOLDER in state.folders


@pytest.mark.spec("S5")
@pytest.mark.parametrize("seed", range(20))
async def test_what_flush_messages_let_be_acknowledged_is_never_lost(seed: int) -> None:
    """Several producers at once, each told of its record only after `settle`; the power goes at any moment."""
    chance = random.Random(seed)
    state = DiskState()
    state.folders["/data"] = None
    acknowledged: dict[int, bytes] = {}
    for _ in range(5):
        world = world_on(state, chance)
        world.configure(flush_messages=1)
        log = await world.open()
        values = check(log)
        for offset, value in acknowledged.items():
            assert offset < len(values), f"{offset} of {len(values)} is gone"
            assert values[offset] == value
        for _ in range(chance.randint(1, 12)):
            if chance.random() < 0.1:
                log.roll(START_MS)
            value = chance.randbytes(chance.randint(1, 200))
            info = log.append_as_leader(build_batch([record()._replace(value=value)]), 0, AppendOrigin.CLIENT, START_MS)
            world.spawn(acknowledge(log, info.last_offset, value, acknowledged), name="producer")
            for _ in range(chance.randint(0, 3)):
                await asyncio.sleep(0)
        await world.spawn.settle(rounds=chance.randint(0, 8))
        world.disk.dead = True
        state.lose_power(chance)
        await world.spawn.stop()
    assert len(acknowledged) > 5


async def acknowledge(log: PartitionLog, offset: int, value: bytes, acknowledged: dict[int, bytes]) -> None:
    await log.recovery.settle(offset + 1)
    acknowledged[offset] = value
