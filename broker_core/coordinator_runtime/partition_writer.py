"""How a coordinator writes to its topic: one batch per decision, to all in-sync replicas, in its own leader epoch.

`append` puts the batch into the leader's log without waiting, so that the log has the decisions in the order they were made;
`replicated` then waits until the high watermark is above it. If the partition's leader epoch is not the one the coordinator was
elected in, nothing is written.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from broker_core.coordinator_runtime.ownership import Tenure
from broker_core.errors import ErrorCode, KafkaError
from broker_core.model import TopicPartition
from broker_core.records.batch import NO_PRODUCER_ID, Record, build_batch
from broker_core.seams import Clock
from broker_core.storage.log import AppendInfo, AppendOrigin

if TYPE_CHECKING:
    from broker_core.replication.appending import Appending

KeyValue = tuple[bytes, bytes | None]
"""A record; without a value it is a tombstone."""

COORDINATOR_ERRORS: Mapping[ErrorCode, ErrorCode] = MappingProxyType(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND: ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
        ErrorCode.FENCED_LEADER_EPOCH: ErrorCode.NOT_COORDINATOR,
        ErrorCode.UNKNOWN_LEADER_EPOCH: ErrorCode.NOT_COORDINATOR,
        ErrorCode.KAFKA_STORAGE_ERROR: ErrorCode.NOT_COORDINATOR,
    }
)
"""What a coordinator's client is told of a failed append: whom to ask, or that nobody can be asked now."""


class PartitionWriter:
    """Writes one partition for as long as a tenure lasts."""

    def __init__(self, clock: Clock, appending: Appending, topic_partition: TopicPartition, tenure: Tenure) -> None:
        self._clock = clock
        self._appending = appending
        self._tp = topic_partition
        self._tenure = tenure

    @property
    def epoch(self) -> int | None:
        """The leader epoch in which this broker writes, which is the coordinator's own; None once the tenure is over."""
        return self._tenure.epoch

    def append(self, records: Iterable[KeyValue], transaction: tuple[int, int] | None = None) -> AppendInfo:
        """Raises `KafkaError` with the append's own code; NOT_LEADER_OR_FOLLOWER after the tenure, also where a later one has begun.

        `transaction` is the id and the epoch of the producer in whose transaction the records are.
        """
        epoch = self._tenure.epoch
        if epoch is None:
            raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER, f"this broker has resigned from {self._tp}")
        now_ms = self._clock.now_ms()
        producer_id, producer_epoch = (NO_PRODUCER_ID, -1) if transaction is None else transaction
        batch = build_batch(
            [Record(index, now_ms, key, value, ()) for index, (key, value) in enumerate(records)],
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            transactional=transaction is not None,
            timestamp_ms=now_ms,
        )
        return self._appending.append_now(self._tp, batch, AppendOrigin.COORDINATOR, epoch)

    async def replicated(self, info: AppendInfo, timeout_ms: int) -> ErrorCode:
        """NONE once all in-sync replicas have the batch, else why that is not (yet) so."""
        try:
            await self._appending.wait_replicated(self._tp, info.last_offset, timeout_ms)
        except KafkaError as error:
            return error.code
        return ErrorCode.NONE
