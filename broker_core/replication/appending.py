"""Appends to led partitions and waits for their replicas (spec R5, P1)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple

from msgspec import Struct

from broker_core.errors import ErrorCode, KafkaError, RecordsRefused
from broker_core.model import INTERNAL_TOPICS, NO_EPOCH, TopicPartition
from broker_core.records.budget import Budget, BudgetSpent, refusal
from broker_core.records.header import parse_header
from broker_core.replication.delayed_operations import DelayedOperations
from broker_core.replication.delayed_requests import DelayedOffsets
from broker_core.replication.partition import ACKS_ALL, Partition
from broker_core.replication.refused_sequences import RefusedSequences
from broker_core.replication.txn_verification import TxnVerification
from broker_core.seams import Node
from broker_core.storage.log import AppendInfo, AppendOrigin, PartitionLog
from broker_core.storage.validation.log_validator import ValidationResult, must_validate, validate_headers, validating
from broker_core.storage.workbench import Workbench

logger = logging.getLogger(__name__)

VALID_ACKS = (0, 1, ACKS_ALL)
START_UNTOLD = frozenset(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.MESSAGE_TOO_LARGE,
        ErrorCode.RECORD_LIST_TOO_LARGE,
        ErrorCode.CORRUPT_MESSAGE,
        ErrorCode.KAFKA_STORAGE_ERROR,
    }
)


class AppendResult(Struct, frozen=True):
    """One partition's outcome; `message` says why when `error_code` is not NONE, and `record_errors` which records are to blame."""

    error_code: ErrorCode
    message: str | None = None
    base_offset: int = -1
    log_append_time_ms: int = -1
    log_start_offset: int = -1
    record_errors: tuple[tuple[int, str], ...] = ()


class Terms(NamedTuple):
    """What all of a request's appends have in common; `budget` is for looking into their records, `made_here` needs no such look."""

    acks: int
    origin: AppendOrigin
    budget: Budget
    made_here: Collection[TopicPartition]


class Appended(Struct):
    """What a request has appended and not acknowledged: the ends of its batches, and the logs that have to flush them first."""

    ends: dict[TopicPartition, int]
    held: dict[TopicPartition, PartitionLog]

    def add(self, tp: TopicPartition, log: PartitionLog | None, end_offset: int) -> None:
        self.ends[tp] = end_offset
        if log is not None and log.recovery.settled_offset < end_offset:
            self.held[tp] = log

    async def flushed(self) -> dict[TopicPartition, AppendResult]:
        """Waits for the flushes, which run side by side; the results of those that failed, which nobody need wait for any more."""
        failed = {}
        for tp, log in self.held.items():
            try:
                await log.recovery.settle(self.ends[tp])
            except KafkaError as error:
                failed[tp] = AppendResult(error.code, error.message)
                del self.ends[tp]
        return failed


class Begun(Struct):
    """What came of a request's appends so far; `replicated` is done once the rest is known, None where nothing is waited for."""

    results: dict[TopicPartition, AppendResult]
    replicated: asyncio.Future[dict[TopicPartition, ErrorCode]] | None = None

    def finished(self) -> dict[TopicPartition, AppendResult]:
        """Every partition's outcome, once `replicated` is done."""
        if self.replicated is not None:
            for tp, verdict in self.replicated.result().items():
                if verdict is not ErrorCode.NONE:
                    self.results[tp] = AppendResult(verdict, _why(verdict))
        return self.results


