"""What this broker knows of the cluster, as the controller told it by UpdateMetadata (spec Z4).

The cache is changed in one step by `update` and read without waiting by everyone. `version` counts the changes, so that an
encoded Metadata response can be kept until it moves. Values handed out are immutable or belong to the cache: read them,
do not keep them across an `await`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

from msgspec import Struct

from broker_core.model import LEADER_DURING_DELETE, NO_EPOCH, NO_LEADER, BrokerInfo, Endpoint, TopicPartition
from broker_core.protocol.codec import field

_PLAINTEXT = "PLAINTEXT"
_PROTOCOLS = {0: _PLAINTEXT, 1: "SSL", 2: "SASL_PLAINTEXT", 3: "SASL_SSL"}


class PartitionState(Struct, frozen=True):
    """A partition as the controller last announced it; `leader` is -1 while it has none."""

    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    replicas: tuple[int, ...]
    offline_replicas: tuple[int, ...]
    zk_version: int


class MetadataCache:
    """Live brokers, topics and partition leadership. Starts empty; filled by the controller's first UpdateMetadata."""

    def __init__(self, cluster_id: str) -> None:
        self.cluster_id = cluster_id
        self.controller_id = NO_LEADER
        self.version = 0
        self._brokers: dict[int, BrokerInfo] = {}
        self._topics: dict[str, dict[int, PartitionState]] = {}
        self._ids: dict[str, UUID] = {}
        self._names: dict[UUID, str] = {}
        self._doubted: dict[int, BrokerInfo | None] = {}
        self._listeners: list[Callable[[], None]] = []
        self._watchers: dict[Callable[[], None], None] = {}
        """In the order in which they came; any of thousands goes at the cost of one."""
        self._deletion_listeners: list[Callable[[list[TopicPartition]], None]] = []

    def update(self, request: Any, now_ms: int) -> list[TopicPartition]:
        """Takes in an UpdateMetadata request of any version and returns the partitions it deletes.

        Live brokers are replaced as a whole, partitions one by one; leader -2 deletes one. `now_ms` is wall time.
        """
        self.updated_ms = now_ms
        self.controller_id = request.controller_id
        self._brokers = {broker.broker_id: broker for broker in map(_broker, request.live_brokers)}
        for topic in field(request, "topic_states", ()):
            self.has_topic_ids = hasattr(topic, "topic_id")
            self._set_topic_id(topic.topic_name, field(topic, "topic_id", None))
        deleted = [TopicPartition(name, state.partition_index) for name, state in _states(request) if not self._set_partition(name, state)]
        self.version += 1
        for listener in (*self._listeners, *self._watchers):
            listener()
        for deletion_listener in self._deletion_listeners if deleted else ():
            deletion_listener(deleted)
        return deleted

    has_topic_ids: bool = True
    """Whether the controller tells brokers topic ids, as far as is known: one that speaks 2.7 (UpdateMetadata v6) does not."""

    updated_ms: int = 0
    """Wall time of the last update in milliseconds; 0 before the first."""

    def on_change(self, listener: Callable[[], None]) -> None:
        """Calls `listener` after every update."""
        self._listeners.append(listener)

    @contextmanager
    def watched(self, look: Callable[[], None]) -> Iterator[None]:
        """Calls `look` after every update while this lasts."""
        self._watchers[look] = None
        try:
            yield
        finally:
            del self._watchers[look]

    def on_deletion(self, listener: Callable[[list[TopicPartition]], None]) -> None:
        """Calls `listener` with the partitions that an update deleted, after that update."""
        self._deletion_listeners.append(listener)

    def doubt(self, broker_id: int, is_doubted: bool) -> None:
        """Whether this broker sees the other's port refuse and it may not be known yet who leads instead. Clients are told so."""
        self._doubted.pop(broker_id, None)
        if is_doubted:
            self._doubted[broker_id] = self._brokers.get(broker_id)
        self.version += 1

    def is_doubted(self, broker_id: int) -> bool:
        return broker_id in self._doubted

    def named_brokers(self) -> list[BrokerInfo]:
        """Those that clients are told of, by id: the live ones, and such as are gone but doubted still."""
        known = {broker_id: broker for broker_id, broker in self._doubted.items() if broker is not None} | self._brokers
        return [known[broker_id] for broker_id in sorted(known)]

    def live_brokers(self) -> list[BrokerInfo]:
        """All live brokers by id; their epochs are not known here (-1)."""
        return [self._brokers[broker_id] for broker_id in sorted(self._brokers)]

    def is_alive(self, broker_id: int) -> bool:
        return broker_id in self._brokers

    def broker(self, broker_id: int) -> BrokerInfo | None:
        return self._brokers.get(broker_id)

    def endpoint(self, broker_id: int, listener: str) -> Endpoint | None:
        """Where a live broker listens under that listener name."""
        broker = self._brokers.get(broker_id)
        return None if broker is None else endpoint_of(broker, listener)

    def topics(self) -> list[str]:
        """Names of all topics, sorted."""
        return sorted(self._topics)

    def has_topic(self, topic: str) -> bool:
        return topic in self._topics

    def topic_id(self, topic: str) -> UUID | None:
        return self._ids.get(topic)

    def topic_name(self, topic_id: UUID) -> str | None:
        return self._names.get(topic_id)

    def partition(self, tp: TopicPartition) -> PartitionState | None:
        return self._topics.get(tp.topic, {}).get(tp.partition)

    def partitions(self, topic: str) -> dict[int, PartitionState]:
        """Partition number to state; empty for an unknown topic."""
        return self._topics.get(topic, {})

    def partition_count(self) -> int:
        return sum(len(partitions) for partitions in self._topics.values())

    def _set_topic_id(self, topic: str, topic_id: UUID | None) -> None:
        known = self._ids.get(topic)
        if not topic_id or topic_id == known:
            return
        if known is not None:
            self._names.pop(known, None)
        self._ids[topic] = topic_id
        self._names[topic_id] = topic

    def _set_partition(self, topic: str, state: Any) -> bool:
        """False when the state says that the partition is being deleted."""
        if state.leader == LEADER_DURING_DELETE:
            self._drop_partition(topic, state.partition_index)
            return False
        self._topics.setdefault(topic, {})[state.partition_index] = PartitionState(
            state.leader,
            state.leader_epoch,
            tuple(state.isr),
            tuple(state.replicas),
            tuple(field(state, "offline_replicas", ())),
            state.zk_version,
        )
        return True

    def _drop_partition(self, topic: str, partition: int) -> None:
        partitions = self._topics.get(topic, {})
        partitions.pop(partition, None)
        if not partitions:
            self._topics.pop(topic, None)
            topic_id = self._ids.pop(topic, None)
            if topic_id is not None:
                self._names.pop(topic_id, None)


