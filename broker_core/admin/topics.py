"""Creates, grows and deletes topics by writing their znodes (spec Z4, Z6).

The controller sees the znodes by its watches and does the rest: replicas, leaders, deletion of logs.
"""

from __future__ import annotations

import uuid
from collections.abc import Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct, field

from broker_core.admin.names import CONFIG_CHANGE_PREFIX, TOPIC_NAME_LENGTH_MAX, check_topic_name, collisions, is_topic_name
from broker_core.config import ConfigHolder, validate_topic_overrides
from broker_core.controller.deciders.assignment import PlacementBroker, place, place_more, random_start
from broker_core.coordination import layout
from broker_core.coordination.store import BadVersion, Check, ConnectionLoss, Create, NodeExists, NoNode, SessionExpired, SetData, TooLarge
from broker_core.coordination.znode_data import TopicAssignment, decode_topic, encode_config, encode_config_change, encode_topic
from broker_core.errors import ErrorCode, KafkaError
from broker_core.quotas.mutation_quota import UNLIMITED, Mutations
from broker_core.seams import Node

if TYPE_CHECKING:
    from broker_core.metadata.cache import MetadataCache

T = TypeVar("T")

USE_DEFAULT = -1
PARTITIONS_PER_TOPIC_MAX = 10_000
REPLICAS_PER_PARTITION_MAX = 1_000
"""Brokers need not exist to be named: without a limit one partition could have more replicas than answers and controllers can bear."""
WRITE_ATTEMPTS = 3
ANY_VERSION = -1


class NewTopic(Struct, frozen=True):
    """A topic to create: either numbers (-1: the broker's default) or replica lists by partition."""

    name: str
    partitions: int = USE_DEFAULT
    replication_factor: int = USE_DEFAULT
    assignments: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    configs: Mapping[str, str] = field(default_factory=dict)


class CreatedTopic(Struct, frozen=True):
    """A topic as it was (or would be) created; `assignment` has the preferred leader first."""

    name: str
    topic_id: uuid.UUID | None
    assignment: Mapping[int, tuple[int, ...]]
    configs: Mapping[str, str]


@contextmanager
def store_errors(what: str) -> Iterator[None]:
    """Turns the store's failures into errors a client can be told of."""
    try:
        yield
    except NodeExists:
        raise KafkaError(ErrorCode.TOPIC_ALREADY_EXISTS, f"{what} already exists.") from None
    except NoNode:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"{what} does not exist.") from None
    except TooLarge as error:
        raise KafkaError(ErrorCode.INVALID_REQUEST, str(error)) from None
    except (ConnectionLoss, SessionExpired) as error:
        raise KafkaError(ErrorCode.REQUEST_TIMED_OUT, f"{what}: ZooKeeper did not answer ({type(error).__name__})") from error


async def in_session(node: Node, config: ConfigHolder, what: str, work: Coroutine[Any, Any, T]) -> T:
    """The work's result, unless ZooKeeper is silent for as long as a session lasts: by then this broker's is over, and its office."""
    limit_ms = config.current.zookeeper_session_timeout_ms
    try:
        return await node.clock.wait_for(work, limit_ms)
    except TimeoutError:
        message = f"{what}: ZooKeeper did not answer within {limit_ms} ms; the change may still be carried out"
        raise KafkaError(ErrorCode.REQUEST_TIMED_OUT, message) from None


