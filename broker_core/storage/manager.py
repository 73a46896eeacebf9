"""All logs of one broker: opened at start, made, deleted, checkpointed, flushed, shortened and compacted in the background."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager

from broker_core.config import ConfigHolder
from broker_core.errors import ErrorCode, KafkaError
from broker_core.model import TopicPartition
from broker_core.seams import Node
from broker_core.storage.cleaning.log_cleaner import LogCleaner
from broker_core.storage.coalesced_action import CoalescedAction
from broker_core.storage.folder import names
from broker_core.storage.folder.data_folder import DataFolder
from broker_core.storage.folder.files import FilePool
from broker_core.storage.folder.headroom import SAMPLE_MS, Headroom, Space
from broker_core.storage.folder.log_dir import HANDLES_AT_FAULT, LogDir, LogDirFailure
from broker_core.storage.folder.removals import Removals
from broker_core.storage.log import PartitionLog
from broker_core.storage.slices import Slices
from broker_core.storage.workbench import Workbench

logger = logging.getLogger(__name__)

FLUSH_CHECK_MS = 5_000
FIRST_RETENTION_CHECK_MS = 30_000
CLOSED_AT_ONCE = 8


class LogManager:
    """The single owner of the data folder's logs (a lock held by the server keeps other processes out)."""

    def __init__(self, node: Node, config: ConfigHolder, broker_id: int, cluster_id: str) -> None:
        self._node = node
        self._config = config
        self._broker_id = broker_id
        self._cluster_id = cluster_id
        self._pool = FilePool(node.disk)
        self._folder = DataFolder(node, config.current.log_dir)
        self.log_dir = LogDir(self._folder.path, node.clock)
        self.log_dir.on_offline = self._abandon
        self.headroom = Headroom()
        node.disk.on_read_error = lambda error: self.log_dir.report("read", error)
        self._logs: dict[TopicPartition, PartitionLog] = {}
        self._high_watermarks: dict[TopicPartition, int] = {}
        self.workbench = Workbench(node, config)
        self._cleaner = LogCleaner(node, config, self.all, self._folder, self.log_dir.report)
        self._tasks: list[asyncio.Task[None]] = []
        self._changing = asyncio.Lock()
        """Around making and deleting a log: both wait for the disk and end with `_logs`, and a folder must not be renamed while it is
        being opened. A lock, for the callers need the outcome, and those of other topics wait no longer than the disk would have them."""
        self._deleting = CoalescedAction(self._forget_retired)
        self._retired: dict[TopicPartition, None] = {}
        """Deleted logs that checkpoints may still have."""
        self._removals = Removals(node, self.log_dir.report)
        self.on_offline: Callable[[LogDirFailure], None] = lambda failure: None
        """Told once when an I/O error has taken the folder, and with it all logs, out of service."""
        self.on_log_start_moved: Callable[[TopicPartition], None] = lambda tp: None
        """Told when retention has moved a log's start; set by whoever serves the logs."""
        self.on_settled: Callable[[TopicPartition], None] = lambda tp: None
        """Told when a flush has made records acknowledgeable; set likewise."""

    # Start and stop

    async def start(self) -> None:
        """Opens every log in the folder and starts the background work; a log that the disk does not give takes the folder offline.

        `ConfigError` when the folder belongs to another broker or cluster, `OSError` when it cannot be used at all.
        """
        await self._folder.claim(self._broker_id, self._cluster_id)
        clean = self._folder.take_clean_mark()
        self._high_watermarks = self._folder.read_checkpoint(names.REPLICATION_CHECKPOINT)
        recovery_points = self._folder.read_checkpoint(names.RECOVERY_POINT_CHECKPOINT)
        log_starts = self._folder.read_checkpoint(names.LOG_START_CHECKPOINT)
        for name in self._node.disk.list_dir(self._folder.path):
            path = f"{self._folder.path}/{name}"
            partition = names.parse_folder(name)
            if name.endswith(names.DELETED_FOLDER) and self._node.disk.is_dir(path):
                self._removals.add(path, 0)
            elif partition is not None and self._node.disk.is_dir(path) and self.log_dir.failure is None:
                await self._open_at_start(partition, recovery_points.get(partition, 0), log_starts.get(partition, 0), clean)
                await self._node.clock.sleep(0)
        if self.log_dir.failure is None:
            logger.info("logs opened", extra={"logs": len(self._logs), "clean": clean})
            self._start_background()

    async def _open_at_start(self, partition: TopicPartition, recovery_point: int, log_start_offset: int, clean: bool) -> None:
        try:
            await self._open(partition, recovery_point, log_start_offset, clean)
        except OSError as error:
            if error.errno in HANDLES_AT_FAULT:
                raise
            self.log_dir.report(f"open of {partition}", error)

    def _start_background(self) -> None:
        config = self._config
        work: list[tuple[str, Callable[[], int], Callable[[], Awaitable[None]], int | None]] = [
            ("retention", lambda: config.current.log_retention_check_interval_ms, self._shorten_all, FIRST_RETENTION_CHECK_MS),
            ("flush", lambda: min(config.current.log_flush_scheduler_interval_ms, FLUSH_CHECK_MS), self._flush_due, None),
            (
                "high watermarks",
                lambda: config.current.replica_high_watermark_checkpoint_interval_ms,
                self.checkpoint_high_watermarks,
                None,
            ),
            ("recovery points", lambda: config.current.log_flush_offset_checkpoint_interval_ms, self.checkpoint_recovery_points, None),
            ("log starts", lambda: config.current.log_flush_start_offset_checkpoint_interval_ms, self.checkpoint_log_starts, None),
            ("headroom", lambda: SAMPLE_MS, self._measure, 0),
        ]
        if config.current.log_cleaner_enable:
            work.append(("cleaner", lambda: config.current.log_cleaner_backoff_ms, self._cleaner.clean_all, None))
        for name, interval_ms, action, first_ms in work:
            self._tasks.append(self._node.spawn(self._repeat(name, interval_ms, action, first_ms), name=name))

    async def _repeat(self, name: str, interval_ms: Callable[[], int], action: Callable[[], Awaitable[None]], first_ms: int | None) -> None:
        """Does something again and again, until the disk refuses."""
        await self._node.clock.sleep(interval_ms() if first_ms is None else min(first_ms, interval_ms()))
        while True:
            try:
                await action()
            except (OSError, KafkaError) as error:
                logger.error("background work failed", extra={"work": name, "error": str(error)})
                self._report(name, error)
            await self._node.clock.sleep(interval_ms())

    def _report(self, what: str, error: OSError | KafkaError) -> None:
        """Logs have reported what they raise as `KafkaError`; this is for the folder's own files."""
        if isinstance(error, OSError):
            self.log_dir.report(what, error)

    def _abandon(self, failure: LogDirFailure) -> None:
        """The folder is offline: nothing of it is written or read any more, until the next process checks it."""
        for task in self._tasks:
            task.cancel()
        for log in self._logs.values():
            log.abandon()
        self._logs = {}
        self._folder.abandoned = True
        self._pool.close()
        self.on_offline(failure)

    async def shutdown(self, clean: bool = True, broker_epoch: int = -1) -> None:
        """Closes all logs; only when every one closed clean does the next start trust them unchecked."""
        for task in self._tasks:
            task.cancel()
        waiting = self.all()
        closers = [self._node.spawn(self._close_each(waiting, clean), name=f"close logs {number}") for number in range(CLOSED_AT_ONCE)]
        all_well = True
        for closer in closers:
            all_well = await closer and all_well
        if clean and self.log_dir.failure is None:
            try:
                await self.checkpoint_all()
                if all_well:  # and last of all: a start that finds the mark checks nothing
                    await self._folder.leave_clean_mark(broker_epoch)
            except OSError as error:
                logger.error("the data folder is not left clean", extra={"error": str(error)})
        self._pool.close()

    async def _close_each(self, waiting: list[PartitionLog], clean: bool) -> bool:
        """Closes logs from the list until there are none; whether all of them closed well."""
        all_well = True
        while waiting:
            log = waiting.pop(0)
            try:
                await log.close(clean)
            except (OSError, KafkaError) as error:
                logger.error("log did not close clean", extra={"partition": str(log.topic_partition), "error": str(error)})
                all_well = False
            all_well = all_well and log.health.failure is None
        return all_well

    # Logs

    def get(self, partition: TopicPartition) -> PartitionLog | None:
        return self._logs.get(partition)

    def all(self) -> list[PartitionLog]:
        return [self._logs[partition] for partition in sorted(self._logs)]

    def checkpointed_hw(self, partition: TopicPartition) -> int:
        """The high watermark as the last process left it; 0 for a log it did not have."""
        return self._high_watermarks.get(partition, 0)

    async def get_or_create(self, partition: TopicPartition, topic_id: uuid.UUID | None = None) -> PartitionLog:
        """The partition's log, made where it is missing.

        `KafkaError`: KAFKA_STORAGE_ERROR when the disk refuses, INCONSISTENT_TOPIC_ID when the log is another topic's.
        """
        async with self._changing:
            self.log_dir.check()
            try:
                log = self._logs.get(partition) or await self._create(partition)
            except OSError as error:
                raise self._refused(f"making the log of {partition}", error) from error
        if topic_id is not None:
            try:
                await log.set_topic_id(topic_id)
            except OSError as error:
                raise self._refused(f"naming the topic of {partition}", error) from error
        self.log_dir.check()
        return log

    def _refused(self, what: str, error: OSError) -> KafkaError:
        self.log_dir.report(what, error)
        return KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"{what} failed: {error}")

    async def _create(self, partition: TopicPartition) -> PartitionLog:
        self._high_watermarks.pop(partition, None)
        return await self._open(partition, 0, 0, clean=False)

    async def _open(self, partition: TopicPartition, recovery_point: int, log_start_offset: int, clean: bool) -> PartitionLog:
        log = await PartitionLog.open(
            self._node,
            f"{self._folder.path}/{names.folder_name(partition)}",
            partition,
            lambda: self._config.topic(partition.topic),
            recovery_point=recovery_point,
            log_start_offset=log_start_offset,
            clean=clean,
            pool=self._pool,
        )
        log.update_high_watermark(self.checkpointed_hw(partition))
        log.health.on_io_error = self.log_dir.report
        log.recovery.on_save = lambda: self._save_recovery_point(log)
        log.recovery.on_settled = lambda: self.on_settled(partition)
        if self.log_dir.failure is None:
            self._logs[partition] = log
        return log

    async def delete(self, partition: TopicPartition) -> None:
        """Takes a log out of service at once and removes its files later (file.delete.delay.ms). When it returns, no checkpoint
        has the log any more. `KafkaError` KAFKA_STORAGE_ERROR while the data folder is offline: the log would come back."""
        async with self.deletions():
            await self.retire(partition)

    def deletions(self) -> AbstractAsyncContextManager[None]:
        """Around the retirement of one log or of many: the checkpoints are written once, at the end. `OSError` when the disk refuses."""
        return self._deleting.before_action()

    async def retire(self, partition: TopicPartition) -> None:
        """The deletion itself, see `delete`."""
        async with self._changing:
            self.log_dir.check()
            log = self._logs.pop(partition, None)
            if log is None:
                return
            await log.close(clean=False)
            folder = f"{self._folder.path}/{names.deleted_folder_name(partition, self._node.entropy.bytes(16))}"
            try:
                # This is the deletion: after a crash before it the log is there as before, after it a start removes the folder.
                self._node.disk.rename(log.directory, folder)
            except OSError as error:
                raise self._refused(f"deletion of {partition}", error) from error
            self._high_watermarks.pop(partition, None)
            self._retired[partition] = None
            self._removals.add(folder, log.config.file_delete_delay_ms)

    async def _forget_retired(self) -> None:
        """Takes the logs retired since out of the checkpoints; of all others there is nothing new to write.

        Before the deletion is answered: a topic made anew under the name, and a crash after that, would otherwise find its logs
        trusted up to the recovery points of the old ones.
        """
        retired = list(self._retired)
        try:
            for name in (names.RECOVERY_POINT_CHECKPOINT, names.LOG_START_CHECKPOINT, names.REPLICATION_CHECKPOINT):
                await self._folder.forget(name, self._retired)
            await self._cleaner.forget(retired)
        except OSError as error:
            self.log_dir.report("checkpoints", error)
            raise
        for partition in retired:
            self._retired.pop(partition, None)

    # Background work

    async def checkpoint_all(self) -> None:
        """Writes every checkpoint that has changed; `OSError` when the disk refuses."""
        try:
            await self.checkpoint_recovery_points()
            await self.checkpoint_log_starts()
            await self.checkpoint_high_watermarks()
            await self._cleaner.checkpoint()
        except OSError as error:
            self.log_dir.report("checkpoints", error)
            raise

    def checkpointed(self, partition: TopicPartition) -> tuple[int | None, int | None, int | None]:
        """Recovery point, high watermark and log start of a log as they are on disk; None where a file does not name it."""
        of = self._folder.written
        return (
            of(names.RECOVERY_POINT_CHECKPOINT, partition),
            of(names.REPLICATION_CHECKPOINT, partition),
            of(names.LOG_START_CHECKPOINT, partition),
        )

    async def checkpoint_recovery_points(self) -> None:
        await self._write(names.RECOVERY_POINT_CHECKPOINT, lambda log: log.recovery.point)

    async def _save_recovery_point(self, log: PartitionLog) -> None:
        await self._cleaner.forget_beyond(log)
        await self.checkpoint_recovery_points()

    async def checkpoint_log_starts(self) -> None:
        def moved() -> Iterator[tuple[TopicPartition, int]]:
            logs = (log for log in list(self._logs.values()) if log.log_start_offset > log.segments[0].base_offset)
            return ((log.topic_partition, log.log_start_offset) for log in logs)

        await self._folder.write_checkpoint(names.LOG_START_CHECKPOINT, moved)

    async def checkpoint_high_watermarks(self) -> None:
        await self._write(names.REPLICATION_CHECKPOINT, lambda log: log.high_watermark)

    async def _write(self, name: str, offset: Callable[[PartitionLog], int]) -> None:
        await self._folder.write_checkpoint(name, lambda: ((log.topic_partition, offset(log)) for log in list(self._logs.values())))

    async def _shorten_all(self) -> None:
        """Retention, and producers that have been silent for too long; one log's error does not keep the others from it."""
        for log in self.all():
            now_ms, start = self._node.clock.now_ms(), log.log_start_offset
            log.producer_state.expire(now_ms, self._config.current.producer_id_expiration_ms)
            try:
                await log.delete_expired(now_ms)
            except (OSError, KafkaError) as error:
                logger.error("retention failed", extra={"partition": str(log.topic_partition), "error": str(error)})
                self._report(f"retention of {log.topic_partition}", error)
            if log.log_start_offset != start:
                self.on_log_start_moved(log.topic_partition)
            await self._node.clock.sleep(0)

    async def _measure(self) -> None:
        self.headroom.add(self._node.clock.monotonic_ms(), Space(*await self._node.disk.space(self._folder.path)))

    async def _flush_due(self) -> None:
        """Flushes logs whose `flush.ms` is over, and brings back logs that were left half-cut for want of file handles."""
        now_ms, slices = self._node.clock.now_ms(), Slices(self._node)
        for log in self.all():
            await slices.breathe()
            try:
                await log.look_after(now_ms)
            except (OSError, KafkaError) as error:
                logger.error("flush failed", extra={"partition": str(log.topic_partition), "error": str(error)})
                self._report(f"flush of {log.topic_partition}", error)
