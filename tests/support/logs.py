"""A log of three segments as its broker would tell it, for tests of what is made of that."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

from broker_core.contract.log_look import LogLook, Look
from broker_core.records.batch import Record, build_batch
from broker_core.records.budget import Budget
from broker_core.records.steps import finish
from broker_core.storage.log import AppendOrigin, PartitionLog
from broker_core.telemetry.log_looks import LogLooks
from tests.support.log_world import START_MS, World

STEP_MS = 10
INDEX_INTERVAL_BYTES = 600


def append(log: PartitionLog, count: int, *, records: int = 3, producer: tuple[int, int] = (-1, -1)) -> None:
    """Batches whose records are `STEP_MS` apart."""
    for _ in range(count):
        first = log.log_end_offset
        written = [Record(n, START_MS + (first + n) * STEP_MS, None, b"x" * 40, ()) for n in range(records)]
        sequence = first if producer[0] >= 0 else -1
        data = build_batch(written, producer_id=producer[0], producer_epoch=producer[1], base_sequence=sequence)
        log.append_as_leader(data, 0, AppendOrigin.CLIENT, START_MS)


async def four_segments() -> PartitionLog:
    """Of 60, 60, 60 and 15 offsets."""
    log = await World(index_interval_bytes=INDEX_INTERVAL_BYTES).open()
    for _ in range(3):
        append(log, 20)
        log.roll(START_MS)
    append(log, 5)
    log.update_high_watermark(log.log_end_offset)
    return log


def looked_at(broker_id: int, host: str, port: int, asked: Look) -> LogLook:
    """In the place of `console.gateway.log_look.look`."""

    async def look() -> LogLook:
        log = await four_segments()
        append(log, 1, records=1, producer=(4001, 1))
        node: Any = SimpleNamespace(clock=SimpleNamespace(now_ms=lambda: START_MS))
        logs: Any = SimpleNamespace(checkpointed=lambda _partition: (60, 190, None))
        replicas: Any = None
        partition: Any = SimpleNamespace(role=SimpleNamespace(value="leader"), leader_epoch=3)
        budget = Budget()
        return finish(LogLooks(node, broker_id, replicas, logs)._steps(asked, partition, log, budget, 7))

    return asyncio.run(look())