class TopicAdmin:
    """Writes topic znodes; placement takes the live brokers from the metadata cache."""

    def __init__(self, node: Node, config: ConfigHolder, metadata: MetadataCache) -> None:
        self._node = node
        self._config = config
        self._metadata = metadata

    async def create(self, topic: NewTopic, *, validate_only: bool = False, mutations: Mutations = UNLIMITED) -> CreatedTopic:
        """Checks everything, then writes settings and assignment in one step, and last the notification of the settings."""
        with store_errors(f"Topic '{topic.name}'"):
            await self._check_name(topic.name)
            validate_topic_overrides(topic.configs)
            assignment = self._manual(topic) if topic.assignments else self._placed(topic)
            if validate_only:
                return CreatedTopic(topic.name, None, assignment, topic.configs)
            mutations.record(len(assignment))
            topic_id = self._new_id() if self._config.static.inter_broker_protocol.has_topic_ids else None
            await self._write(topic, TopicAssignment(topic_id, assignment, {}, {}))
        return CreatedTopic(topic.name, topic_id, assignment, topic.configs)

    async def delete(self, name: str) -> None:
        """Marks a topic for deletion; asking twice is fine while it is still there.

        In one step with the look whether it is: an order that outlived its topic would delete the next one of that name.
        """
        with store_errors(f"Topic '{name}'"), suppress(NodeExists):
            await self._node.store.multi([Check(layout.topic_path(name), ANY_VERSION), Create(layout.deletion_path(name), b"")])

    async def grow(
        self,
        name: str,
        count: int,
        assignments: Sequence[tuple[int, ...]] | None,
        *,
        validate_only: bool = False,
        mutations: Mutations = UNLIMITED,
    ) -> None:
        """Adds partitions until there are `count`; `assignments` are the new ones' replicas, None: placed by us."""
        if not is_topic_name(name):
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{name[:TOPIC_NAME_LENGTH_MAX]}' does not exist.")
        with store_errors(f"The topic '{name}'"):
            for attempt in range(WRITE_ATTEMPTS):
                if await self._node.store.exists(layout.deletion_path(name)) is not None:
                    raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"Topic '{name}' is marked for deletion.")
                data, stat = await self._node.store.get(layout.topic_path(name))
                present = decode_topic(name, data)
                grown = self._grown(name, present, count, assignments)
                if validate_only:
                    return
                if not attempt:
                    mutations.record(count - len(present.partitions))
                try:
                    await self._node.store.set(layout.topic_path(name), encode_topic(grown), stat.version)
                    return
                except BadVersion:
                    continue
        raise KafkaError(ErrorCode.REQUEST_TIMED_OUT, f"Topic '{name}' kept changing while partitions were added")

    async def _check_name(self, name: str) -> None:
        """Raises where the name cannot be taken. The order to delete a topic may outlive it by a moment, if its controller dies in it:
        a topic made under that order would be deleted by the next controller, and whoever made it would wait for leaders in vain."""
        check_topic_name(name)
        existing = await self._node.store.children(layout.TOPICS)
        if await self._node.store.exists(layout.deletion_path(name)) is not None:
            raise KafkaError(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{name}' is marked for deletion.")
        if name in existing:
            raise KafkaError(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")
        if clashing := collisions(name, existing):
            raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"Topic '{name}' collides with existing topics: {', '.join(clashing)}")

    def _brokers(self) -> list[PlacementBroker]:
        return [PlacementBroker(broker.broker_id, broker.rack) for broker in self._metadata.live_brokers()]

    def _placed(self, topic: NewTopic) -> dict[int, tuple[int, ...]]:
        current = self._config.current
        partitions = current.num_partitions if topic.partitions == USE_DEFAULT else topic.partitions
        factor = current.default_replication_factor if topic.replication_factor == USE_DEFAULT else topic.replication_factor
        _refuse_too_many(topic.name, partitions)
        brokers = self._brokers()
        return place(brokers, partitions, factor, random_start(self._node.entropy, len(brokers)))

    def _manual(self, topic: NewTopic) -> dict[int, tuple[int, ...]]:
        _refuse_too_many(topic.name, len(topic.assignments))
        if sorted(topic.assignments) != list(range(len(topic.assignments))):
            raise KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, "partitions should be a consecutive 0-based integer sequence")
        _check_replicas(topic.assignments.values(), len(topic.assignments[0]))
        return dict(topic.assignments)

    def _grown(self, name: str, present: TopicAssignment, count: int, assignments: Sequence[tuple[int, ...]] | None) -> TopicAssignment:
        old = len(present.partitions)
        if present.adding or present.removing:
            raise KafkaError(ErrorCode.REASSIGNMENT_IN_PROGRESS, f"A partition reassignment is in progress for the topic '{name}'.")
        if count == old:
            raise KafkaError(ErrorCode.INVALID_PARTITIONS, f"Topic already has {old} partitions.")
        if count < old:
            message = f"Topic currently has {old} partitions, which is higher than the requested {count}."
            raise KafkaError(ErrorCode.INVALID_PARTITIONS, message)
        _refuse_too_many(name, count)
        if assignments is None:
            added = place_more(self._brokers(), present.partitions[0], count - old, old)
        else:
            added = self._manual_growth(assignments, count - old, old, len(present.partitions[0]))
        return TopicAssignment(present.topic_id, {**present.partitions, **added}, {}, {})

    def _manual_growth(self, assignments: Sequence[tuple[int, ...]], added: int, first: int, factor: int) -> dict[int, tuple[int, ...]]:
        live = {broker.broker_id for broker in self._brokers()}
        unknown = sorted({replica for replicas in assignments for replica in replicas} - live)
        if unknown:
            message = f"Unknown broker(s) in replica assignment: {', '.join(map(str, unknown))}."
            raise KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, message)
        if len(assignments) != added:
            message = f"Increasing the number of partitions by {added} but {len(assignments)} assignments provided."
            raise KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, message)
        found = {first + index: replicas for index, replicas in enumerate(assignments)}
        _check_growth(found, factor)
        return found

    async def _write(self, topic: NewTopic, assignment: TopicAssignment) -> None:
        """Of two who create a topic at once (a client's metadata request may) the second must not change the first one's settings."""
        path, configs = layout.config_path("topics", topic.name), encode_config(topic.configs)
        left_behind = await self._node.store.exists(path) is not None
        settings = SetData(path, configs) if left_behind else Create(path, configs)
        await self._node.store.multi([settings, Create(layout.topic_path(topic.name), encode_topic(assignment))])
        change = encode_config_change(f"topics/{topic.name}")
        await self._node.store.create(CONFIG_CHANGE_PREFIX, change, sequence=True)

    def _new_id(self) -> uuid.UUID:
        return uuid.UUID(bytes=self._node.entropy.bytes(16), version=4)


