"""Answers questions about one replica's log; the other end is `outside/log_look.py`.

Key 32001, version 0, framed as the state feed's (`telemetry/feed_wire.py`): request `contract.log_look.Look`, response `LookAnswer`, each
one UTF-8 JSON object. At most `LOOKS_AT_ONCE` are made at a time; who comes more is refused, and may ask again.
"""

from __future__ import annotations

import struct

import msgspec

from broker_core.contract.log_look import LogLook, Look, LookAnswer
from broker_core.errors import ErrorCode, KafkaError, ProtocolViolation
from broker_core.model import TopicPartition
from broker_core.records.budget import Budget
from broker_core.records.steps import Steps
from broker_core.replication.manager import ReplicaManager
from broker_core.replication.partition import Partition
from broker_core.seams import Node
from broker_core.storage.log import PartitionLog
from broker_core.storage.manager import LogManager
from broker_core.telemetry.log_look import checkpoints, producer_rows, segment_rows, trace

LOG_LOOK_KEY = 32_001
LOG_LOOK_VERSION = 0
REQUEST_BYTES_MAX = 4096
LOOKS_AT_ONCE = 4
_CORRELATION = struct.Struct(">i")
_LOOK, _ANSWER = msgspec.json.Decoder(Look), msgspec.json.Decoder(LookAnswer)


def parse_look(body: bytes | memoryview) -> Look:
    """INVALID_REQUEST for what is no question."""
    if len(body) > REQUEST_BYTES_MAX:
        raise ProtocolViolation(f"a question about a log of {len(body)} bytes is too large")
    try:
        return _LOOK.decode(body)
    except (ValueError, RecursionError) as wrong:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"the question about a log is malformed: {wrong}") from None


def encode_answer(correlation_id: int, answer: LookAnswer) -> bytes:
    return _CORRELATION.pack(correlation_id) + msgspec.json.encode(answer)


def parse_answer(frame: bytes | memoryview) -> LogLook:
    """`KafkaError` when it is a refusal, `ProtocolViolation` when it is no answer."""
    try:
        answer = _ANSWER.decode(frame[_CORRELATION.size :])
    except (ValueError, RecursionError) as wrong:
        raise ProtocolViolation(f"an answer about a log cannot be read: {wrong}") from None
    if answer.look is None:
        raise KafkaError(ErrorCode(answer.error), answer.message)
    return answer.look


class LogLooks:
    """One broker's."""

    def __init__(self, node: Node, broker_id: int, replicas: ReplicaManager, logs: LogManager) -> None:
        self._node = node
        self._broker_id = broker_id
        self._replicas = replicas
        self._logs = logs
        self._under_way = 0

    async def look(self, asked: Look, broker_epoch: int) -> LogLook:
        """`KafkaError`: UNKNOWN_TOPIC_OR_PARTITION, NOT_LEADER_OR_FOLLOWER where this broker has no replica, KAFKA_STORAGE_ERROR,
        REQUEST_TIMED_OUT, THROTTLING_QUOTA_EXCEEDED where too many ask at once."""
        if self._under_way >= LOOKS_AT_ONCE:
            raise KafkaError(ErrorCode.THROTTLING_QUOTA_EXCEEDED, f"{LOOKS_AT_ONCE} others look at logs of this broker: ask again")
        partition = self._replicas.partitions.hosted(TopicPartition(asked.topic, asked.partition))
        log = partition.replica()
        budget = self._replicas.workbench.budget()
        self._under_way += 1
        try:
            return await self._replicas.workbench.run(self._steps(asked, partition, log, budget, broker_epoch), budget)
        finally:
            self._under_way -= 1

    def _steps(self, asked: Look, partition: Partition, log: PartitionLog, budget: Budget, broker_epoch: int) -> Steps[LogLook]:
        traced = yield from trace(log, asked, budget)
        rows, older = yield from segment_rows(log, asked.before)
        producers = yield from producer_rows(log)
        return LogLook(
            broker_id=self._broker_id,
            broker_epoch=broker_epoch,
            at_ms=self._node.clock.now_ms(),
            topic=asked.topic,
            partition=asked.partition,
            role=partition.role.value,
            leader_epoch=partition.leader_epoch,
            folder=log.directory,
            log_start_offset=log.log_start_offset,
            last_stable_offset=log.last_stable_offset,
            high_watermark=log.high_watermark,
            log_end_offset=log.log_end_offset,
            first_unstable_offset=log.producer_state.first_unstable_offset,
            segments=rows,
            segments_total=len(log.segments),
            size_bytes=log.segments.size_bytes,
            older=older,
            checkpoints=checkpoints(log, self._logs.checkpointed(log)),
            producers=producers,
            producers_total=len(log.producer_state.entries),
            trace=traced,
        )
