"""The group coordinator: serves the groups of the `__consumer_offsets` partitions that this broker leads (spec G2, G3).

Every request is first checked: is the group id legal, is this broker its coordinator, has the group been loaded? Then it goes to the
group as an event, and what follows is its shard's to carry out. Joins, syncs and commits wait; everything else is answered at once.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from broker_core.config import ConfigHolder
from broker_core.coordinator_runtime.runtime import CoordinatorRuntime
from broker_core.coordinator_runtime.state_topic import StateTopic
from broker_core.errors import ErrorCode, KafkaError
from broker_core.groups import bounds, joining, leaving, liveness, syncing
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
from broker_core.groups.records import OffsetCommit
from broker_core.groups.shard import GroupShard
from broker_core.groups.states import GroupState
from broker_core.groups.summary import CLASSIC, NO_GROUP, GroupOverview, GroupSummary, overview, summarize
from broker_core.groups.timers import GroupTimers
from broker_core.metadata.cache import MetadataCache
from broker_core.model import CONSUMER_OFFSETS, TopicPartition
from broker_core.seams import Node

if TYPE_CHECKING:
    from broker_core.replication.manager import ReplicaManager


Watcher = Callable[[str], None]


class GroupCoordinator:
    """One per broker. `start` before it is told of roles; after `close` everything is answered COORDINATOR_NOT_AVAILABLE."""

    def __init__(self, node: Node, config: ConfigHolder, replicas: ReplicaManager, metadata: MetadataCache) -> None:
        self._node = node
        self._config = config
        self._active = False
        self._watchers: list[Watcher] = []
        self.topic = StateTopic(CONSUMER_OFFSETS, node.spawn, config, metadata)
        self.timers = GroupTimers(node.clock)
        self._offsets = OffsetService(node, config)
        make_shard = partial(GroupShard, node, config, self.timers, self._tell)
        self.runtime = CoordinatorRuntime(node, self.topic, replicas, make_shard, lambda: config.current.offsets_load_buffer_size)
        metadata.on_deletion(self._topics_deleted)

    def start(self) -> None:
        self._active = True

    def close(self) -> None:
        """Gives all partitions up, which answers what is parked, and stops all timers."""
        self._active = False
        self.runtime.close()
        self.timers.close()

    def watch_changes(self, watcher: Watcher) -> Callable[[], None]:
        """Calls `watcher(group_id)` when a group's state, members or offsets changed, or it has gone; returns how to stop that."""
        self._watchers.append(watcher)
        return lambda: self._watchers.remove(watcher)

    def groups(self) -> dict[str, Group]:
        """All groups here by id. Where the topic has grown two partitions may have one of a name: then the one that requests find."""
        found: dict[str, Group] = {}
        for shard in self.runtime.shards.values():
            found |= {name: group for name, group in shard.groups.by_id.items() if name not in found or self.group(name) is group}
        return found

    def group(self, group_id: str) -> Group | None:
        """The group that requests find here, if any."""
        try:
            return self.runtime.shard_for(group_id).groups.by_id.get(group_id)
        except KafkaError:
            return None

    def _tell(self, group: Group) -> None:
        for watcher in tuple(self._watchers):
            watcher(group.group_id)

    def _topics_deleted(self, partitions: Sequence[TopicPartition]) -> None:
        for shard in tuple(self.runtime.shards.values()):
            self._offsets.topics_deleted(shard, partitions)

    def _shard(self, group_id: str, *, may_be_empty: bool = False) -> GroupShard:
        """Where the group lives, or would; `KafkaError` if this broker cannot answer for it now.

        The empty group id is legal only where offsets or groups are managed.
        """
        if len(group_id.encode()) > bounds.MAX_STRING_BYTES or not (group_id or may_be_empty):
            raise KafkaError(ErrorCode.INVALID_GROUP_ID, f"{group_id[:80]!r} cannot be a group's id")
        if not self._active:
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, "this broker is starting or stopping")
        return self.runtime.shard_for(group_id)

    def _existing(self, group_id: str, absent: ErrorCode, *, may_be_empty: bool = False) -> tuple[GroupShard, Group]:
        """As `_shard`, with the group; `absent` if there is none."""
        shard = self._shard(group_id, may_be_empty=may_be_empty)
        group = shard.groups.by_id.get(group_id)
        if group is None:
            raise KafkaError(absent, f"group {group_id!r} does not exist")
        return shard, group

    # -- membership -----------------------------------------------------------------------------------------------------

    async def join(self, request: JoinRequest) -> JoinResult:
        """Waits until the group's next generation begins. A new group comes into being by its first member's join."""
        try:
            shard = self._shard(request.group_id)
            self._check_join(request)
            group = shard.groups.by_id.get(request.group_id)
            if group is None and request.member_id != UNKNOWN_MEMBER:
                raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID, f"group {request.group_id!r} does not exist")
            group = group or self._create(shard, request.group_id)
        except KafkaError as error:
            return JoinResult(error.code, request.member_id)
        ticket: asyncio.Future[JoinResult] = asyncio.get_running_loop().create_future()
        effects = joining.join(group, request, ticket, self._new_member_id(request), rules=shard.rules, now_ms=shard.now_ms)
        shard.carry_out(group, effects)
        return await ticket

    def _check_join(self, request: JoinRequest) -> None:
        config = self._config.current
        if not config.group_min_session_timeout_ms <= request.session_timeout_ms <= config.group_max_session_timeout_ms:
            raise KafkaError(ErrorCode.INVALID_SESSION_TIMEOUT, f"a session of {request.session_timeout_ms} ms is not allowed")
        bounds.check_instance_id(request.instance_id)
        bounds.check_strings(request.client_id, request.protocol_type, *(protocol.name for protocol in request.protocols))

    def _create(self, shard: GroupShard, group_id: str) -> Group:
        if sum(len(one.groups.by_id) for one in self.runtime.shards.values()) >= bounds.MAX_GROUPS:
            raise KafkaError(ErrorCode.POLICY_VIOLATION, f"this coordinator has {bounds.MAX_GROUPS} groups already")
        return shard.create(group_id)

    def _new_member_id(self, request: JoinRequest) -> str:
        """Client or instance id and a random UUID, as Kafka forms it; empty if the member has an id."""
        if request.member_id != UNKNOWN_MEMBER:
            return UNKNOWN_MEMBER
        prefix = (request.instance_id or request.client_id)[: bounds.MAX_MEMBER_ID_PREFIX_CHARS]
        return f"{prefix}-{uuid.UUID(bytes=self._node.entropy.bytes(16), version=4)}"

    async def sync(self, request: SyncRequest) -> SyncResult:
        """Waits until the leader's assignment is stored. While loading, members are sent to join again: old clients know that error."""
        try:
            shard, group = self._existing(request.group_id, ErrorCode.UNKNOWN_MEMBER_ID)
        except KafkaError as refused:
            loading = refused.code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
            return SyncResult(ErrorCode.REBALANCE_IN_PROGRESS if loading else refused.code)
        ticket: asyncio.Future[SyncResult] = asyncio.get_running_loop().create_future()
        shard.carry_out(group, syncing.sync(group, request, ticket, shard.now_ms))
        return await ticket

    def heartbeat(self, group_id: str, member_id: str, instance_id: str | None, generation: int) -> ErrorCode:
        """While loading the members' sessions have not begun yet, so that a heartbeat is simply fine."""
        try:
            shard, group = self._existing(group_id, ErrorCode.UNKNOWN_MEMBER_ID)
        except KafkaError as refused:
            return ErrorCode.NONE if refused.code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS else refused.code
        error, effects = liveness.heartbeat(group, member_id, instance_id, generation)
        shard.carry_out(group, effects)
        return error

    def leave(self, group_id: str, members: Sequence[LeavingMember]) -> tuple[ErrorCode, list[LeaveResult]]:
        """An error of the whole request, or each member's outcome."""
        try:
            shard = self._shard(group_id)
        except KafkaError as refused:
            return refused.code, []
        group = shard.groups.by_id.get(group_id)
        if group is None:
            return ErrorCode.NONE, [LeaveResult(one.member_id, one.instance_id, ErrorCode.UNKNOWN_MEMBER_ID) for one in members]
        results, effects = leaving.leave(group, members, shard.now_ms)
        shard.carry_out(group, effects)
        return ErrorCode.NONE, results

    # -- offsets --------------------------------------------------------------------------------------------------------

    async def commit_offsets(
        self, group_id: str, member_id: str, instance_id: str | None, generation: int, commits: Mapping[TopicPartition, OffsetCommit]
    ) -> dict[TopicPartition, ErrorCode]:
        """Each partition's outcome. A commit without a generation makes the group if there is none."""
        try:
            shard = self._shard(group_id, may_be_empty=True)
            group = shard.groups.by_id.get(group_id)
            if group is None and generation >= 0:
                raise KafkaError(ErrorCode.ILLEGAL_GENERATION, f"group {group_id!r} does not exist")
            group = group or self._create(shard, group_id)
        except KafkaError as refused:
            return dict.fromkeys(commits, refused.code)
        error, effects = liveness.admit_commit(group, member_id, instance_id, generation)
        shard.carry_out(group, effects)
        if error is not ErrorCode.NONE:
            return dict.fromkeys(commits, error)
        return await self._offsets.commit(shard, group, commits)

    async def commit_in_transaction(
        self,
        group_id: str,
        member_id: str,
        instance_id: str | None,
        generation: int,
        *,
        producer: tuple[int, int],
        commits: Mapping[TopicPartition, OffsetCommit],
    ) -> dict[TopicPartition, ErrorCode]:
        """Each partition's outcome; the commits count once the transaction of the producer (id, epoch) is committed."""
        try:
            shard = self._shard(group_id)
            group = shard.groups.by_id.get(group_id) or self._create(shard, group_id)
        except KafkaError as refused:
            return dict.fromkeys(commits, refused.code)
        error, effects = liveness.admit_transactional_commit(group, member_id, instance_id, generation)
        shard.carry_out(group, effects)
        if error is not ErrorCode.NONE:
            return dict.fromkeys(commits, error)
        return await self._offsets.stage(shard, group, producer, commits)

    def transaction_ended(self, partition: int, producer_id: int, *, commit: bool) -> None:
        """A producer's marker is in that partition of `__consumer_offsets`."""
        self.runtime.when_loaded(partition, lambda shard: self._offsets.transaction_ended(shard, producer_id, commit=commit))

    def fetch_offsets(
        self, group_id: str, partitions: Sequence[TopicPartition] | None, *, require_stable: bool = False
    ) -> dict[TopicPartition, FetchedOffset]:
        """The given partitions' offsets, or (None) all there are. Raises `KafkaError`."""
        group = self._shard(group_id, may_be_empty=True).groups.by_id.get(group_id)
        return self._offsets.fetch(group, partitions, require_stable=require_stable)

    async def delete_offsets(self, group_id: str, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, ErrorCode]:
        """Each partition's outcome. Raises `KafkaError` for the whole request."""
        shard, group = self._existing(group_id, ErrorCode.GROUP_ID_NOT_FOUND)
        return await self._offsets.delete(shard, group, partitions)

    # -- administration -------------------------------------------------------------------------------------------------

    async def delete(self, group_ids: Iterable[str]) -> dict[str, ErrorCode]:
        return {group_id: await self._delete(group_id) for group_id in dict.fromkeys(group_ids)}

    async def _delete(self, group_id: str) -> ErrorCode:
        try:
            shard, group = self._existing(group_id, ErrorCode.GROUP_ID_NOT_FOUND, may_be_empty=True)
        except KafkaError as refused:
            return refused.code
        if group.state is not GroupState.EMPTY:
            return ErrorCode.NON_EMPTY_GROUP
        return await self._offsets.bury(shard, group, group.offsets.known())

    def describe(self, group_id: str) -> GroupSummary:
        """A group that does not exist is shown as Dead. Raises `KafkaError`."""
        group = self._shard(group_id, may_be_empty=True).groups.by_id.get(group_id)
        return NO_GROUP if group is None else summarize(group)

    def list_groups(self, states: Sequence[str], types: Sequence[str]) -> tuple[ErrorCode, list[GroupOverview]]:
        """All groups here, filtered by names of states and types (any case; none: no filter).

        While a partition loads the list is incomplete, and the error says so.
        """
        if not self._active:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE, []
        error = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS if self.runtime.ownership.is_loading_any else ErrorCode.NONE
        if types and CLASSIC not in [name.lower() for name in types]:
            return error, []
        wanted = frozenset(name.lower() for name in states)
        return error, [overview(group) for group in self.groups().values() if not wanted or group.state.value.lower() in wanted]
