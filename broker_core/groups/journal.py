"""How the coordinator writes to `__consumer_offsets`: one batch per decision, to all in-sync replicas, in its own leader epoch.

`append` puts the batch into the leader's log without waiting, so that the log has the decisions in the order they were made;
`replicated` then waits for the replicas (acks=-1, at most `offsets.commit.timeout.ms`). If the partition's leader epoch is not the one
the coordinator was elected in, nothing is written.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from broker_core.config import ConfigHolder
from broker_core.errors import ErrorCode, KafkaError
from broker_core.groups.records import OffsetCommit, encode_group_key, encode_offset_key, encode_offset_value
from broker_core.model import TopicPartition
from broker_core.records.batch import Record, build_batch
from broker_core.seams import Clock
from broker_core.storage.log import AppendInfo, AppendOrigin

if TYPE_CHECKING:
    from broker_core.replication.appending import Appending

OFFSETS_TOPIC = "__consumer_offsets"

KeyValue = tuple[bytes, bytes | None]

COMMIT_ERRORS: Mapping[ErrorCode, ErrorCode] = MappingProxyType(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND: ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
        ErrorCode.FENCED_LEADER_EPOCH: ErrorCode.NOT_COORDINATOR,
        ErrorCode.UNKNOWN_LEADER_EPOCH: ErrorCode.NOT_COORDINATOR,
        ErrorCode.KAFKA_STORAGE_ERROR: ErrorCode.NOT_COORDINATOR,
        ErrorCode.MESSAGE_TOO_LARGE: ErrorCode.INVALID_COMMIT_OFFSET_SIZE,
        ErrorCode.RECORD_LIST_TOO_LARGE: ErrorCode.INVALID_COMMIT_OFFSET_SIZE,
    }
)
"""What a client that commits offsets is told of a failed append."""

GROUP_ERRORS: Mapping[ErrorCode, ErrorCode] = MappingProxyType(
    dict(COMMIT_ERRORS)
    | {
        ErrorCode.REQUEST_TIMED_OUT: ErrorCode.REBALANCE_IN_PROGRESS,
        ErrorCode.MESSAGE_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
        ErrorCode.RECORD_LIST_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
    }
)
"""What members are told when the group's record could not be written."""


def offset_records(group_id: str, commits: Mapping[TopicPartition, OffsetCommit]) -> list[KeyValue]:
    return [(encode_offset_key(group_id, tp), encode_offset_value(commit)) for tp, commit in commits.items()]


def tombstones(group_id: str, partitions: Iterable[TopicPartition], *, with_group: bool) -> list[KeyValue]:
    records: list[KeyValue] = [(encode_offset_key(group_id, tp), None) for tp in partitions]
    return [*records, (encode_group_key(group_id), None)] if with_group else records


class Journal:
    def __init__(self, clock: Clock, config: ConfigHolder, appending: Appending) -> None:
        self._clock = clock
        self._config = config
        self._appending = appending

    def append(self, partition: int, epoch: int, records: Iterable[KeyValue]) -> AppendInfo:
        """Raises `KafkaError` with the append's own code."""
        now_ms = self._clock.now_ms()
        batch = build_batch(
            [Record(index, now_ms, key, value, ()) for index, (key, value) in enumerate(records)],
            timestamp_ms=now_ms,
        )
        tp = TopicPartition(OFFSETS_TOPIC, partition)
        return self._appending.append_now(tp, batch, AppendOrigin.GROUP_COORDINATOR, epoch)

    async def replicated(self, partition: int, info: AppendInfo) -> ErrorCode:
        """NONE once all in-sync replicas have the batch, else why that is not (yet) so."""
        tp = TopicPartition(OFFSETS_TOPIC, partition)
        try:
            await self._appending.wait_replicated(tp, info.last_offset, self._config.current.offsets_commit_timeout_ms)
        except KafkaError as error:
            return error.code
        return ErrorCode.NONE
