"""The partitions this broker hosts, and what to tell a client that asks for one it does not."""

from __future__ import annotations

from uuid import UUID

from broker_core.errors import ErrorCode, KafkaError
from broker_core.metadata.cache import MetadataCache
from broker_core.model import TopicPartition
from broker_core.replication.partition import Partition, Surroundings
from broker_core.storage.log import PartitionLog


class HostedPartitions:
    """Hosted partitions by name; `led` are those with a leadership here, for the periodic work."""

    def __init__(self, surroundings: Surroundings, metadata: MetadataCache) -> None:
        self._surroundings = surroundings
        self._metadata = metadata
        self._partitions: dict[TopicPartition, Partition] = {}
        self._led: dict[TopicPartition, Partition] = {}
        self._by_topic_id: dict[UUID, dict[TopicPartition, None]] = {}

    def get(self, tp: TopicPartition) -> Partition | None:
        return self._partitions.get(tp)

    def all(self) -> list[Partition]:
        return list(self._partitions.values())

    @property
    def count(self) -> int:
        return len(self._partitions)

    def led(self) -> list[Partition]:
        return list(self._led.values())

    def get_or_create(self, tp: TopicPartition) -> Partition:
        partition = self._partitions.get(tp)
        if partition is None:
            partition = self._partitions[tp] = Partition(tp, self._surroundings)
        return partition

    def topic_name(self, topic_id: UUID) -> str | None:
        """By the partitions here: their leaders are told long before metadata tells of them, where a topic has thousands."""
        hosted = self._by_topic_id.get(topic_id)
        return next(iter(hosted)).topic if hosted else None

    def note_role(self, partition: Partition) -> None:
        """Keeps `led` and the topics' ids right after a change of role."""
        if partition.topic_id is not None:
            self._by_topic_id.setdefault(partition.topic_id, {})[partition.tp] = None
        if partition.leader is not None:
            self._led[partition.tp] = partition
        else:
            self._led.pop(partition.tp, None)

    def forget(self, tp: TopicPartition) -> None:
        partition = self._partitions.pop(tp, None)
        self._led.pop(tp, None)
        if partition is not None and partition.topic_id in self._by_topic_id:
            hosted = self._by_topic_id[partition.topic_id]
            hosted.pop(tp, None)
            if not hosted:
                del self._by_topic_id[partition.topic_id]

    def hosted(self, tp: TopicPartition) -> Partition:
        """The partition; else NOT_LEADER_OR_FOLLOWER if the cluster has it somewhere, UNKNOWN_TOPIC_OR_PARTITION if not."""
        partition = self._partitions.get(tp)
        if partition is not None:
            return partition
        if self._metadata.partition(tp) is not None:
            raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER, f"{tp} is not on broker {self._surroundings.broker_id}")
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no partition {tp}")

    def leader_log(self, tp: TopicPartition) -> PartitionLog:
        """The log of a partition led here; the errors of `hosted`, and NOT_LEADER_OR_FOLLOWER on a follower."""
        return self.hosted(tp).leading()[1]
