"""An internal topic that keeps a coordinator's state: which of its partitions is a key's, who leads it, and how it comes into being."""

from __future__ import annotations

import logging

from broker_core.admin.service import AdminService, internal_topic
from broker_core.config import ConfigHolder
from broker_core.errors import ErrorCode, KafkaError
from broker_core.hashing import partition_for
from broker_core.metadata.cache import MetadataCache
from broker_core.model import Endpoint, TopicPartition
from broker_core.seams import Spawn

log = logging.getLogger(__name__)


class StateTopic:
    """Reads the metadata cache at each use; creates the topic at most once at a time."""

    def __init__(self, name: str, spawn: Spawn, config: ConfigHolder, metadata: MetadataCache) -> None:
        self.name = name
        self._spawn = spawn
        self._config = config
        self._metadata = metadata
        self._creating = False

    def partition_for(self, key: str) -> int:
        """By the topic's present number of partitions; NOT_COORDINATOR until this broker is told how many there are.

        It may be told to lead some before, and by any other number a key's state would be kept where nobody finds it.
        """
        count = len(self._metadata.partitions(self.name))
        if not count:
            raise KafkaError(ErrorCode.NOT_COORDINATOR, f"{self.name} is not known here")
        return partition_for(key, count)

    def find(self, key: str, listener: str, admin: AdminService) -> tuple[int, Endpoint]:
        """The broker id and address of the key's coordinator.

        COORDINATOR_NOT_AVAILABLE while its partition has no live leader; if the topic does not exist, its creation is begun.
        """
        if not self._metadata.has_topic(self.name):
            self._begin_creation(admin)
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, f"{self.name} does not exist yet")
        partition = TopicPartition(self.name, self.partition_for(key))
        state = self._metadata.partition(partition)
        endpoint = None if state is None else self._metadata.endpoint(state.leader, listener)
        if state is None or endpoint is None:
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, f"{partition} has no live leader on listener {listener}")
        return state.leader, endpoint

    def _begin_creation(self, admin: AdminService) -> None:
        """Kafka creates it with exactly as many replicas as are configured, so as many brokers must be alive first."""
        needed = internal_topic(self.name, self._config.current).replication_factor
        alive = len(self._metadata.live_brokers())
        if self._creating:
            return
        if alive < needed:
            log.info("internal topic waits for brokers", extra={"topic": self.name, "needed": needed, "alive": alive})
            return
        self._creating = True
        self._spawn(self._create(admin), name=f"create-{self.name}")

    async def _create(self, admin: AdminService) -> None:
        try:
            await admin.create_internal_topic(self.name)
        except KafkaError as error:
            log.warning(
                "internal topic could not be created", extra={"topic": self.name, "error": error.code.name, "reason": error.message}
            )
        finally:
            self._creating = False