class Appending:
    """`hosted` gives the partition here or raises what the client has to be told."""

    def __init__(
        self,
        node: Node,
        delayed: DelayedOperations,
        hosted: Callable[[TopicPartition], Partition],
        workbench: Workbench,
        verification: TxnVerification,
    ) -> None:
        self._clock = node.clock
        self._delayed = delayed
        self._hosted = hosted
        self._workbench = workbench
        self._refused = RefusedSequences()
        self.verification = verification

    async def begin(
        self,
        entries: Mapping[TopicPartition, bytes | memoryview],
        *,
        acks: int,
        timeout_ms: float,
        origin: AppendOrigin,
        budget: Budget | None = None,
        made_here: Collection[TopicPartition] = (),
    ) -> Begun:
        """Appends to each partition; what acks=all then waits for is `Begun.replicated`, for `timeout_ms` at most.

        `budget` is what is left for looking into records, where the request has already had some of that done; `made_here` names
        the partitions whose batches are conversions by this broker.
        """
        if acks not in VALID_ACKS:
            words = f"acks must be 0, 1 or -1 (all), not {acks}"
            return Begun({tp: AppendResult(ErrorCode.INVALID_REQUIRED_ACKS, words) for tp in entries})
        results: dict[TopicPartition, AppendResult] = {}
        appended = Appended({}, {})
        terms = Terms(acks, origin, budget or self._workbench.budget(), made_here)
        for tp, data in entries.items():
            results[tp] = await self._append_one(tp, data, terms, appended)
        if acks != 0 and appended.held:
            results |= await appended.flushed()
        return Begun(results, self._replicated(appended.ends, timeout_ms) if acks == ACKS_ALL and appended.ends else None)

    def append_now(
        self, tp: TopicPartition, data: bytes | memoryview, origin: AppendOrigin, expected_leader_epoch: int = NO_EPOCH
    ) -> AppendInfo:
        """Appends at once with the conditions of acks=all; `wait_replicated` waits for the rest. Raises `KafkaError`."""
        partition = self._hosted(tp)
        header = parse_header(data)
        self.verification.check(partition, header)
        info, moved = partition.append(data, origin, acks=ACKS_ALL, expected_epoch=expected_leader_epoch)
        self.verification.began(tp, header)
        self._delayed.moved(partition, moved)
        return info

    def not_taken(self, tp: TopicPartition, data: bytes | memoryview, error: KafkaError) -> None:
        """A client's batch was refused before it came here: what the producer sent after it does not overtake it."""
        self._refused.note(tp, data, error, self._clock.monotonic_ms())

    async def wait_replicated(self, tp: TopicPartition, last_offset: int, timeout_ms: float) -> None:
        """Returns once the high watermark is above `last_offset`; `KafkaError` when it did not get there."""
        log = self._hosted(tp).log
        if log is not None:
            await log.recovery.settle(last_offset + 1)
        verdict = (await self._replicated({tp: last_offset + 1}, timeout_ms))[tp]
        if verdict is not ErrorCode.NONE:
            raise KafkaError(verdict, f"offset {last_offset} of {tp}: {_why(verdict)}")

    async def _append_one(self, tp: TopicPartition, data: bytes | memoryview, terms: Terms, appended: Appended) -> AppendResult:
        try:
            if terms.origin is AppendOrigin.CLIENT and tp.topic in INTERNAL_TOPICS:
                raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"Cannot append to internal topic {tp.topic}")
            partition = self._hosted(tp)
        except KafkaError as error:
            self._refused.note(tp, data, error, self._clock.monotonic_ms())
            return AppendResult(error.code, error.message)
        try:
            validated = await self._validated(partition, data, terms) if terms.origin is AppendOrigin.CLIENT else None
            if partition.log is not None:
                self._refused.check(tp, data, partition.log.producer_state, self._clock.monotonic_ms())
            headers = [found.header for found in validated.batches] if validated is not None else []
            for header in headers:
                self.verification.check(partition, header)
            info, moved = partition.append(data, terms.origin, acks=terms.acks, validated=validated)
            for header in headers:
                self.verification.began(tp, header)
            if terms.origin is AppendOrigin.COORDINATOR:
                self.verification.ended(tp, parse_header(data).producer_id)
        except KafkaError as error:
            self._refused.note(tp, data, error, self._clock.monotonic_ms())
            return _refused(error, partition)
        except Exception as error:
            logger.exception("an append failed", extra={"partition": str(tp)})
            return AppendResult(ErrorCode.UNKNOWN_SERVER_ERROR, f"unexpected {type(error).__name__}")
        appended.add(tp, partition.log, info.last_offset + 1)
        self._delayed.moved(partition, moved)
        return AppendResult(ErrorCode.NONE, None, info.first_offset, info.log_append_time_ms, info.log_start_offset)

    async def _validated(self, partition: Partition, data: bytes | memoryview, terms: Terms) -> ValidationResult:
        """The batches as they are to be appended; where that takes long others are served meanwhile, and the leadership may end."""
        _, log = partition.appendable(terms.acks)
        if partition.tp in terms.made_here and not must_validate(log.config):
            return validate_headers(data, log.config)
        try:
            return await self._workbench.run(validating(data, log.config, self._clock.now_ms(), terms.budget), terms.budget)
        except BudgetSpent as error:
            raise refusal(error) from error

    def _replicated(self, waiting: dict[TopicPartition, int], timeout_ms: float) -> asyncio.Future[dict[TopicPartition, ErrorCode]]:
        done: asyncio.Future[dict[TopicPartition, ErrorCode]] = asyncio.get_running_loop().create_future()
        operation = DelayedOffsets(timeout_ms, waiting, self._verdict, done)
        self._delayed.produces.try_complete_else_watch(operation, list(waiting))
        return done

    def _verdict(self, tp: TopicPartition, offset: int) -> ErrorCode | None:
        """None while the high watermark is below `offset`."""
        try:
            partition = self._hosted(tp)
            leader, log = partition.leading()
        except KafkaError as error:
            return error.code
        if log.high_watermark < offset:
            return None
        enough = len(leader.isr.maximal) >= partition.min_isr
        return ErrorCode.NONE if enough else ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND


def _refused(error: KafkaError, partition: Partition) -> AppendResult:
    """The log start is told with the failures that are about the records or their producer, as Kafka does."""
    log = partition.log
    start = -1 if log is None or error.code in START_UNTOLD else log.log_start_offset
    records = error.records if isinstance(error, RecordsRefused) else ()
    return AppendResult(error.code, error.message, log_start_offset=start, record_errors=records)


def _why(verdict: ErrorCode) -> str:
    if verdict is ErrorCode.REQUEST_TIMED_OUT:
        return "appended, but not replicated to all in-sync replicas in time"
    if verdict is ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND:
        return "appended, but to fewer in-sync replicas than min.insync.replicas"
    return "appended, but this broker stopped leading the partition before it was replicated"
