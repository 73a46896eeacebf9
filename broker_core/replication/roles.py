"""Carries out the controller's orders: who leads, who follows, what is stopped and deleted (spec R11, Z5).

An order takes effect in two steps. At once and without waiting, the partition stops serving in its old role and is no
longer fetched. Then, under the partition's `turn`, the disk does its part and the new role begins; an order that was
overtaken meanwhile is dropped. The second steps of a slice of a request are taken side by side, slice after slice, and a
former controller's request ends where a newer one is heard of.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import nullcontext
from typing import Literal, NamedTuple, TypeVar

from broker_core.errors import CorruptData, ErrorCode, KafkaError
from broker_core.model import NO_LEADER, TopicPartition
from broker_core.replication.control_requests import LeaderOrder, StopOrder
from broker_core.replication.delayed_operations import DelayedOperations
from broker_core.replication.following.replica_fetcher_manager import ReplicaFetcherManager
from broker_core.replication.hosted_partitions import HostedPartitions
from broker_core.replication.leadership import Role, judge_leader_and_isr, judge_stop_replica
from broker_core.replication.log_moves import LogMoves
from broker_core.replication.partition import Moved, Partition
from broker_core.replication.serving.awaited_followers import AwaitedFollowers
from broker_core.seams import Node
from broker_core.storage.folder.log_dir import lacks_handles
from broker_core.storage.log import PartitionLog
from broker_core.storage.manager import LogManager

logger = logging.getLogger(__name__)

ORDERS_PER_SLICE = 50
"""Orders that are begun, or carried out, before others have their turn."""

T = TypeVar("T")
RoleName = Literal["leader", "follower", "none"]
RoleListener = Callable[[TopicPartition, RoleName, int], None]
"""Told the partition, its new role here and the leader epoch, after the role has begun or ended."""
Verdict = Callable[[], ErrorCode]
"""Whether the request's controller is still to be obeyed: asked anew before each slice."""


class _Begun(NamedTuple):
    """An order whose first step is done; `finish` is the second."""

    name: str
    finish: Callable[[], Awaitable[ErrorCode]]


def _obey() -> ErrorCode:
    return ErrorCode.NONE


async def _finish(begun: _Begun) -> ErrorCode:
    return await begun.finish()


