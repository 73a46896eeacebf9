"""Answers fetch requests: at once when there is enough, an error or no time to wait; else when enough has come (spec P1)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable
from typing import Protocol

from broker_core.config import ConfigHolder
from broker_core.errors import ErrorCode
from broker_core.model import NO_EPOCH, TopicPartition
from broker_core.protocol.hot_fetch import FetchPartitionResult
from broker_core.replication.delayed_operations import DelayedOperations, FetchKey, FollowerKey
from broker_core.replication.delayed_requests import DelayedFetch
from broker_core.replication.serving.awaited_followers import AwaitedFollowers
from broker_core.replication.serving.fetch_params import FetchParams
from broker_core.replication.serving.fetch_session import Answer, FetchClock, FetchContext, Reply, WantedPartition
from broker_core.replication.serving.partition_reader import Limits

ROW_BYTES = 48
"""What a partition takes in an answer besides its records."""


class PartitionReader(Protocol):
    """Where one partition's records come from: the logs of this broker answer at once and copy nothing (partition_reader.py)."""

    def topic_partition(self, wanted: WantedPartition) -> TopicPartition | None: ...

    def read(self, params: FetchParams, wanted: WantedPartition, limits: Limits) -> Answer | Awaitable[Answer]:
        """An answer that has to be awaited (from an archive, a cold disk) sees to it itself that it still holds when it comes: the
        leadership may have ended meanwhile."""
        ...

    def available_bytes(self, params: FetchParams, wanted: WantedPartition) -> int | None: ...


class Fetching:
    """All partitions of a fetch, within the response's limit, now or a little later."""

    def __init__(self, config: ConfigHolder, delayed: DelayedOperations, reader: PartitionReader, awaited: AwaitedFollowers) -> None:
        self._config = config
        self._delayed = delayed
        self._awaited = awaited
        self._reader = reader
        self._generations: dict[int, int] = {}

    async def fetch(self, params: FetchParams, context: FetchContext) -> Reply:
        if context.error_code is not ErrorCode.NONE:
            return context.answer([])
        if self._is_from_before_a_reboot(params):
            return context.answer([_stale(wanted) for wanted in context.wanted()])
        answers = await self._read_all(params, context.wanted(), context.clock)
        if self._has_to_answer(params, context, answers):
            return _answered(params, context, answers)
        if context.session is not None:
            context.session.rest(answers)
        await self._waiting(params, context, nothing_new=all(answer.settled for answer in answers))
        return _answered(params, context, await self._read_all(params, context.wanted(), None))

    def _is_from_before_a_reboot(self, params: FetchParams) -> bool:
        """A follower's fetch with an older broker epoch than one it has shown before: it was sent before its reboot (KAFKA-15221)."""
        if not params.from_follower or params.replica_epoch == NO_EPOCH:
            return False
        newest = self._generations.get(params.replica_id, NO_EPOCH)
        self._generations[params.replica_id] = max(newest, params.replica_epoch)
        return params.replica_epoch < newest

    async def _read_all(self, params: FetchParams, partitions: Iterable[WantedPartition], clock: FetchClock | None) -> list[Answer]:
        """Reads while the response has room; the first batch of the first partition that has any goes out whatever its size."""
        room = min(params.max_bytes, self._config.current.fetch_max_bytes)
        min_one = params.first_batch_whatever_its_size
        answers: list[Answer] = []
        for wanted in partitions:
            answer = self._reader.read(params, wanted, Limits(room, min_one, clock))
            if not isinstance(answer, Answer):
                answer = await answer
                # What was settled before the wait may have moved since, and a session must not forget the mark that told so.
                answers = [before._replace(settled=False) for before in answers]
            answers.append(answer)
            if answer.result.records_bytes > 0:
                min_one = False
                room = max(0, room - answer.result.records_bytes)
        return answers

    def _has_to_answer(self, params: FetchParams, context: FetchContext, answers: list[Answer]) -> bool:
        if params.max_wait_ms <= 0 or (context.session is None and not answers):
            return True
        found = 0
        for answer in answers:
            if _is_urgent(answer):
                return True
            found += answer.result.records_bytes
        return found >= params.min_bytes

    def _waiting(self, params: FetchParams, context: FetchContext, *, nothing_new: bool) -> asyncio.Future[None]:
        """`nothing_new`: each partition has just been read to its end, so there is no need to look at them again before the wait."""
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        keys, wait_ms = self._keys(context), float(params.max_wait_ms)
        held_ms = self._awaited.hold_ms(params.replica_id) if params.from_follower else None
        if held_ms is not None:
            wait_ms = min(wait_ms, held_ms)
        elif params.from_follower:
            keys.append(FollowerKey(params.replica_id))
        operation = DelayedFetch(wait_ms, lambda: self._is_ready(params, context.wanted()), done)
        fetches = self._delayed.fetches
        (fetches.watch if nothing_new else fetches.try_complete_else_watch)(operation, keys)
        return done

    def _keys(self, context: FetchContext) -> list[FetchKey]:
        if context.session is not None:
            return [context.session.session_id]
        named = (self._reader.topic_partition(wanted) for wanted in context.wanted())
        return [tp for tp in named if tp is not None]

    def _is_ready(self, params: FetchParams, partitions: Iterable[WantedPartition]) -> bool:
        available = 0
        for wanted in partitions:
            size = self._reader.available_bytes(params, wanted)
            if size is None:
                return True
            available += size
        return available >= params.min_bytes


def _answered(params: FetchParams, context: FetchContext, answers: list[Answer]) -> Reply:
    """A session sees nothing of what is held back: it is read anew for the client's next request."""
    if params.held_back is not None and params.held_back(sum(map(_sent_bytes, answers))):
        return context.held_back()
    return context.answer(answers)


def _sent_bytes(answer: Answer) -> int:
    """With what stands around the records, by and large."""
    return answer.result.records_bytes + ROW_BYTES if answer.result.records_bytes else 0


def _is_urgent(answer: Answer) -> bool:
    """Errors, divergence and redirections are told at once."""
    result = answer.result
    return result.error_code != ErrorCode.NONE or result.diverging is not None or result.preferred_read_replica >= 0


def _stale(wanted: WantedPartition) -> Answer:
    result = FetchPartitionResult(wanted.partition, ErrorCode.NOT_LEADER_OR_FOLLOWER, -1, -1, -1)
    return Answer(wanted, result, settled=False)
