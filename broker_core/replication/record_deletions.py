"""DeleteRecords: moves the start of led logs and waits until every live replica has followed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from broker_core.config import ConfigHolder
from broker_core.errors import ErrorCode, KafkaError
from broker_core.model import INTERNAL_TOPICS, TopicPartition
from broker_core.replication.delayed_operations import DelayedOperations
from broker_core.replication.delayed_requests import DelayedOffsets
from broker_core.replication.partition import Partition

HIGH_WATERMARK = -1
DELETE = "delete"


class RecordDeletions:
    """`hosted` gives the partition here or raises what the client has to be told."""

    def __init__(
        self,
        config: ConfigHolder,
        delayed: DelayedOperations,
        hosted: Callable[[TopicPartition], Partition],
        is_alive: Callable[[int], bool],
    ) -> None:
        self._config = config
        self._delayed = delayed
        self._hosted = hosted
        self._is_alive = is_alive

    async def delete_records(self, wanted: Mapping[TopicPartition, int], timeout_ms: float) -> dict[TopicPartition, int | KafkaError]:
        """Per partition the low watermark (the least log start of all live replicas) or why there is none.

        Offset -1 stands for the high watermark.
        """
        results: dict[TopicPartition, int | KafkaError] = {}
        waiting: dict[TopicPartition, int] = {}
        for tp, offset in wanted.items():
            try:
                waiting[tp] = self._advance(tp, offset)
            except KafkaError as error:
                results[tp] = error
        if waiting:
            for tp, verdict in (await self._everywhere(waiting, timeout_ms)).items():
                results[tp] = self._low_watermark(tp) if verdict is ErrorCode.NONE else KafkaError(verdict)
        return results

    def _advance(self, tp: TopicPartition, offset: int) -> int:
        if tp.topic in INTERNAL_TOPICS:
            raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"records of the internal topic {tp.topic} may not be deleted")
        if DELETE not in self._config.topic(tp.topic).cleanup_policy:
            raise KafkaError(ErrorCode.POLICY_VIOLATION, f"the cleanup.policy of {tp.topic} does not include delete")
        _, log = self._hosted(tp).leading()
        offset = log.high_watermark if offset == HIGH_WATERMARK else offset
        if offset < 0:
            raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE, f"offset {offset} for {tp} makes no sense")
        if log.advance_log_start(offset):
            self._delayed.log_start_moved(tp)
        return offset

    async def _everywhere(self, waiting: dict[TopicPartition, int], timeout_ms: float) -> dict[TopicPartition, ErrorCode]:
        done: asyncio.Future[dict[TopicPartition, ErrorCode]] = asyncio.get_running_loop().create_future()
        operation = DelayedOffsets(timeout_ms, waiting, self._verdict, done)
        self._delayed.deletions.try_complete_else_watch(operation, list(waiting))
        return await done

    def _verdict(self, tp: TopicPartition, offset: int) -> ErrorCode | None:
        try:
            return ErrorCode.NONE if self._lowest(tp) >= offset else None
        except KafkaError as error:
            return error.code

    def _low_watermark(self, tp: TopicPartition) -> int | KafkaError:
        try:
            return self._lowest(tp)
        except KafkaError as error:
            return error

    def _lowest(self, tp: TopicPartition) -> int:
        leader, log = self._hosted(tp).leading()
        return leader.low_watermark(log.log_start_offset, self._is_alive)
