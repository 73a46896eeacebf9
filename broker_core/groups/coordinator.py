"""The group coordinator: serves the groups of the `__consumer_offsets` partitions that this broker leads (spec G2, G3).

Every request is first checked: is the group id legal, is this broker its coordinator, has the group been loaded? Then it goes to the
group as an event, and what follows is the engine's to carry out. Joins, syncs and commits wait; everything else is answered at once.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from broker_core.config import ConfigHolder
from broker_core.coordinator_runtime.partition_writer import PartitionWriter
from broker_core.errors import ErrorCode, KafkaError
from broker_core.groups import bounds, joining, leaving, liveness, syncing
from broker_core.groups.election import Elections
from broker_core.groups.engine import Engine, Watcher
from broker_core.groups.group import Group
from broker_core.groups.messages import (
    UNKNOWN_MEMBER,
    JoinRequest,
    JoinResult,
    LeaveResult,
    LeavingMember,
    SyncRequest,
    SyncResult,
)
from broker_core.groups.offset_service import FetchedOffset, OffsetService
from broker_core.groups.offsets_topic import OffsetsTopic
from broker_core.groups.records import OffsetCommit
from broker_core.groups.states import GroupState
from broker_core.groups.summary import CLASSIC, NO_GROUP, GroupOverview, GroupSummary, overview, summarize
from broker_core.metadata.cache import MetadataCache
from broker_core.model import CONSUMER_OFFSETS, TopicPartition
from broker_core.seams import Node

if TYPE_CHECKING:
    from broker_core.replication.manager import ReplicaManager


class GroupCoordinator:
    """One per broker. `start` before it is told of roles; after `close` everything is answered COORDINATOR_NOT_AVAILABLE."""

    def __init__(self, node: Node, broker_id: int, config: ConfigHolder, replicas: ReplicaManager, metadata: MetadataCache) -> None:
        self._node = node
        self._config = config
        self._active = False
        self.broker_id = broker_id
        self.topic = OffsetsTopic(node.spawn, config, metadata)
        self._engine = Engine(node, config, PartitionWriter(node.clock, CONSUMER_OFFSETS, replicas.appending), self.topic)
        self.elections = Elections(node, config, replicas.partitions, self._engine)
        self.offsets = OffsetService(node, config, self._engine)
        self.timers = self._engine.timers
        self.hosted = self._engine.hosted
        replicas.roles.add_listener(self.elections.on_role)
        metadata.on_deletion(self.offsets.topics_deleted)

    def start(self) -> None:
        self._active = True

    def close(self) -> None:
        """Gives all partitions up, which answers what is parked, and stops all timers."""
        self._active = False
        for partition in self.hosted.owned:
            self.elections.resigned(partition, None)
        self.timers.close()

    def watch_changes(self, watcher: Watcher) -> Callable[[], None]:
        """Calls `watcher(group_id)` when a group here has changed or gone; returns how to stop that."""
        return self._engine.watch(watcher)

    def status(self, group_id: str, *, may_be_empty: bool = False) -> ErrorCode:
        """NONE if this broker can answer for the group now. The empty group id is legal only where offsets or groups are managed."""
        if len(group_id.encode()) > bounds.MAX_STRING_BYTES or not (group_id or may_be_empty):
            return ErrorCode.INVALID_GROUP_ID
        if not self._active:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        partition = self.topic.partition_for(group_id)
        if self.hosted.is_loading(partition):
            return ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        return ErrorCode.NONE if self.hosted.is_owned(partition) else ErrorCode.NOT_COORDINATOR

    # -- membership -----------------------------------------------------------------------------------------------------

    async def join(self, request: JoinRequest) -> JoinResult:
        """Waits until the group's next generation begins. A new group comes into being by its first member's join."""
        try:
            self._check_join(request)
            group = self._group_to_join(request)
        except KafkaError as error:
            return JoinResult(error.code, request.member_id)
        ticket: asyncio.Future[JoinResult] = asyncio.get_running_loop().create_future()
        effects = joining.join(group, request, ticket, self._new_member_id(request), rules=self._engine.rules, now_ms=self._engine.now_ms)
        self._engine.carry_out(group, effects)
        return await ticket

    def _check_join(self, request: JoinRequest) -> None:
        self._require(self.status(request.group_id), request.group_id)
        config = self._config.current
        if not config.group_min_session_timeout_ms <= request.session_timeout_ms <= config.group_max_session_timeout_ms:
            raise KafkaError(ErrorCode.INVALID_SESSION_TIMEOUT, f"a session of {request.session_timeout_ms} ms is not allowed")
        bounds.check_instance_id(request.instance_id)
        bounds.check_strings(request.client_id, request.protocol_type, *(protocol.name for protocol in request.protocols))

    def _group_to_join(self, request: JoinRequest) -> Group:
        group = self.hosted.groups.get(request.group_id)
        if group is None and request.member_id != UNKNOWN_MEMBER:
            raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID, f"group {request.group_id!r} does not exist")
        return group or self._create(request.group_id)

    def _create(self, group_id: str) -> Group:
        if len(self.hosted.groups) >= bounds.MAX_GROUPS:
            raise KafkaError(ErrorCode.POLICY_VIOLATION, f"this coordinator has {bounds.MAX_GROUPS} groups already")
        group = Group(group_id, self._engine.now_ms)
        self.hosted.add(self.topic.partition_for(group_id), group)
        self._engine.watch_retention(group)
        return group

    def _new_member_id(self, request: JoinRequest) -> str:
        """Client or instance id and a random UUID, as Kafka forms it; empty if the member has an id."""
        if request.member_id != UNKNOWN_MEMBER:
            return UNKNOWN_MEMBER
        prefix = (request.instance_id or request.client_id)[: bounds.MAX_MEMBER_ID_PREFIX_CHARS]
        return f"{prefix}-{uuid.UUID(bytes=self._node.entropy.bytes(16), version=4)}"

    async def sync(self, request: SyncRequest) -> SyncResult:
        """Waits until the leader's assignment is stored. While loading, members are sent to join again: old clients know that error."""
        error = self.status(request.group_id)
        if error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
            return SyncResult(ErrorCode.REBALANCE_IN_PROGRESS)
        group = self.hosted.groups.get(request.group_id)
        if error is not ErrorCode.NONE or group is None:
            return SyncResult(error or ErrorCode.UNKNOWN_MEMBER_ID)
        ticket: asyncio.Future[SyncResult] = asyncio.get_running_loop().create_future()
        self._engine.carry_out(group, syncing.sync(group, request, ticket, self._engine.now_ms))
        return await ticket

    def heartbeat(self, group_id: str, member_id: str, instance_id: str | None, generation: int) -> ErrorCode:
        """While loading the members' sessions have not begun yet, so that a heartbeat is simply fine."""
        error = self.status(group_id)
        if error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
            return ErrorCode.NONE
        group = self.hosted.groups.get(group_id)
        if error is not ErrorCode.NONE or group is None:
            return error or ErrorCode.UNKNOWN_MEMBER_ID
        error, effects = liveness.heartbeat(group, member_id, instance_id, generation)
        self._engine.carry_out(group, effects)
        return error

    def leave(self, group_id: str, members: Sequence[LeavingMember]) -> tuple[ErrorCode, list[LeaveResult]]:
        """An error of the whole request, or each member's outcome."""
        error = self.status(group_id)
        group = self.hosted.groups.get(group_id)
        if error is not ErrorCode.NONE:
            return error, []
        if group is None:
            return ErrorCode.NONE, [LeaveResult(one.member_id, one.instance_id, ErrorCode.UNKNOWN_MEMBER_ID) for one in members]
        results, effects = leaving.leave(group, members, self._engine.now_ms)
        self._engine.carry_out(group, effects)
        return ErrorCode.NONE, results

    # -- offsets --------------------------------------------------------------------------------------------------------

    async def commit_offsets(
        self, group_id: str, member_id: str, instance_id: str | None, generation: int, commits: Mapping[TopicPartition, OffsetCommit]
    ) -> dict[TopicPartition, ErrorCode]:
        """Each partition's outcome. A commit without a generation makes the group if there is none."""
        error = self.status(group_id, may_be_empty=True)
        group = self.hosted.groups.get(group_id)
        if error is ErrorCode.NONE and group is None and generation >= 0:
            error = ErrorCode.ILLEGAL_GENERATION
        try:
            self._require(error, group_id)
            group = group or self._create(group_id)
        except KafkaError as refused:
            return dict.fromkeys(commits, refused.code)
        return await self.offsets.commit(group, member_id, instance_id, generation, commits)

    def fetch_offsets(
        self, group_id: str, partitions: Sequence[TopicPartition] | None, *, require_stable: bool = False
    ) -> dict[TopicPartition, FetchedOffset]:
        """The given partitions' offsets, or (None) all there are. Raises `KafkaError`."""
        self._require(self.status(group_id, may_be_empty=True), group_id)
        return self.offsets.fetch(self.hosted.groups.get(group_id), partitions, require_stable=require_stable)

    async def delete_offsets(self, group_id: str, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, ErrorCode]:
        """Each partition's outcome. Raises `KafkaError` for the whole request."""
        self._require(self.status(group_id), group_id)
        group = self.hosted.groups.get(group_id)
        if group is None:
            raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"group {group_id!r} does not exist")
        return await self.offsets.delete(group, partitions)

    # -- administration -------------------------------------------------------------------------------------------------

    async def delete(self, group_ids: Iterable[str]) -> dict[str, ErrorCode]:
        return {group_id: await self._delete(group_id) for group_id in dict.fromkeys(group_ids)}

    async def _delete(self, group_id: str) -> ErrorCode:
        error = self.status(group_id, may_be_empty=True)
        group = self.hosted.groups.get(group_id)
        if error is not ErrorCode.NONE or group is None:
            return error or ErrorCode.GROUP_ID_NOT_FOUND
        if group.state is not GroupState.EMPTY:
            return ErrorCode.NON_EMPTY_GROUP
        return await self.offsets.bury(group, group.offsets.known())

    def describe(self, group_id: str) -> GroupSummary:
        """A group that does not exist is shown as Dead. Raises `KafkaError`."""
        self._require(self.status(group_id, may_be_empty=True), group_id)
        group = self.hosted.groups.get(group_id)
        return NO_GROUP if group is None else summarize(group)

    def list_groups(self, states: Sequence[str], types: Sequence[str]) -> tuple[ErrorCode, list[GroupOverview]]:
        """All groups here, filtered by names of states and types (any case; none: no filter).

        While a partition loads the list is incomplete, and the error says so.
        """
        if not self._active:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE, []
        error = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS if self.hosted.is_loading_any else ErrorCode.NONE
        if types and CLASSIC not in [name.lower() for name in types]:
            return error, []
        wanted = frozenset(name.lower() for name in states)
        return error, [overview(group) for group in self.hosted.groups.values() if not wanted or group.state.value.lower() in wanted]

    def _require(self, error: ErrorCode, group_id: str) -> None:
        if error is not ErrorCode.NONE:
            raise KafkaError(error, f"group {group_id[:80]!r}: {error.name} at broker {self.broker_id}")