class Roles:
    """Changes of role of all hosted partitions."""

    def __init__(
        self,
        broker_id: int,
        node: Node,
        logs: LogManager,
        *,
        partitions: HostedPartitions,
        fetchers: ReplicaFetcherManager,
        delayed: DelayedOperations,
        awaited: AwaitedFollowers,
        moves: LogMoves,
    ) -> None:
        self._broker_id = broker_id
        self._node = node
        self._logs = logs
        self._partitions = partitions
        self._fetchers = fetchers
        self._delayed = delayed
        self._awaited = awaited
        self._moves = moves
        self.on_put_off: Callable[[], None] = lambda: None
        """Called when a role could not begin because no file handle was to be had: later one may be."""
        self._listeners: list[RoleListener] = []

    def add_listener(self, listener: RoleListener) -> None:
        self._listeners.append(listener)

    async def lead_and_follow(self, orders: Sequence[LeaderOrder], verdict: Verdict = _obey) -> list[tuple[LeaderOrder, ErrorCode]]:
        """The verdict on each order, once all that were accepted are carried out."""
        return list(zip(orders, await self._carried_out(orders, self._accept, verdict), strict=True))

    async def stop(self, orders: Sequence[StopOrder], verdict: Verdict = _obey) -> list[tuple[TopicPartition, ErrorCode]]:
        """As `lead_and_follow`. When it returns, no checkpoint has the deleted logs any more."""
        codes: list[ErrorCode] = []
        try:
            async with self._logs.deletions() if any(order.delete for order in orders) else nullcontext():
                codes = await self._carried_out(orders, self._accept_stop, verdict)
        except OSError as error:
            logger.error("checkpoints cannot be written after deletions", extra={"error": str(error)})
            codes = [ErrorCode.KAFKA_STORAGE_ERROR if order.delete else code for order, code in zip(orders, codes, strict=True)]
        return [(order.tp, code) for order, code in zip(orders, codes, strict=True)]

    async def _carried_out(self, orders: Sequence[T], accept: Callable[[T], ErrorCode | _Begun], verdict: Verdict) -> list[ErrorCode]:
        """All first steps, and then all second ones."""
        started: list[ErrorCode | _Begun] = []
        async for part in self._slices(orders):
            refused = verdict()
            started += [accept(order) if refused is ErrorCode.NONE else refused for order in part]
        codes: list[ErrorCode] = []
        async for begun in self._slices(started):
            codes += await self._finished(begun)
        return codes

    async def _finished(self, started: Sequence[ErrorCode | _Begun]) -> list[ErrorCode]:
        """Side by side, but begun a turn of the loop apart: each may make a folder and its files."""
        tasks: list[ErrorCode | asyncio.Task[ErrorCode]] = []
        for each in started:
            tasks.append(each if isinstance(each, ErrorCode) else self._node.spawn(_finish(each), name=each.name))
            await self._node.clock.sleep(0)
        return [each if isinstance(each, ErrorCode) else await each for each in tasks]

    async def _slices(self, items: Sequence[T]) -> AsyncIterator[Sequence[T]]:
        for start in range(0, len(items), ORDERS_PER_SLICE):
            if start:
                await self._node.clock.sleep(0)
            yield items[start : start + ORDERS_PER_SLICE]

    def _accept(self, order: LeaderOrder) -> ErrorCode | _Begun:
        partition = self._partitions.get(order.tp)
        verdict = judge_leader_and_isr(
            partition.obeyed_epoch if partition is not None else -1,
            order.leader_epoch,
            order.replicas,
            self._broker_id,
            own_topic_id=partition.topic_id if partition is not None else None,
            new_topic_id=order.topic_id,
            offline=partition is not None and partition.role is Role.OFFLINE,
        )
        if verdict is not ErrorCode.NONE:
            logger.debug("order refused", extra={"partition": str(order.tp), "epoch": order.leader_epoch, "verdict": verdict.name})
            return verdict
        partition = self._partitions.get_or_create(order.tp)
        change = partition.begin_change(order)
        self._fetchers.remove(order.tp)
        self._partitions.note_role(partition)
        return _Begun(f"role of {order.tp}", lambda: self._carry_out(partition, order, change))

    async def _carry_out(self, partition: Partition, order: LeaderOrder, change: int) -> ErrorCode:
        async with partition.turn:
            if not partition.is_latest(change):
                return ErrorCode.STALE_CONTROLLER_EPOCH
            try:
                moved = await self._begin_role(partition, order, change)
            except (KafkaError, CorruptData, OSError) as error:
                return self._failed(partition, change, error)
            if moved is None:
                return ErrorCode.STALE_CONTROLLER_EPOCH
            self._begun(partition, moved)
            return ErrorCode.NONE

    async def _begin_role(self, partition: Partition, order: LeaderOrder, change: int) -> Moved | None:
        log: PartitionLog = await self._logs.get_or_create(order.tp, order.topic_id, is_new=order.is_new)
        if not partition.is_latest(change):
            return None
        if order.leader == self._broker_id:
            return await partition.lead(order, change, log)
        return await partition.follow(change, log)

    def _begun(self, partition: Partition, moved: Moved) -> None:
        self._partitions.note_role(partition)
        leads = partition.role is Role.LEADER
        if not leads and partition.leader_id != NO_LEADER:
            self._fetchers.follow(partition)
        assert partition.log is not None
        logger.info(
            "role begins",
            extra={
                "partition": str(partition.tp),
                "role": partition.role.value,
                "leader": partition.leader_id,
                "epoch": partition.leader_epoch,
                "log_end": partition.log.log_end_offset,
                "high_watermark": partition.log.high_watermark,
            },
        )
        self._delayed.role_changed(partition.tp)
        self._delayed.moved(partition, moved)
        if leads:
            self._await_followers(partition)
        self._moves.role_began(partition)
        self._tell(partition, "leader" if leads else "follower")

    def _await_followers(self, partition: Partition) -> None:
        followers = [broker_id for broker_id in partition.replicas if broker_id != self._broker_id]
        for broker_id in self._awaited.begin(followers):
            self._delayed.let_follower_ask_again(broker_id)

    def _failed(self, partition: Partition, change: int, error: Exception) -> ErrorCode:
        logger.error("role cannot begin", extra={"partition": str(partition.tp), "error": str(error)})
        if partition.is_latest(change):
            gone = isinstance(error, CorruptData) or (bool(self._logs.folders.offline) and not lacks_handles(error))
            partition.fail() if gone else partition.put_off()
            self._delayed.role_changed(partition.tp)
            self._tell(partition, "none")
            if partition.undone and lacks_handles(error):
                self.on_put_off()
        return error.code if isinstance(error, KafkaError) else ErrorCode.KAFKA_STORAGE_ERROR

    async def go_offline(self) -> None:
        """A data folder failed: the partitions whose logs are in there have no role here until the broker is started again; after the last
        folder none has."""
        none_left = not self._logs.folders.online
        hosted = [each for each in self._partitions.all() if none_left or (each.log is not None and self._logs.is_lost(each.log))]
        for partition in hosted:
            partition.fail()
            self._partitions.note_role(partition)
            self._fetchers.remove(partition.tp)
        async for part in self._slices(hosted):
            for partition in part:
                self._delayed.role_changed(partition.tp)
                self._tell(partition, "none")

    def _accept_stop(self, order: StopOrder) -> ErrorCode | _Begun:
        partition = self._partitions.get(order.tp)
        if partition is not None:
            verdict = judge_stop_replica(partition.leader_epoch, order.leader_epoch, offline=partition.role is Role.OFFLINE)
            if verdict is not ErrorCode.NONE:
                return verdict
            change = self._end_role(partition)
            if order.delete:
                return _Begun(f"delete {order.tp}", lambda: self._delete_hosted(partition, change))
        elif order.delete:
            return _Begun(f"delete {order.tp}", lambda: self._delete_unhosted(order.tp))
        return ErrorCode.NONE

    def _end_role(self, partition: Partition) -> int:
        change = partition.stop()
        self._partitions.note_role(partition)
        self._fetchers.remove(partition.tp)
        self._delayed.role_changed(partition.tp)
        self._tell(partition, "none")
        return change

    async def _delete_hosted(self, partition: Partition, change: int) -> ErrorCode:
        async with partition.turn:
            if not partition.is_latest(change):
                return ErrorCode.STALE_CONTROLLER_EPOCH
            self._partitions.forget(partition.tp)
            return await self._delete_log(partition.tp)

    async def _delete_unhosted(self, tp: TopicPartition) -> ErrorCode:
        """Of a partition that no LeaderAndIsr has named since the start: its topic was deleted while we were down."""
        return ErrorCode.STALE_CONTROLLER_EPOCH if self._partitions.get(tp) is not None else await self._delete_log(tp)

    async def _delete_log(self, tp: TopicPartition) -> ErrorCode:
        try:
            await self._logs.retire(tp)
        except (KafkaError, OSError) as error:
            logger.error("log cannot be deleted", extra={"partition": str(tp), "error": str(error)})
            return ErrorCode.KAFKA_STORAGE_ERROR
        self._delayed.role_changed(tp)
        return ErrorCode.NONE

    def _tell(self, partition: Partition, role: RoleName) -> None:
        for listener in tuple(self._listeners):
            listener(partition.tp, role, partition.leader_epoch)
