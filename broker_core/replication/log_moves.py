"""The replicas that move between this broker's data folders: who asks for it, what goes on, what is taken up again (KIP-113)."""

from __future__ import annotations

import asyncio
import logging

from broker_core.config import ConfigHolder
from broker_core.errors import ErrorCode, KafkaError
from broker_core.model import TopicPartition
from broker_core.replication.hosted_partitions import HostedPartitions
from broker_core.replication.leadership import Role
from broker_core.replication.log_move import LogMove
from broker_core.replication.partition import Partition
from broker_core.replication.quota import Rate
from broker_core.seams import Node
from broker_core.storage.folder import names
from broker_core.storage.log import PartitionLog
from broker_core.storage.manager import LogManager

log = logging.getLogger(__name__)


class LogMoves:
    """`num.replica.alter.log.dirs.threads` moves at once, the others in the order in which they were asked for."""

    def __init__(self, node: Node, config: ConfigHolder, logs: LogManager, partitions: HostedPartitions) -> None:
        self._node = node
        self._config = config
        self._logs = logs
        self._partitions = partitions
        self._rate = Rate()
        self._moves: dict[TopicPartition, LogMove] = {}
        self._waiting: dict[TopicPartition, LogMove] = {}
        self._tasks: dict[LogMove, asyncio.Task[None]] = {}

    async def alter(self, tp: TopicPartition, folder: str) -> ErrorCode:
        """Has the replica moved to a folder, or leaves it where it is and forgets that it was to go elsewhere; the wish is remembered where
        there is no replica yet, for its creation.

        LOG_DIR_NOT_FOUND, KAFKA_STORAGE_ERROR (offline), INVALID_TOPIC_EXCEPTION (the name is too long for a future log's folder),
        REPLICA_NOT_AVAILABLE where another broker has the partition, UNKNOWN_TOPIC_OR_PARTITION where none has.
        """
        try:
            await self._alter(tp, folder)
        except KafkaError as error:
            log.warning("a replica cannot move", extra={"partition": str(tp), "to": folder, "error": str(error)})
            return ErrorCode.REPLICA_NOT_AVAILABLE if error.code is ErrorCode.NOT_LEADER_OR_FOLLOWER else error.code
        except OSError as error:
            log.error("a replica cannot move", extra={"partition": str(tp), "to": folder, "error": str(error)})
            return ErrorCode.KAFKA_STORAGE_ERROR
        return ErrorCode.NONE

    async def _alter(self, tp: TopicPartition, folder: str) -> None:
        if len(names.future_folder_name(tp, bytes(16))) > names.NAME_CHARS_MAX:
            raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"the name of {tp} is too long for it to move")
        wanted = self._logs.folders.named(folder)
        if wanted is None:
            raise KafkaError(ErrorCode.LOG_DIR_NOT_FOUND, f"{folder} is not among log.dirs")
        wanted.state.check()
        partition = self._partitions.get(tp)
        if partition is not None and partition.role is Role.OFFLINE:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"the log of {tp} is offline")
        future = self._logs.future(tp)
        if partition is not None and future is not None and future.data_folder != folder:
            await self._cancel(tp, future)
        logs = (self._logs.get(tp), self._logs.future(tp))
        if not any(each is not None and each.data_folder == folder for each in logs):
            self._logs.placing.prefer(tp, folder)
        partition = self._partitions.hosted(tp)
        current = partition.log
        if current is None or self._logs.get(tp) is not current:
            raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER, f"there is no log of {tp} yet")
        if current.data_folder != folder:
            self._begin(partition, await self._logs.create_future(tp, wanted, current.topic_id))

    async def _cancel(self, tp: TopicPartition, future: PartitionLog) -> None:
        move = self._moves.get(tp)
        if move is not None:
            move.stop()
            task = self._tasks.get(move)
            if task is not None:
                await asyncio.shield(task)
        await self._logs.drop_future(future)

    def role_began(self, partition: Partition) -> None:
        """Takes up a move that an earlier process had begun."""
        future = self._logs.future(partition.tp)
        if future is None or partition.log is None:
            return
        if future.data_folder != partition.log.data_folder:
            self._begin(partition, future)

    def end(self) -> None:
        """The future logs stay, for the next process to go on."""
        for move in self._moves.values():
            move.stop()
        for task in self._tasks.values():
            task.cancel()

    def _begin(self, partition: Partition, future: PartitionLog) -> None:
        tp, going = partition.tp, self._moves.get(partition.tp)
        if going is None or going.future is not future:
            self._moves[tp] = self._waiting[tp] = LogMove(
                self._node, self._config, self._logs, partition=partition, future=future, rate=self._rate
            )
            self._start_next()

    def _start_next(self) -> None:
        wanted = self._config.static.num_replica_alter_log_dirs_threads
        threads = len(self._logs.folders.all) if wanted is None else max(1, wanted)
        while self._waiting and len(self._tasks) < threads:
            tp = next(iter(self._waiting))
            move = self._waiting.pop(tp)
            self._tasks[move] = self._node.spawn(self._run(tp, move), name=f"move {tp}")

    async def _run(self, tp: TopicPartition, move: LogMove) -> None:
        try:
            await self._logs.cleaner.pause(tp)
            await move.run()
        finally:
            self._tasks.pop(move, None)
            if self._moves.get(tp) is move:
                del self._moves[tp]
                self._logs.cleaner.resume(tp)
            self._start_next()
