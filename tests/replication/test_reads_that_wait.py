"""A partition's records may come from where they have to be waited for: the other partitions of a fetch do not suffer from that."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, cast

from broker_core.config import BrokerConfig, ConfigHolder
from broker_core.errors import ErrorCode
from broker_core.model import TopicPartition
from broker_core.protocol.hot_fetch import FetchPartitionResult
from broker_core.replication.delayed_operations import DelayedOperations
from broker_core.replication.serving.awaited_followers import AwaitedFollowers
from broker_core.replication.serving.fetch_params import FetchParams
from broker_core.replication.serving.fetch_session import (
    Answer,
    FetchClock,
    FetchContext,
    FetchSession,
    IncrementalFetchContext,
    WantedPartition,
)
from broker_core.replication.serving.fetching import Fetching
from broker_core.replication.serving.partition_reader import Limits
from tests.support.log_world import ManualClock

NOW = FetchParams(version=12, max_wait_ms=0, min_bytes=1, max_bytes=1_000)
WANTED = [WantedPartition("t", None, number, 0, 1_000) for number in range(3)]


class StandingClock(ManualClock):
    """Time does not pass."""

    def call_later(self, delay_ms: float, callback: Callable[..., None], *args: object) -> asyncio.TimerHandle:
        return asyncio.get_running_loop().call_later(1e6, callback, *args)


class Reads:
    """Implements `PartitionReader`: partition 1 is in an archive, the others are at hand."""

    def __init__(self) -> None:
        self.archive: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self.rooms: list[int] = []
        self.looks = 0

    def topic_partition(self, wanted: WantedPartition) -> TopicPartition | None:
        return TopicPartition("t", wanted.partition)

    def read(self, params: FetchParams, wanted: WantedPartition, limits: Limits) -> Answer | Awaitable[Answer]:
        self.rooms.append(limits.room_bytes)
        return self._from_archive(wanted) if wanted.partition == 1 else answer(wanted, 0)

    async def _from_archive(self, wanted: WantedPartition) -> Answer:
        return answer(wanted, await self.archive)

    def available_bytes(self, params: FetchParams, wanted: WantedPartition) -> int | None:
        self.looks += 1
        return 0


def answer(wanted: WantedPartition, size_bytes: int) -> Answer:
    result = FetchPartitionResult(wanted.partition, ErrorCode.NONE, 0, 0, 0)
    result.records_bytes = size_bytes
    return Answer(wanted, result, settled=size_bytes == 0)


def fetching(reads: Reads) -> Fetching:
    delayed = DelayedOperations(cast(Any, StandingClock()), fetch_purge_interval=1, produce_purge_interval=1, deletion_purge_interval=1)
    return Fetching(ConfigHolder(BrokerConfig.load({})), delayed, reads, AwaitedFollowers(cast(Any, StandingClock())))


async def test_what_is_at_hand_is_answered_without_a_turn_of_the_loop() -> None:
    fetch = fetching(Reads()).fetch(NOW, FetchContext([WANTED[0], WANTED[2]], FetchClock(0)))
    try:
        fetch.send(None)
    except StopIteration as done:
        assert [each.wanted.partition for each in done.value.answers] == [0, 2]
    else:
        raise AssertionError("it waited")


async def test_an_answer_that_is_waited_for_takes_its_place_and_its_room() -> None:
    reads = Reads()
    under_way = asyncio.create_task(fetching(reads).fetch(NOW, FetchContext(WANTED, FetchClock(0))))
    await asyncio.sleep(0)
    assert (reads.rooms, under_way.done()) == ([1_000, 1_000], False)
    reads.archive.set_result(700)
    reply = await under_way
    assert [(each.wanted.partition, each.result.records_bytes) for each in reply.answers] == [(0, 0), (1, 700), (2, 0)]
    assert reads.rooms[2] == 300


async def test_what_was_read_to_its_end_is_not_looked_at_again_before_the_wait() -> None:
    reads = Reads()
    patient = FetchParams(version=12, max_wait_ms=500, min_bytes=1, max_bytes=1_000)
    under_way = asyncio.create_task(fetching(reads).fetch(patient, FetchContext([WANTED[0], WANTED[2]], FetchClock(0))))
    await asyncio.sleep(0)
    assert (len(reads.rooms), reads.looks, under_way.done()) == (2, 0, False)
    under_way.cancel()


async def test_what_was_read_before_a_wait_for_others_is_looked_at_again() -> None:
    reads = Reads()
    patient = FetchParams(version=12, max_wait_ms=500, min_bytes=1, max_bytes=1_000)
    under_way = asyncio.create_task(fetching(reads).fetch(patient, FetchContext(WANTED, FetchClock(0))))
    await asyncio.sleep(0)
    reads.archive.set_result(0)
    await asyncio.sleep(0)
    assert (len(reads.rooms), reads.looks, under_way.done()) == (3, 6, False)
    under_way.cancel()


async def test_a_session_does_not_lose_what_moved_during_the_wait() -> None:
    """Partition 0 had nothing to tell, then it got records while the archive was asked: the next fetch has to look at it."""
    session = FetchSession(7, privileged=False, uses_topic_ids=False, clock=FetchClock(0), now_ms=0)
    for wanted in WANTED:
        session.put(wanted)
    reads = Reads()
    under_way = asyncio.create_task(fetching(reads).fetch(NOW, IncrementalFetchContext(session)))
    await asyncio.sleep(0)
    session.mark(WANTED[0].key)
    reads.archive.set_result(700)
    await under_way
    assert [wanted.partition for wanted in session.wanted()] == [0, 1]
