"""The controller's reads and writes, in its own terms: brokers, topics, partition states, requests of operators."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar
from uuid import UUID

from msgspec import Struct
from msgspec.structs import replace

from broker_core.config.key import INT_MAX
from broker_core.controller.context import Leadership
from broker_core.controller.deciders.reassignment import ReplicaAssignment
from broker_core.controller.store.guarded_store import CHANGED_MEANWHILE, OPERATION_FAILED, OPS_PER_MULTI_LIMIT, GuardedStore
from broker_core.coordination import layout
from broker_core.coordination.store import Create, Delete, NodeExists, NoNode, NotEmpty, Op, SetData, Stat, StoreError, Watcher
from broker_core.coordination.suspicions import Suspicion, suspicions
from broker_core.coordination.znode_data import (
    TopicAssignment,
    decode_broker,
    decode_broker_epochs,
    decode_config,
    decode_partition_state,
    decode_topic,
    encode_broker_epochs,
    encode_partition_state,
    encode_topic,
)
from broker_core.model import BrokerInfo, LeaderAndIsr, TopicPartition

T = TypeVar("T")

log = logging.getLogger(__name__)


class Topic(Struct, frozen=True):
    """A topic as its znode has it."""

    name: str
    topic_id: UUID | None
    assignments: dict[int, ReplicaAssignment]
    version: int
    written_zxid: int


class Znodes:
    """What an active controller reads and writes; malformed znodes are logged and left out, never fatal."""

    def __init__(self, store: GuardedStore) -> None:
        self.store = store

    async def brokers(self, watch_ids: Watcher, watch_broker: Callable[[int], Watcher]) -> dict[int, BrokerInfo]:
        """Registered brokers by id, with watches on the list and on each registration."""
        ids = [int(name) for name in await self.store.children(layout.BROKER_IDS, watch_ids) if _is_broker_id(name)]
        found = [await self._broker(broker_id, watch_broker(broker_id)) for broker_id in ids]
        return {info.broker_id: info for info in found if info is not None}

    async def _broker(self, broker_id: int, watch: Watcher) -> BrokerInfo | None:
        read = await self.store.get(layout.broker_path(broker_id), watch)
        if read is None:
            return None
        return _decoded(lambda: decode_broker(broker_id, read[0], read[1].czxid))

    async def registered_epoch(self, broker_id: int) -> int | None:
        """The epoch of a broker's present registration; None while it has none."""
        stat = await self.store.exists(layout.broker_path(broker_id))
        return None if stat is None else stat.czxid

    async def suspicions(self, watch: Watcher) -> list[Suspicion]:
        return suspicions(await self.store.children(layout.SUSPICIONS, watch))

    async def remembered_brokers(self) -> dict[int, int] | None:
        """The brokers' process epochs that the last controller had acted on; None when no controller has left any."""
        read = await self.store.get(layout.CONTROLLER_BROKERS)
        return None if read is None else _decoded(lambda: decode_broker_epochs(read[0]))

    async def remember_brokers(self, epochs: Mapping[int, int]) -> None:
        data = encode_broker_epochs(epochs)
        try:
            await self.store.write([SetData(layout.CONTROLLER_BROKERS, data)])
        except NoNode:
            await self._create(layout.CONTROLLER_BROKERS, data)

    async def topic_names(self, watch: Watcher) -> list[str]:
        return await self.store.children(layout.TOPICS, watch)

    async def topics(self, names: Sequence[str], watch: Callable[[str], Watcher]) -> list[Topic]:
        """These topics' assignments, each with a watch; those gone meanwhile are left out."""
        found = await self.store.each([lambda name=name: self.topic(name, watch(name)) for name in names])  # type: ignore[misc]
        return [topic for topic in found if topic is not None]

    async def topic(self, name: str, watch: Watcher | None = None) -> Topic | None:
        read = await self.store.get(layout.topic_path(name), watch)
        if read is None:
            return None
        data, stat = read
        assignment = _decoded(lambda: decode_topic(name, data))
        return None if assignment is None else _topic(name, assignment, stat)

    async def write_topic(self, name: str, topic_id: UUID | None, assignments: Mapping[int, ReplicaAssignment], version: int) -> None:
        """Raises `BadVersion` where the assignment has changed since it was read."""
        await self.store.write([SetData(layout.topic_path(name), encode_topic(_assignment_data(topic_id, assignments)), version)])

    async def states(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, Leadership]:
        """Leadership of those partitions that have a state."""
        found = await self.store.get_many([layout.state_path(tp) for tp in partitions])
        read = {tp: _leadership(tp, *one) for tp, one in zip(partitions, found, strict=True) if one is not None}
        return {tp: leadership for tp, leadership in read.items() if leadership is not None}

    async def state(self, tp: TopicPartition, watch: Watcher | None = None) -> Leadership | None:
        read = await self.store.get(layout.state_path(tp), watch)
        return None if read is None else _leadership(tp, *read)

    async def states_since(self, partitions: Sequence[TopicPartition], zxid: int) -> list[TopicPartition]:
        """Those of the partitions whose state was created after that transaction."""
        found = await self.store.get_many([layout.state_path(tp) for tp in partitions])
        return [tp for tp, one in zip(partitions, found, strict=True) if one is not None and one[1].czxid > zxid]

    async def write_states(
        self, states: Mapping[TopicPartition, LeaderAndIsr], controller_epoch: int
    ) -> tuple[dict[TopicPartition, LeaderAndIsr], list[TopicPartition]]:
        """(what was written, with its new versions; partitions whose state changed meanwhile and must be read again).

        Our own write, its reply lost, counts: read again it would look as if nothing were left to do, and the leader would never be told.
        """
        written: dict[TopicPartition, LeaderAndIsr] = {}
        conflicts: list[TopicPartition] = []
        remaining = list(states)
        while remaining:
            chunk = remaining[:OPS_PER_MULTI_LIMIT]
            try:
                results = await self.store.write([_state_write(tp, states[tp], controller_epoch) for tp in chunk])
            except CHANGED_MEANWHILE as error:
                ours = await self._present_already({tp: states[tp] for tp in chunk}, controller_epoch)
                if chunk[error.index] not in ours:
                    conflicts.append(remaining.pop(error.index))
                written.update(ours)
                remaining = [tp for tp in remaining if tp not in ours]
                continue
            written.update({tp: _with_version(states[tp], stat) for tp, stat in zip(chunk, results, strict=True)})
            remaining = remaining[len(chunk) :]
        return written, conflicts

    async def _present_already(
        self, states: Mapping[TopicPartition, LeaderAndIsr], controller_epoch: int
    ) -> dict[TopicPartition, LeaderAndIsr]:
        """Those that the store has as they were to be written, one version on."""
        found = await self.states(list(states))
        wanted = {tp: Leadership(replace(state, zk_version=state.zk_version + 1), controller_epoch) for tp, state in states.items()}
        return {tp: leadership.state for tp, leadership in found.items() if leadership == wanted[tp]}

    async def create_states(
        self, states: Mapping[TopicPartition, LeaderAndIsr], controller_epoch: int
    ) -> dict[TopicPartition, LeaderAndIsr]:
        """First states of new partitions; those that could not be created (their topic is gone) are left out."""
        for topic in sorted({tp.topic for tp in states}):
            await self._create(layout.partitions_path(topic))
        created: dict[TopicPartition, LeaderAndIsr] = {}
        remaining = list(states)
        while remaining:
            chunk = remaining[: OPS_PER_MULTI_LIMIT // 2]
            ops: list[Op] = [op for tp in chunk for op in _state_creation(tp, states[tp], controller_epoch)]
            try:
                await self.store.write(ops)
            except OPERATION_FAILED as error:
                tp = remaining.pop(error.index // 2)
                if await self._create_alone(tp, states[tp], controller_epoch):
                    created[tp] = states[tp]
                continue
            created.update({tp: states[tp] for tp in chunk})
            remaining = remaining[len(chunk) :]
        return created

    async def _create_alone(self, tp: TopicPartition, state: LeaderAndIsr, controller_epoch: int) -> bool:
        """After a conflict: a partition znode without a state is completed; our own write, its reply lost, counts."""
        if not await self._create(layout.partition_path(tp)):
            return False
        if await self._create(layout.state_path(tp), encode_partition_state(state, controller_epoch)):
            found = await self.state(tp)
            return found is not None and (found.state, found.controller_epoch) == (state, controller_epoch)
        return False

    async def _create(self, path: str, data: bytes = b"") -> bool:
        """Whether the znode is there now."""
        try:
            await self.store.write([Create(path, data)])
        except NodeExists:
            return True
        except CHANGED_MEANWHILE as error:
            log.warning("Could not create %s: %s", path, error)
            return False
        return True

    async def topic_overrides(self, topic: str) -> dict[str, str]:
        read = await self.store.get(layout.config_path("topics", topic))
        return {} if read is None else _decoded(lambda: decode_config(read[0])) or {}

    async def overrides_of(self, topics: Sequence[str]) -> dict[str, dict[str, str]]:
        """Each topic's own settings."""
        found = await self.store.each([lambda topic=topic: self.topic_overrides(topic) for topic in topics])  # type: ignore[misc]
        return dict(zip(topics, found, strict=True))

    async def partition_names(self, topic: str) -> list[str]:
        """The names of what is below the topic's partitions."""
        return await self.store.children(layout.partitions_path(topic))

    async def delete_partitions(self, topic: str, names: Sequence[str]) -> None:
        """Removes these partitions' states and themselves. The topic and the order to delete it are still there: nobody else makes a
        topic of that name meanwhile."""
        partitions = [f"{layout.partitions_path(topic)}/{name}" for name in names]
        try:
            await self.store.delete_all([path for parent in partitions for path in (layout.state_below(parent), parent)])
        except NotEmpty as error:
            log.info("More than a state is below a partition of topic %s: %s", topic, error)
            await self.store.delete_all(await self.store.subtree(*partitions))

    async def delete_topic(self, topic: str) -> None:
        """All below the topic, then topic, config and the order to delete it in one step.

        While the order is there nobody creates a topic of that name. Where a reply was lost and both are gone by now, or another topic
        stands there, this was done by an earlier try: what is found is the next topic's.
        """
        paths = (layout.deletion_path(topic), layout.config_path("topics", topic), layout.topic_path(topic))
        first = await self.store.exists(paths[-1])
        while True:
            found = {path: await self.store.exists(path) for path in paths}
            order, _, present = found.values()
            if (order is None and present is None) or (present is not None and first is not None and present.czxid != first.czxid):
                return
            try:
                if present is not None:
                    await self.store.delete_all((await self.store.subtree(paths[-1]))[:-1])
                await self.store.write([Delete(path) for path, stat in found.items() if stat is not None])
                return
            except (NotEmpty, NoNode):
                log.info("Topic %s changed while it was deleted", topic)

    async def take_notifications(
        self, parent: str, names: Sequence[str], decode: Callable[[bytes], list[TopicPartition]]
    ) -> list[TopicPartition]:
        """The partitions that notifications below `parent` name; the caller deletes these afterwards."""
        partitions: set[TopicPartition] = set()
        for name in names:
            read = await self.store.get(f"{parent}/{name}")
            if read is not None:
                partitions.update(_decoded(lambda data=read[0]: decode(data)) or [])  # type: ignore[misc]
        return sorted(partitions)


def _is_broker_id(name: str) -> bool:
    return name.isascii() and name.isdigit() and len(name) <= len(str(INT_MAX)) and int(name) <= INT_MAX


def _topic(name: str, data: TopicAssignment, stat: Stat) -> Topic:
    assignments = {
        partition: ReplicaAssignment(replicas, data.adding.get(partition, ()), data.removing.get(partition, ()))
        for partition, replicas in sorted(data.partitions.items())
    }
    return Topic(name, data.topic_id, assignments, stat.version, stat.mzxid)


def _assignment_data(topic_id: UUID | None, assignments: Mapping[int, ReplicaAssignment]) -> TopicAssignment:
    return TopicAssignment(
        topic_id,
        {partition: assignment.replicas for partition, assignment in assignments.items()},
        {partition: assignment.adding for partition, assignment in assignments.items() if assignment.adding},
        {partition: assignment.removing for partition, assignment in assignments.items() if assignment.removing},
    )


def _state_write(tp: TopicPartition, state: LeaderAndIsr, controller_epoch: int) -> SetData:
    return SetData(layout.state_path(tp), encode_partition_state(state, controller_epoch), state.zk_version)


def _state_creation(tp: TopicPartition, state: LeaderAndIsr, controller_epoch: int) -> tuple[Op, Op]:
    return Create(layout.partition_path(tp), b""), Create(layout.state_path(tp), encode_partition_state(state, controller_epoch))


def _with_version(state: LeaderAndIsr, stat: object) -> LeaderAndIsr:
    assert isinstance(stat, Stat)
    return replace(state, zk_version=stat.version)


def _leadership(tp: TopicPartition, data: bytes, stat: Stat) -> Leadership | None:
    return _decoded(lambda: Leadership(*decode_partition_state(tp, data, stat.version)))


def _decoded(decode: Callable[[], T]) -> T | None:
    try:
        return decode()
    except StoreError as error:
        log.error("A znode was left out: %s", error)
        return None
