"""The groups of one partition of `__consumer_offsets`, and what carries out what they decide: timers, answers, appends, their end.

Effects are carried out in one order. Those that arise meanwhile (a timer of 0 ms rings at once, an append fails at once) queue up
behind, so that a group never sees an effect of a later event overtake one of an earlier event. A group stores into the partition it
lives in, also when the topic has grown and its id's hash names another one now.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType

from broker_core.config import ConfigHolder
from broker_core.coordinator_runtime.partition_writer import COORDINATOR_ERRORS, PartitionWriter
from broker_core.errors import ErrorCode, KafkaError
from broker_core.groups import leaving, liveness, retention, syncing
from broker_core.groups.bounds import MAX_PENDING_MEMBERS
from broker_core.groups.group import RETENTION_TIMER, Group
from broker_core.groups.messages import Effect, GroupRules, Moved, ReplyJoin, ReplySync, StartTimer, StopTimer, Store, StoreToken, TimerKey
from broker_core.groups.records import encode_group_key, encode_group_value, tombstones
from broker_core.groups.replay import Replay
from broker_core.groups.states import GroupState
from broker_core.groups.table import GroupTable
from broker_core.groups.timers import GroupTimers
from broker_core.model import TopicPartition
from broker_core.records.steps import Steps
from broker_core.seams import Node
from broker_core.storage.log import AppendInfo

log = logging.getLogger(__name__)

GROUP_ERRORS: Mapping[ErrorCode, ErrorCode] = MappingProxyType(
    dict(COORDINATOR_ERRORS)
    | {
        ErrorCode.REQUEST_TIMED_OUT: ErrorCode.REBALANCE_IN_PROGRESS,
        ErrorCode.MESSAGE_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
        ErrorCode.RECORD_LIST_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
    }
)
"""What members are told when the group's record could not be written."""


class GroupShard:
    """Tickets of parked requests are futures; one whose client has gone is done already and is left alone.

    `tell` is called with a group whose state, members or offsets changed, or that has gone.
    """

    def __init__(
        self, node: Node, config: ConfigHolder, timers: GroupTimers, tell: Callable[[Group], None], writer: PartitionWriter
    ) -> None:
        self._node = node
        self._config = config
        self._timers = timers
        self.tell = tell
        self.writer = writer
        self.groups = GroupTable()
        self._queue: deque[tuple[Group, Effect]] = deque()
        self._is_carrying_out = False

    # -- as the runtime's shard -----------------------------------------------------------------------------------------

    def playback(self) -> Replay:
        return Replay()

    def build(self, playback: Replay) -> Steps[int]:
        for group in playback.build(self.now_ms):
            self.groups.add(group)
            yield
        return len(self.groups.by_id)

    def loaded(self) -> Steps[None]:
        """Starts the groups' timers; a group may be asked, or be given up, before its turn."""
        for group in list(self.groups.by_id.values()):
            if group.state is not GroupState.DEAD:
                self.carry_out(group, liveness.loaded(group, self.rules, self.now_ms))
                self.watch_retention(group)
                self.tell(group)
            yield

    def unloaded(self) -> None:
        given_up = list(self.groups.by_id.values())
        self.groups = GroupTable()
        for group in given_up:
            self.carry_out(group, leaving.unload(group, self.now_ms))

    # -- groups ---------------------------------------------------------------------------------------------------------

    def create(self, group_id: str) -> Group:
        group = Group(group_id, self.now_ms)
        self.groups.add(group)
        self.watch_retention(group)
        return group

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
                self._timers.start(group, effect, self._ring)
            case StopTimer(key):
                self._timers.stop(group, key)
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

    async def replicated(self, info: AppendInfo) -> ErrorCode:
        return await self.writer.replicated(info, self._config.current.offsets_commit_timeout_ms)

    def _store(self, group: Group, effect: Store) -> None:
        record = (encode_group_key(group.group_id), encode_group_value(effect.value))
        try:
            info = self.writer.append([record])
        except KafkaError as error:
            self._stored(group, effect.token, error.code)
        else:
            self._node.spawn(self._await_stored(group, effect.token, info), name="group-store")

    async def _await_stored(self, group: Group, token: StoreToken, info: AppendInfo) -> None:
        self._stored(group, token, await self.replicated(info))

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
        info = self.writer.append(records) if records else None
        group.offsets.remove(partitions)
        self.groups.list_topics(group, dict.fromkeys(tp.topic for tp in partitions))
        if partitions:
            self.tell(group)
        if ends:
            self.groups.discard(group)
            self.carry_out(group, leaving.die(group, self.now_ms, "nothing left of it"))
        return info