def _refuse_too_many(name: str, partitions: int) -> None:
    if partitions > PARTITIONS_PER_TOPIC_MAX:
        raise KafkaError(ErrorCode.INVALID_PARTITIONS, f"Topic '{name}': {partitions} partitions are more than {PARTITIONS_PER_TOPIC_MAX}")


def _check_growth(assignments: Mapping[int, tuple[int, ...]], factor: int) -> None:
    for partition, replicas in assignments.items():
        if not replicas:
            raise KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"Cannot have replication factor of 0 for partition id {partition}.")
        if len(set(replicas)) != len(replicas):
            named = ", ".join(map(str, replicas))
            message = f"Duplicate brokers not allowed in replica assignment: {named} for partition id {partition}."
            raise KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, message)
    other = {partition: len(replicas) for partition, replicas in sorted(assignments.items()) if len(replicas) != factor}
    if other:
        message = (
            f"Inconsistent replication factor between partitions, partition 0 has {factor} while partitions [{', '.join(map(str, other))}] "
            f"have replication factors [{', '.join(map(str, other.values()))}], respectively."
        )
        raise KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, message)


def _check_replicas(lists: Iterable[tuple[int, ...]], factor: int) -> None:
    for replicas in lists:
        if not replicas or len(replicas) != factor:
            raise KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, "All partitions should have the same number of replicas, at least one.")
        if len(replicas) > REPLICAS_PER_PARTITION_MAX:
            message = f"{len(replicas)} replicas of a partition are more than {REPLICAS_PER_PARTITION_MAX}."
            raise KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, message)
        if len(set(replicas)) != len(replicas) or min(replicas) < 0:
            raise KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"Duplicate or negative broker in replica assignment: {list(replicas)}")
