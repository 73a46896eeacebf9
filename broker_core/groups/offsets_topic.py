"""The topic `__consumer_offsets`: which of its partitions is a group's, who leads it, and how it comes into being."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from broker_core.config import ConfigHolder
from broker_core.errors import ErrorCode, KafkaError
from broker_core.hashing import partition_for
from broker_core.metadata.cache import MetadataCache
from broker_core.model import CONSUMER_OFFSETS, Endpoint, TopicPartition
from broker_core.seams import Spawn

if TYPE_CHECKING:
    from broker_core.admin.service import AdminService

log = logging.getLogger(__name__)


class OffsetsTopic:
    """Reads the metadata cache at each use; creates the topic at most once at a time."""

    def __init__(self, spawn: Spawn, config: ConfigHolder, metadata: MetadataCache) -> None:
        self._spawn = spawn
        self._config = config
        self._metadata = metadata
        self._creating = False

    def partition_for(self, group_id: str) -> int:
        """By the topic's real number of partitions; by the configured one while it does not exist."""
        count = len(self._metadata.partitions(CONSUMER_OFFSETS)) or self._config.current.offsets_topic_num_partitions
        return partition_for(group_id, count)

    def find(self, group_id: str, listener: str, admin: AdminService) -> tuple[int, Endpoint]:
        """The broker id and address of the group's coordinator.

        COORDINATOR_NOT_AVAILABLE while its partition has no live leader; if the topic does not exist, its creation is begun.
        """
        if not self._metadata.has_topic(CONSUMER_OFFSETS):
            self._begin_creation(admin)
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, f"{CONSUMER_OFFSETS} does not exist yet")
        partition = TopicPartition(CONSUMER_OFFSETS, self.partition_for(group_id))
        state = self._metadata.partition(partition)
        endpoint = None if state is None else self._metadata.endpoint(state.leader, listener)
        if state is None or endpoint is None:
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, f"{partition} has no live leader on listener {listener}")
        return state.leader, endpoint

    def _begin_creation(self, admin: AdminService) -> None:
        """Kafka creates it with exactly `offsets.topic.replication.factor` replicas, so as many brokers must be alive first."""
        needed = self._config.current.offsets_topic_replication_factor
        alive = len(self._metadata.live_brokers())
        if self._creating:
            return
        if alive < needed:
            log.info("offsets topic waits for brokers", extra={"needed": needed, "alive": alive})
            return
        self._creating = True
        self._spawn(self._create(admin), name="create-offsets-topic")

    async def _create(self, admin: AdminService) -> None:
        try:
            await admin.create_internal_topic(CONSUMER_OFFSETS)
        except KafkaError as error:
            log.warning("offsets topic could not be created", extra={"error": error.code.name, "reason": error.message})
        finally:
            self._creating = False