def endpoint_of(broker: BrokerInfo, listener: str) -> Endpoint | None:
    return next((endpoint for endpoint in broker.endpoints if endpoint.listener == listener), None)


def _states(request: Any) -> Iterator[tuple[str, Any]]:
    """The partitions' states with their topics: one flat list up to v4, grouped by topic from v5 on."""
    for state in field(request, "ungrouped_partition_states", ()):
        yield state.topic_name, state
    for topic in field(request, "topic_states", ()):
        for state in topic.partition_states:
            yield topic.topic_name, state


def _broker(broker: Any) -> BrokerInfo:
    return BrokerInfo(broker.id_, tuple(_endpoints(broker)), field(broker, "rack", None) or None, NO_EPOCH)


def _endpoints(broker: Any) -> Iterator[Endpoint]:
    """v0 has one address, v1 and v2 know listeners by their protocols only."""
    if hasattr(broker, "v0_host"):
        yield Endpoint(_PLAINTEXT, broker.v0_host, broker.v0_port, _PLAINTEXT)
    for endpoint in field(broker, "endpoints", ()):
        protocol = _PROTOCOLS.get(endpoint.security_protocol, _PLAINTEXT)
        yield Endpoint(field(endpoint, "listener", protocol), endpoint.host, endpoint.port, protocol)
