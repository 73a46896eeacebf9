"""The answer to a Produce request, made when its replicas have the records: long after its frame has been given back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec.structs import replace

from broker_core.errors import ErrorCode
from broker_core.handlers.common import leader_endpoints
from broker_core.handlers.registry import Frame, Request
from broker_core.model import NO_LEADER, TopicPartition
from broker_core.protocol.hot_produce import ProducedPartition, encode_produce_response
from broker_core.replication.appending import VALID_ACKS

if TYPE_CHECKING:
    from broker_core.replication.appending import AppendResult

LEADER_HINTS_SINCE = 10

Sizes = Mapping[TopicPartition, tuple[int, int]]
"""Bytes and records of what was appended to a partition."""


class Produced:
    """Keeps of a request what its answer needs: nothing of its frame."""

    __slots__ = ("_acks", "_partitions", "_request")

    def __init__(self, request: Request) -> None:
        body = request.body
        self._acks: int = body.acks
        self._partitions = [
            (topic.name, [TopicPartition(topic.name, data.index) for data in topic.partition_data]) for topic in body.topic_data
        ]
        self._request = replace(request, body=None)

    def count(self, results: Mapping[TopicPartition, AppendResult], sizes: Sizes) -> None:
        metrics = self._request.broker.metrics
        if self._acks in VALID_ACKS:
            metrics.produce_by_acks[self._acks] = metrics.produce_by_acks.get(self._acks, 0) + 1
        for tp, (count_bytes, count) in sizes.items():
            if results[tp].error_code is ErrorCode.NONE:
                metrics.produced_bytes += count_bytes
                metrics.messages_in += count

    def rows(self, results: Mapping[TopicPartition, AppendResult]) -> dict[TopicPartition, ProducedPartition]:
        return {tp: self._row(tp, result) for tp, result in results.items()}

    def answer(self, rows: Mapping[TopicPartition, ProducedPartition]) -> Frame:
        """The response, in the order in which the request named its partitions."""
        request = self._request
        topics = [(name, [rows[tp] for tp in partitions]) for name, partitions in self._partitions]
        version, correlation_id = request.version, request.header.correlation_id
        leaders = [row.current_leader for row in rows.values() if row.current_leader] if version >= LEADER_HINTS_SINCE else []
        endpoints = leader_endpoints(request, leaders)
        return lambda throttle_ms: [encode_produce_response(version, correlation_id, throttle_ms, topics, endpoints)]

    def _row(self, tp: TopicPartition, result: AppendResult) -> ProducedPartition:
        code = result.error_code
        return ProducedPartition(
            tp.partition,
            int(code),
            result.base_offset,
            result.log_append_time_ms,
            result.log_start_offset,
            result.message or None if code is not ErrorCode.NONE else None,
            self._current_leader(tp) if code is ErrorCode.NOT_LEADER_OR_FOLLOWER else None,
            result.record_errors,
        )

    def _current_leader(self, tp: TopicPartition) -> tuple[int, int] | None:
        state = self._request.broker.metadata.partition(tp)
        return None if state is None or state.leader == NO_LEADER else (state.leader, state.leader_epoch)
