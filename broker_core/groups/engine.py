"""Carries out what the groups decide: timers, answers to parked requests, appends, and the end of what has expired.

Effects are carried out in one order. Those that arise meanwhile (a timer of 0 ms rings at once, an append fails at once) queue up
behind, so that a group never sees an effect of a later event overtake one of an earlier event.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType

from broker_core.config import ConfigHolder
from broker_core.coordinator_runtime.partition_writer import COORDINATOR_ERRORS, KeyValue, PartitionWriter
from broker_core.errors import ErrorCode, KafkaError
from broker_core.groups import leaving, liveness, retention, syncing
from broker_core.groups.bounds import MAX_PENDING_MEMBERS
from broker_core.groups.group import RETENTION_TIMER, Group
from broker_core.groups.hosting import HostedPartitions
from broker_core.groups.messages import Effect, GroupRules, Moved, ReplyJoin, ReplySync, StartTimer, StopTimer, Store, StoreToken, TimerKey
from broker_core.groups.offsets_topic import OffsetsTopic
from broker_core.groups.records import encode_group_key, encode_group_value, tombstones
from broker_core.groups.states import GroupState
from broker_core.groups.timers import GroupTimers
from broker_core.model import TopicPartition
from broker_core.seams import Node
from broker_core.storage.log import AppendInfo

log = logging.getLogger(__name__)

Watcher = Callable[[str], None]

GROUP_ERRORS: Mapping[ErrorCode, ErrorCode] = MappingProxyType(
    dict(COORDINATOR_ERRORS)
    | {
        ErrorCode.REQUEST_TIMED_OUT: ErrorCode.REBALANCE_IN_PROGRESS,
        ErrorCode.MESSAGE_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
        ErrorCode.RECORD_LIST_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
    }
)
"""What members are told when the group's record could not be written."""


