"""What old clients bring and ask for is converted while others are served."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from broker_core.config import BrokerConfig, ConfigHolder
from broker_core.errors import ErrorCode
from broker_core.handlers import fetch, produce
from broker_core.handlers.registry import ApiHandler, Request
from broker_core.model import TopicPartition
from broker_core.protocol.hot_fetch import FetchPartitionResult
from broker_core.records.batch import Codec, Record, build_batch, iter_headers, read_records
from broker_core.records.legacy import build_message_set
from broker_core.replication.appending import AppendResult, Begun
from broker_core.replication.serving.fetch_session import Answer, Reply, WantedPartition
from broker_core.seams import at_once
from broker_core.server.pipeline import UNTHROTTLED_MS, respond
from broker_core.storage.workbench import Workbench
from broker_core.telemetry.metrics import BrokerMetrics
from tests.support.log_world import ManualClock

pytestmark = pytest.mark.spec("S3")

RECORDS = [Record(index, 1_000 + index, None, b"value" * 20) for index in range(5_000)]


class TickingClock(ManualClock):
    """Every look at it finds a millisecond gone."""

    def monotonic_ms(self) -> float:
        self.now += 1
        return float(self.now)


async def answer_beside_others(handler: ApiHandler, version: int, body: Any, replicas: Any) -> tuple[Any, int]:
    """The handler's answer, and how often somebody else had a turn before it."""
    node = SimpleNamespace(clock=TickingClock(), aside=at_once)
    replicas.workbench = Workbench(node, ConfigHolder(BrokerConfig()))  # type: ignore[arg-type]
    broker = SimpleNamespace(
        node=node,
        replicas=replicas,
        metrics=BrokerMetrics(),
        config=SimpleNamespace(topic=lambda name: SimpleNamespace(message_downconversion_enable=True)),
    )
    request = Request(SimpleNamespace(correlation_id=1), body, version, broker, None)  # type: ignore[arg-type]
    turns = 0

    async def somebody_else() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    other = asyncio.create_task(somebody_else())
    answer = respond(request.header, await handler(request), UNTHROTTLED_MS)
    other.cancel()
    return answer, turns


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4], ids=lambda codec: codec.name)
async def test_a_fetch_that_has_to_be_converted(codec: Codec) -> None:
    stored = build_batch(RECORDS, compression=codec)
    partitions = [
        Answer(
            WantedPartition("t", None, index, 0, 1 << 20), FetchPartitionResult(index, 0, records=[stored], records_bytes=len(stored)), True
        )
        for index in range(2)
    ]

    async def read(*_: object, **__: object) -> Reply:
        return Reply(ErrorCode.NONE, 0, partitions)

    rows = [SimpleNamespace(partition=index, fetch_offset=0, partition_max_bytes=1 << 20) for index in range(2)]
    body = SimpleNamespace(max_wait=0, min_bytes=0, replica_id=-1, topics=[SimpleNamespace(topic="t", partitions=rows)])
    answer, turns = await answer_beside_others(fetch.handle, 2, body, SimpleNamespace(fetch=read))
    wanted = build_message_set(RECORDS, 1, codec)
    assert b"".join(answer).count(wanted) == 2
    assert turns > 2 * len(RECORDS) / 64 / 4, "about every second step"


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4], ids=lambda codec: codec.name)
async def test_a_produce_that_has_to_be_converted(codec: Codec) -> None:
    appended: dict[TopicPartition, Any] = {}

    async def begin(entries: dict[TopicPartition, Any], **_: object) -> Begun:
        appended.update(entries)
        return Begun({tp: AppendResult(ErrorCode.NONE, None, 7) for tp in entries})

    data = memoryview(build_message_set(RECORDS, 1, codec))
    rows = [SimpleNamespace(index=index, records=data) for index in (1, 0)]
    body = SimpleNamespace(acks=1, timeout=1_000, topic_data=[SimpleNamespace(name="t", partition_data=rows)])
    answer, turns = await answer_beside_others(produce.handle, 2, body, SimpleNamespace(appending=SimpleNamespace(begin=begin)))
    assert answer is not None
    assert list(appended) == [TopicPartition("t", 1), TopicPartition("t", 0)]
    for batch in appended.values():
        ((position, header),) = list(iter_headers(batch))
        assert read_records(batch, position, header) == RECORDS
    assert turns > 2 * len(RECORDS) / 64 / 4, "about every second step"
