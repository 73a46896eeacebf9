"""What handlers ask of topics and settings: one facade over the znode writers, and waiting for their effect."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from broker_core.admin.config_entries import DynamicBrokerConfigs
from broker_core.admin.config_watcher import ConfigWatcher
from broker_core.admin.configs import ConfigAdmin
from broker_core.admin.quotas import QuotaAdmin
from broker_core.admin.scram import ScramAdmin
from broker_core.admin.topics import CreatedTopic, NewTopic, TopicAdmin, in_session
from broker_core.config import BrokerConfig, ConfigHolder
from broker_core.errors import ErrorCode, KafkaError
from broker_core.model import CONSUMER_OFFSETS, NO_LEADER, TRANSACTION_STATE, TopicPartition
from broker_core.quotas.mutation_quota import UNLIMITED, Mutations
from broker_core.seams import Node

if TYPE_CHECKING:
    from broker_core.metadata.cache import MetadataCache

T = TypeVar("T")

log = logging.getLogger(__name__)


class AdminService:
    """Topics and settings of the cluster, changed through ZooKeeper."""

    def __init__(self, node: Node, config: ConfigHolder, metadata: MetadataCache, broker_id: int) -> None:
        self._node = node
        self._config = config
        self._metadata = metadata
        self._waiters: list[asyncio.Event] = []
        dynamic = DynamicBrokerConfigs()
        self.topics = TopicAdmin(node, config, metadata)
        self.configs = ConfigAdmin(node, config, metadata, dynamic, broker_id)
        self.scram = ScramAdmin(node, config)
        self.quotas = QuotaAdmin(node, config)
        self.watcher = ConfigWatcher(node, config, dynamic, broker_id)
        metadata.on_change(self._metadata_changed)
        metadata.on_deletion(self._deleted)

    async def create_topic(self, topic: NewTopic, *, validate_only: bool = False, mutations: Mutations = UNLIMITED) -> CreatedTopic:
        return await self._in_session(self.topics.create(topic, validate_only=validate_only, mutations=mutations), topic.name)

    async def delete_topic(self, name: str) -> None:
        await self._in_session(self.topics.delete(name), name)

    async def create_partitions(
        self,
        name: str,
        count: int,
        assignments: Sequence[tuple[int, ...]] | None,
        *,
        validate_only: bool = False,
        mutations: Mutations = UNLIMITED,
    ) -> None:
        work = self.topics.grow(name, count, assignments, validate_only=validate_only, mutations=mutations)
        await self._in_session(work, name)

    async def auto_create(self, name: str, mutations: Mutations = UNLIMITED) -> None:
        """Creates a topic a client asked for, with the broker's defaults; one that is there already is fine."""
        if name in (CONSUMER_OFFSETS, TRANSACTION_STATE):
            return await self.create_internal_topic(name)
        await self._create_once(NewTopic(name), mutations)

    async def create_internal_topic(self, name: str) -> None:
        """Creates `__consumer_offsets` or `__transaction_state`; INVALID_REPLICATION_FACTOR while too few brokers live."""
        await self._create_once(internal_topic(name, self._config.current))

    async def _create_once(self, topic: NewTopic, mutations: Mutations = UNLIMITED) -> None:
        try:
            await self.create_topic(topic, mutations=mutations)
            log.info("topic created on request", extra={"topic": topic.name})
        except KafkaError as error:
            if error.code is not ErrorCode.TOPIC_ALREADY_EXISTS:
                raise

    async def _in_session(self, work: Coroutine[Any, Any, T], topic: str) -> T:
        return await in_session(self._node, self._config, f"Topic '{topic}'", work)

    async def wait_for_leaders(self, counts: Mapping[str, int], timeout_ms: float) -> list[str]:
        """Waits until each topic has so many partitions, all with a leader; returns the topics that are late."""
        return await self._wait(sorted(counts), lambda name: self._has_leaders(name, counts[name]), timeout_ms)

    async def wait_until_gone(self, names: Sequence[str], timeout_ms: float) -> list[str]:
        """Waits until the topics are no longer known; returns those that are late."""
        return await self._wait(sorted(names), lambda name: not self._metadata.partitions(name), timeout_ms)

    def _has_leaders(self, name: str, count: int) -> bool:
        partitions = self._metadata.partitions(name) or {}
        return len(partitions) >= count and all(state.leader > NO_LEADER for state in partitions.values())

    async def _wait(self, names: Sequence[str], done: Callable[[str], bool], timeout_ms: float) -> list[str]:
        deadline_ms = self._node.clock.monotonic_ms() + timeout_ms
        event = asyncio.Event()
        self._waiters.append(event)
        try:
            while (late := [name for name in names if not done(name)]) and await self._changed_before(event, deadline_ms):
                event.clear()
            return late
        finally:
            self._waiters.remove(event)

    async def _changed_before(self, event: asyncio.Event, deadline_ms: float) -> bool:
        left_ms = deadline_ms - self._node.clock.monotonic_ms()
        if left_ms <= 0:
            return False
        try:
            await self._node.clock.wait_for(event.wait(), left_ms)
        except TimeoutError:
            return False
        return True

    def _metadata_changed(self, *_: object) -> None:
        for event in self._waiters:
            event.set()

    def _deleted(self, partitions: Sequence[TopicPartition]) -> None:
        """Deleted topics leave settings behind: nobody will ask for them again."""
        for topic in dict.fromkeys(tp.topic for tp in partitions):
            if not self._metadata.has_topic(topic):
                self.watcher.forget(topic)


def internal_topic(name: str, config: BrokerConfig) -> NewTopic:
    """The shape of an internal topic: many partitions, compacted, as safe as configured."""
    if name == CONSUMER_OFFSETS:
        configs = {"cleanup.policy": "compact", "compression.type": "producer", "segment.bytes": str(config.offsets_topic_segment_bytes)}
        return NewTopic(name, config.offsets_topic_num_partitions, config.offsets_topic_replication_factor, {}, configs)
    if name == TRANSACTION_STATE:
        configs = {
            "cleanup.policy": "compact",
            "compression.type": "uncompressed",
            "segment.bytes": str(config.transaction_state_log_segment_bytes),
            "min.insync.replicas": str(config.transaction_state_log_min_isr),
            "unclean.leader.election.enable": "false",
        }
        return NewTopic(name, config.transaction_state_log_num_partitions, config.transaction_state_log_replication_factor, {}, configs)
    raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"{name} is not an internal topic")
