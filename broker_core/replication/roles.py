"""Carries out the controller's orders: who leads, who follows, what is stopped and deleted (SOURCES R11, Z5).

An order takes effect in two steps. At once and without waiting, the partition stops serving in its old role and is no
longer fetched. Then, under the partition's `turn`, the disk does its part and the new role begins; an order that was
overtaken meanwhile is dropped. Different partitions take their second steps side by side.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Literal

from broker_core.errors import CorruptData, ErrorCode, KafkaError
from broker_core.model import NO_LEADER, TopicPartition
from broker_core.replication.control_requests import LeaderOrder, StopOrder
from broker_core.replication.fetchers import Fetchers
from broker_core.replication.hosting import Hosting
from broker_core.replication.leadership import Role, judge_leader_and_isr, judge_stop_replica
from broker_core.replication.partition import Moved, Partition
from broker_core.replication.progress import Progress
from broker_core.seams import Spawn
from broker_core.storage.log import PartitionLog
from broker_core.storage.manager import LogManager

logger = logging.getLogger(__name__)

RoleName = Literal["leader", "follower", "none"]
RoleListener = Callable[[TopicPartition, RoleName, int], None]
"""Told the partition, its new role here and the leader epoch, after the role has begun or ended."""


class Roles:
    """Changes of role of all hosted partitions."""

    def __init__(self, broker_id: int, spawn: Spawn, logs: LogManager, *, hosting: Hosting, fetchers: Fetchers, progress: Progress) -> None:
        self._broker_id = broker_id
        self._spawn = spawn
        self._logs = logs
        self._hosting = hosting
        self._fetchers = fetchers
        self._progress = progress
        self._listeners: list[RoleListener] = []

    def add_listener(self, listener: RoleListener) -> None:
        self._listeners.append(listener)

    async def lead_and_follow(self, orders: list[LeaderOrder]) -> list[tuple[LeaderOrder, ErrorCode]]:
        """The verdict on each order, once all that were accepted are carried out."""
        started = [(order, self._accept(order)) for order in orders]
        return [(order, verdict if isinstance(verdict, ErrorCode) else await verdict) for order, verdict in started]

    async def stop(self, orders: list[StopOrder]) -> list[tuple[TopicPartition, ErrorCode]]:
        started = [(order.tp, self._accept_stop(order)) for order in orders]
        return [(tp, verdict if isinstance(verdict, ErrorCode) else await verdict) for tp, verdict in started]

    def _accept(self, order: LeaderOrder) -> ErrorCode | asyncio.Task[ErrorCode]:
        partition = self._hosting.get(order.tp)
        verdict = judge_leader_and_isr(
            partition.leader_epoch if partition is not None else -1,
            order.leader_epoch,
            order.replicas,
            self._broker_id,
            own_topic_id=partition.topic_id if partition is not None else None,
            new_topic_id=order.topic_id,
            offline=partition is not None and partition.role is Role.OFFLINE,
        )
        if verdict is not ErrorCode.NONE:
            logger.info("order refused", extra={"partition": str(order.tp), "epoch": order.leader_epoch, "verdict": verdict.name})
            return verdict
        partition = self._hosting.get_or_create(order.tp)
        change = partition.begin_change(order)
        self._fetchers.remove(order.tp)
        self._hosting.note_role(partition)
        return self._spawn(self._carry_out(partition, order, change), name=f"role of {order.tp}")

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
        log: PartitionLog = await self._logs.get_or_create(order.tp, order.topic_id)
        if not partition.is_latest(change):
            return None
        if order.leader == self._broker_id:
            return await partition.lead(order, change, log)
        return await partition.follow(change, log)

    def _begun(self, partition: Partition, moved: Moved) -> None:
        self._hosting.note_role(partition)
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
        self._progress.role_changed(partition.tp)
        self._progress.moved(partition, moved)
        self._tell(partition, "leader" if leads else "follower")

    def _failed(self, partition: Partition, change: int, error: Exception) -> ErrorCode:
        logger.error("role cannot begin", extra={"partition": str(partition.tp), "error": str(error)})
        if partition.is_latest(change):
            partition.fail() if isinstance(error, CorruptData) else partition.stop()
            self._progress.role_changed(partition.tp)
            self._tell(partition, "none")
        return error.code if isinstance(error, KafkaError) else ErrorCode.KAFKA_STORAGE_ERROR

    def _accept_stop(self, order: StopOrder) -> ErrorCode | asyncio.Task[ErrorCode]:
        partition = self._hosting.get(order.tp)
        if partition is not None:
            verdict = judge_stop_replica(partition.leader_epoch, order.leader_epoch, offline=partition.role is Role.OFFLINE)
            if verdict is not ErrorCode.NONE:
                return verdict
            change = self._end_role(partition)
            if order.delete:
                return self._spawn(self._delete_hosted(partition, change), name=f"delete {order.tp}")
        elif order.delete:
            return self._spawn(self._delete_log(order.tp), name=f"delete {order.tp}")
        return ErrorCode.NONE

    def _end_role(self, partition: Partition) -> int:
        change = partition.stop()
        self._hosting.note_role(partition)
        self._fetchers.remove(partition.tp)
        self._progress.role_changed(partition.tp)
        self._tell(partition, "none")
        return change

    async def _delete_hosted(self, partition: Partition, change: int) -> ErrorCode:
        async with partition.turn:
            if not partition.is_latest(change):
                return ErrorCode.STALE_CONTROLLER_EPOCH
            self._hosting.forget(partition.tp)
            return await self._delete_log(partition.tp)

    async def _delete_log(self, tp: TopicPartition) -> ErrorCode:
        """Also of a partition that no LeaderAndIsr has named since the start: its topic was deleted while we were down."""
        try:
            await self._logs.delete(tp)
        except (KafkaError, OSError) as error:
            logger.error("log cannot be deleted", extra={"partition": str(tp), "error": str(error)})
            return ErrorCode.KAFKA_STORAGE_ERROR
        self._progress.role_changed(tp)
        return ErrorCode.NONE

    def _tell(self, partition: Partition, role: RoleName) -> None:
        for listener in tuple(self._listeners):
            listener(partition.tp, role, partition.leader_epoch)