class Engine:
    """Tickets of parked requests are futures; one whose client has gone is done already and is left alone."""

    def __init__(self, node: Node, config: ConfigHolder, writer: PartitionWriter, topic: OffsetsTopic) -> None:
        self._node = node
        self._config = config
        self._writer = writer
        self.topic = topic
        self.hosted = HostedPartitions()
        self.timers = GroupTimers(node.clock, self._ring)
        self._queue: deque[tuple[Group, Effect]] = deque()
        self._is_carrying_out = False
        self._watchers: list[Watcher] = []

    def watch(self, watcher: Watcher) -> Callable[[], None]:
        """Calls `watcher` with the id of a group whose state, members or offsets changed, or that has gone; returns how to stop that."""
        self._watchers.append(watcher)
        return lambda: self._watchers.remove(watcher)

    def tell(self, group: Group) -> None:
        for watcher in tuple(self._watchers):
            watcher(group.group_id)

    @property
    def now_ms(self) -> int:
        return self._node.clock.now_ms()

    @property
    def rules(self) -> GroupRules:
        config = self._config.current
        return GroupRules(config.group_max_size, config.group_initial_rebalance_delay_ms, MAX_PENDING_MEMBERS)

    def carry_out(self, group: Group, effects: Iterable[Effect]) -> None:
        self._queue.extend((group, effect) for effect in effects)
        if self._is_carrying_out:
            return
        self._is_carrying_out = True
        try:
            while self._queue:
                self._one(*self._queue.popleft())
        finally:
            self._is_carrying_out = False

    def _one(self, group: Group, effect: Effect) -> None:
        match effect:
            case StartTimer():
                self.timers.start(group, effect)
            case StopTimer(key):
                self.timers.stop(group, key)
            case ReplyJoin(ticket, result) | ReplySync(ticket, result):
                assert isinstance(ticket, asyncio.Future)
                if not ticket.done():
                    ticket.set_result(result)
            case Store():
                self._store(group, effect)
            case Moved():
                self._moved(group, effect)

    def _moved(self, group: Group, moved: Moved) -> None:
        log.info(
            "group moved",
            extra={"group": group.group_id, "before": moved.before.value, "after": moved.after.value, "reason": moved.reason},
        )
        self.tell(group)
        if moved.before is GroupState.EMPTY and moved.after is not GroupState.DEAD:
            self.watch_retention(group)

    # -- appends --------------------------------------------------------------------------------------------------------

    def append(self, group: Group, records: Sequence[KeyValue]) -> AppendInfo:
        """Appends to the group's partition in the leader epoch this broker was elected in. Raises `KafkaError`."""
        partition = self.topic.partition_for(group.group_id)
        epoch = self.hosted.epochs.get(partition)
        if epoch is None:
            raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER, f"not the coordinator of group {group.group_id!r}")
        return self._writer.append(partition, epoch, records)

    async def replicated(self, group: Group, info: AppendInfo) -> ErrorCode:
        timeout_ms = self._config.current.offsets_commit_timeout_ms
        return await self._writer.replicated(self.topic.partition_for(group.group_id), info, timeout_ms)

    def _store(self, group: Group, effect: Store) -> None:
        record = (encode_group_key(group.group_id), encode_group_value(effect.value))
        try:
            info = self.append(group, [record])
        except KafkaError as error:
            self._stored(group, effect.token, error.code)
        else:
            self._node.spawn(self._await_stored(group, effect.token, info), name="group-store")

    async def _await_stored(self, group: Group, token: StoreToken, info: AppendInfo) -> None:
        self._stored(group, token, await self.replicated(group, info))

    def _stored(self, group: Group, token: StoreToken, error: ErrorCode) -> None:
        if error is not ErrorCode.NONE:
            log.warning("group record not stored", extra={"group": group.group_id, "error": error.name})
        self.carry_out(group, syncing.stored(group, token, GROUP_ERRORS.get(error, error), self.now_ms))
        self.tell(group)

    # -- time -----------------------------------------------------------------------------------------------------------

    def _ring(self, group: Group, key: TimerKey, serial: int) -> None:
        if key != RETENTION_TIMER:
            self.carry_out(group, liveness.on_timer(group, key, serial, self.now_ms))
        elif liveness.is_due(group, key, serial):
            del group.timers[key]
            self._expire(group)

    @property
    def _retention_ms(self) -> int:
        return self._config.current.offsets_retention_minutes * 60_000

    @property
    def _check_ms(self) -> int:
        return self._config.current.offsets_retention_check_interval_ms

    def watch_retention(self, group: Group) -> None:
        self.carry_out(group, retention.watch(group, self._retention_ms, self._check_ms, self.now_ms))

    def watch_retention_by(self, group: Group, expire_ms: int) -> None:
        """An offset that expires at `expire_ms` was committed."""
        self.carry_out(group, retention.watch_by(group, expire_ms, self._check_ms, self.now_ms))

    def _expire(self, group: Group) -> None:
        try:
            self.bury(group, retention.expired(group, self._retention_ms, self.now_ms))
        except KafkaError as error:
            log.warning("tombstones not written", extra={"group": group.group_id, "error": error.code.name})
        if group.state is not GroupState.DEAD:
            self.watch_retention(group)

    def bury(self, group: Group, partitions: Sequence[TopicPartition]) -> AppendInfo | None:
        """Removes offsets, and the group if nothing is left of it then; the tombstones come first (`KafkaError`: nothing has changed).

        A group of generation 0 never had a record of its own.
        """
        ends = retention.ends_without(group, partitions)
        records = tombstones(group.group_id, partitions, with_group=ends and group.generation > 0)
        info = self.append(group, records) if records else None
        group.offsets.remove(partitions)
        self.hosted.list_topics(group, dict.fromkeys(tp.topic for tp in partitions))
        if partitions:
            self.tell(group)
        if ends:
            self.hosted.discard(self.topic.partition_for(group.group_id), group)
            self.carry_out(group, leaving.die(group, self.now_ms, "nothing left of it"))
        return info
