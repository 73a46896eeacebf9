"""All logs of one broker: opened at start, made, deleted, moved between data folders, closed; `upkeep` works in the background."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager

from broker_core.config import ConfigHolder
from broker_core.errors import ErrorCode, KafkaError
from broker_core.model import TopicPartition
from broker_core.seams import Node
from broker_core.storage.checkpointing import NAMES, Checkpointing
from broker_core.storage.cleaning.log_cleaner import LogCleaner
from broker_core.storage.coalesced_action import CoalescedAction
from broker_core.storage.folder import names
from broker_core.storage.folder.data_folder import DataFolder
from broker_core.storage.folder.data_folders import DataFolders
from broker_core.storage.folder.files import FilePool
from broker_core.storage.folder.log_dir import HANDLES_AT_FAULT, LogDirFailure
from broker_core.storage.folder.removals import Removals
from broker_core.storage.log import PartitionLog
from broker_core.storage.placing import Placing
from broker_core.storage.upkeep import Upkeep
from broker_core.storage.workbench import Workbench

logger = logging.getLogger(__name__)

CLOSED_AT_ONCE = 8
NOTHING_UNUSABLE: Mapping[str, OSError] = {}


class LogManager:
    """The single owner of the data folders' logs (a lock on each, held by the server, keeps other processes out).

    `unusable`: the folders that could not be locked, and why.
    """

    def __init__(
        self, node: Node, config: ConfigHolder, broker_id: int, cluster_id: str, unusable: Mapping[str, OSError] = NOTHING_UNUSABLE
    ) -> None:
        self._node = node
        self._config = config
        self._broker_id = broker_id
        self._cluster_id = cluster_id
        self._pool = FilePool(node.disk)
        self.folders = DataFolders(node, config.current.log_dirs, unusable)
        node.disk.on_read_error = self._read_failed
        self.placing = Placing()
        self._high_watermarks: dict[str, dict[TopicPartition, int]] = {}
        """Those that the last process left, by data folder."""
        self.workbench = Workbench(node, config)
        self.cleaner = LogCleaner(node, config, self.all, self.folders.all)
        self.checkpoints = Checkpointing(self.placing)
        self.upkeep = Upkeep(node, config, folders=self.folders, placing=self.placing, checkpoints=self.checkpoints, cleaner=self.cleaner)
        self._changing = asyncio.Lock()
        """Around making, deleting and exchanging a log: all wait for the disk and end with `placing`, and a folder must not be renamed
        while it is being opened. A lock, for the callers need the outcome, and others wait no longer than the disk would have them."""
        self._deleting = CoalescedAction(self._forget_retired)
        self._retired: dict[str, dict[TopicPartition, None]] = {}
        """Logs that are gone from a data folder and that its checkpoints may still have."""
        self._removals = Removals(node, lambda folder, error: self.folders.of(folder).state.report(f"removal of {folder}", error))
        self.on_offline: Callable[[LogDirFailure], None] = lambda failure: None
        """Told when an I/O error has taken a folder, and with it all logs in it, out of service; once for each folder."""
        self.on_settled: Callable[[TopicPartition], None] = lambda tp: None
        """Told when a flush has made records acknowledgeable."""
        for folder in self.folders.all:
            folder.state.on_offline = self._abandons(folder)

    # Start and stop

    async def start(self) -> None:
        """Opens every log in the folders and starts the background work; a log that the disk does not give takes its folder offline.

        `ConfigError` when a folder belongs to another broker or cluster, `OSError` when none can be used at all.
        """
        await self.folders.claim(self._broker_id, self._cluster_id)
        for folder in self.folders.online:
            with self.folders.usable(folder, "start"):
                await self._open_all(folder)
        if self.folders.online:
            self.upkeep.start()

    async def _open_all(self, folder: DataFolder) -> None:
        clean = folder.take_clean_mark()
        recovery_points, log_starts, self._high_watermarks[folder.path] = (folder.read_checkpoint(name) for name in NAMES)
        for name in self._node.disk.list_dir(folder.path):
            path = f"{folder.path}/{name}"
            if folder.abandoned or not self._node.disk.is_dir(path):
                continue
            current, future = names.parse_folder(name), names.parse_future_folder(name)
            partition = current or future
            if name.endswith(names.DELETED_FOLDER):
                self._removals.add(path, 0)
            elif partition is not None:
                point, start = recovery_points.get(partition, 0), log_starts.get(partition, 0)
                await self._open_at_start(folder, path, partition, recovery_point=point, log_start_offset=start, clean=clean)
                await self._node.clock.sleep(0)
        if not folder.abandoned:
            logger.info("logs opened", extra={"folder": folder.path, "logs": self.placing.count(folder.path), "clean": clean})

    async def _open_at_start(
        self, folder: DataFolder, path: str, partition: TopicPartition, *, recovery_point: int, log_start_offset: int, clean: bool
    ) -> None:
        future = names.parse_folder(path.rpartition("/")[2]) is None
        twin = (self.placing.future if future else self.placing.current).get(partition)
        try:
            log = await self._open(folder, path, partition, recovery_point=recovery_point, log_start_offset=log_start_offset, clean=clean)
        except OSError as error:
            if error.errno in HANDLES_AT_FAULT:
                raise
            folder.state.report(f"open of {partition}", error)
            return
        if twin is None:
            self._place(log, future=future)
        else:
            await self._keep_one(twin, log, future=future)

    async def _keep_one(self, twin: PartitionLog, log: PartitionLog, *, future: bool) -> None:
        """A crash came after a moved log had taken the place of the old one, and before that was renamed: what has more is the moved one.

        With as much as the other has either may stay. Apache Kafka asks for the deletion of one by hand.
        """
        kept, gone = (log, twin) if _reach(log) >= _reach(twin) else (twin, log)
        logger.warning(
            "a partition has two logs", extra={"partition": str(log.topic_partition), "kept": kept.directory, "gone": gone.directory}
        )
        self.placing.drop(twin)
        self._place(kept, future=future)
        await gone.close(clean=False)
        try:
            self._remove_later(gone)
        except OSError as error:
            self.folders.of(gone.directory).state.report(f"deletion of {gone.topic_partition}", error)

    def _read_failed(self, error: OSError) -> None:
        self.folders.of(str(error.filename)).state.report("read", error)

    def _abandons(self, folder: DataFolder) -> Callable[[LogDirFailure], None]:
        return lambda failure: self._abandon(folder, failure)

    def _abandon(self, folder: DataFolder, failure: LogDirFailure) -> None:
        """The folder is offline: nothing of it is written or read any more, until the next process checks it."""
        folder.lost = self.placing.count(folder.path)
        for log in self.placing.inside(folder.path):
            log.abandon()
            self.placing.drop(log)
        self._pool.forget_below(folder.path)
        if not self.folders.online:
            self.upkeep.stop()
            self._pool.close()
        self.on_offline(failure)

    async def shutdown(self, clean: bool = True, broker_epoch: int = -1) -> None:
        """Closes all logs; only a folder whose logs all closed clean is trusted unchecked by the next start."""
        self.upkeep.stop()
        waiting, unclean = list(self.placing.every()), dict[str, None]()
        closers = [
            self._node.spawn(self._close_each(waiting, unclean, clean), name=f"close logs {number}") for number in range(CLOSED_AT_ONCE)
        ]
        for closer in closers:
            await closer
        for folder in self.folders.online if clean else ():
            try:
                await self.upkeep.checkpoint(folder)
                if folder.path not in unclean:  # and last of all: a start that finds the mark checks nothing
                    await folder.leave_clean_mark(broker_epoch)
            except OSError as error:
                logger.error("the data folder is not left clean", extra={"folder": folder.path, "error": str(error)})
        self._pool.close()

    async def _close_each(self, waiting: list[PartitionLog], unclean: dict[str, None], clean: bool) -> None:
        """Closes logs from the list until there are none; notes the data folders of those that did not close well."""
        while waiting:
            log = waiting.pop(0)
            try:
                await log.close(clean)
            except (OSError, KafkaError) as error:
                logger.error("log did not close clean", extra={"partition": str(log.topic_partition), "error": str(error)})
                unclean[log.data_folder] = None
            if log.health.failure is not None:
                unclean[log.data_folder] = None

    # Logs

    def get(self, partition: TopicPartition) -> PartitionLog | None:
        return self.placing.current.get(partition)

    def future(self, partition: TopicPartition) -> PartitionLog | None:
        """The log that is to take the place of the partition's in another data folder."""
        return self.placing.future.get(partition)

    def all(self) -> list[PartitionLog]:
        current = self.placing.current
        return [current[partition] for partition in sorted(current)]

    def checkpointed(self, log: PartitionLog) -> tuple[int | None, int | None, int | None]:
        """Recovery point, high watermark and log start of a log as they are on disk; None where a file does not name it."""
        return self.checkpoints.on_disk(self.folders.of(log.directory), log.topic_partition)

    def is_lost(self, log: PartitionLog) -> bool:
        """Whether the log's data folder is offline."""
        return self.folders.of(log.directory).abandoned

    async def get_or_create(self, partition: TopicPartition, topic_id: uuid.UUID | None = None, *, is_new: bool = True) -> PartitionLog:
        """The partition's log, made where it is missing.

        `KafkaError`: KAFKA_STORAGE_ERROR when the disk refuses, also for a replica that is not new while one of the folders is offline,
        for its log may be there; INCONSISTENT_TOPIC_ID when the log is another topic's.
        """
        async with self._changing:
            log = self.placing.current.get(partition) or await self._create(partition, is_new=is_new)
        await self._name_topic(log, topic_id)
        return log

    async def _name_topic(self, log: PartitionLog, topic_id: uuid.UUID | None) -> None:
        state = self.folders.of(log.directory).state
        if topic_id is not None:
            try:
                await log.set_topic_id(topic_id)
            except OSError as error:
                raise self._refused(log.directory, f"naming the topic of {log.topic_partition}", error) from error
        state.check()

    def _refused(self, path: str, what: str, error: OSError) -> KafkaError:
        self.folders.of(path).state.report(what, error)
        return KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"{what} failed: {error}")

    async def _create(self, partition: TopicPartition, *, is_new: bool) -> PartitionLog:
        """In the folder that was asked for, else in the one with the fewest logs; the next one where the disk refuses."""
        what = f"making the log of {partition}"
        if not is_new:
            self.folders.check_all(what)
        preferred = self.placing.preferred(partition)
        chosen = self.folders.named(preferred) if preferred is not None else None
        for folder in self.folders.by_need(lambda each: self.placing.count(each.path)) if chosen is None else (chosen,):
            folder.state.check()
            try:
                log = await self._make(folder, partition, f"{folder.path}/{names.folder_name(partition)}")
            except OSError as error:
                refused = self._refused(f"{folder.path}/", what, error)
                if not folder.abandoned:
                    raise refused from error
                continue
            folder.state.check()
            self._place(log, future=False)
            self.placing.satisfied(partition)
            return log
        raise refused

    async def _make(self, folder: DataFolder, partition: TopicPartition, path: str) -> PartitionLog:
        self._high_watermarks.get(folder.path, {}).pop(partition, None)
        return await self._open(folder, path, partition, recovery_point=0, log_start_offset=0, clean=False)

    async def _open(
        self, folder: DataFolder, path: str, partition: TopicPartition, *, recovery_point: int, log_start_offset: int, clean: bool
    ) -> PartitionLog:
        log = await PartitionLog.open(
            self._node,
            path,
            partition,
            lambda: self._config.topic(partition.topic),
            recovery_point=recovery_point,
            log_start_offset=log_start_offset,
            clean=clean,
            pool=self._pool,
        )
        log.update_high_watermark(self._high_watermarks.get(folder.path, {}).get(partition, 0))
        log.health.on_io_error = folder.state.report
        log.recovery.on_save = lambda: self._save_recovery_point(folder, log)
        log.recovery.on_settled = lambda: self.on_settled(partition)
        return log

    def _place(self, log: PartitionLog, *, future: bool) -> None:
        if not self.is_lost(log):
            self.placing.put(log, future=future)

    async def _save_recovery_point(self, folder: DataFolder, log: PartitionLog) -> None:
        if self.placing.current.get(log.topic_partition) is log:
            await self.cleaner.forget_beyond(log)
        await self.checkpoints.recovery_points(folder)

    async def delete(self, partition: TopicPartition) -> None:
        """Takes a log out of service at once and removes its files later (file.delete.delay.ms). When it returns, no checkpoint
        has the log any more. `KafkaError` KAFKA_STORAGE_ERROR where it may lie in an offline data folder: the log would come back."""
        async with self.deletions():
            await self.retire(partition)

    def deletions(self) -> AbstractAsyncContextManager[None]:
        """Around the retirement of one log or of many: the checkpoints are written once, at the end. `OSError` when the disk refuses."""
        return self._deleting.before_action()

    async def retire(self, partition: TopicPartition) -> None:
        """The deletion itself, see `delete`; of the future log as well."""
        async with self._changing:
            if partition not in self.placing.current:
                self.folders.check_all(f"deletion of {partition}")
            for log in (self.placing.future.get(partition), self.placing.current.get(partition)):
                if log is not None:
                    await self._retire(log)

    async def _retire(self, log: PartitionLog) -> None:
        self.placing.drop(log)
        await log.close(clean=False)
        try:
            # This is the deletion: after a crash before it the log is there as before, after it a start removes the folder.
            self._remove_later(log)
        except OSError as error:
            raise self._refused(log.directory, f"deletion of {log.topic_partition}", error) from error

    def _remove_later(self, log: PartitionLog) -> None:
        partition, folder = log.topic_partition, self.folders.of(log.directory)
        log.move_to(f"{folder.path}/{names.deleted_folder_name(partition, self._node.entropy.bytes(16))}")
        self._high_watermarks.get(folder.path, {}).pop(partition, None)
        self._retired.setdefault(folder.path, {})[partition] = None
        self._removals.add(log.directory, log.config.file_delete_delay_ms)

    async def _forget_retired(self) -> None:
        """Takes the logs retired since out of the checkpoints; of all others there is nothing new to write.

        Before the deletion is answered: a topic made anew under the name, and a crash after that, would otherwise find its logs
        trusted up to the recovery points of the old ones.
        """
        for folder in self.folders.online:
            gone = self._retired.setdefault(folder.path, {})
            retired = list(gone)
            try:
                for name in NAMES:
                    await folder.forget(name, gone)
                await self.cleaner.forget(retired, folder)
            except OSError as error:
                folder.state.report_own("checkpoints", error)
                raise
            for partition in retired:
                gone.pop(partition, None)

    # Moves between data folders

    async def create_future(self, partition: TopicPartition, folder: DataFolder, topic_id: uuid.UUID | None) -> PartitionLog:
        """An empty log in the folder, to be filled and put in the place of the partition's.

        `KafkaError` KAFKA_STORAGE_ERROR when the disk refuses or any folder is offline: one in there may hold such a log already.
        """
        what = f"making the future log of {partition}"
        async with self._changing:
            self.folders.check_all(what)
            there = self.placing.future.get(partition)
            if there is not None:
                return there
            path = f"{folder.path}/{names.future_folder_name(partition, self._node.entropy.bytes(16))}"
            try:
                log = await self._make(folder, partition, path)
            except OSError as error:
                raise self._refused(path, what, error) from error
            folder.state.check()
            self._place(log, future=True)
            self.placing.satisfied(partition)
        await self._name_topic(log, topic_id)
        return log

    async def drop_future(self, log: PartitionLog) -> None:
        """The replica stays where it is. `KafkaError` KAFKA_STORAGE_ERROR when the disk refuses."""
        async with self.deletions(), self._changing:
            if self.placing.future.get(log.topic_partition) is log:
                await self._retire(log)

    async def name_future(self, future: PartitionLog) -> None:
        """Gives a future log the name of a partition's log, for good, before the old one loses its: a crash in between leaves two logs, of
        which a start keeps one. `KafkaError` KAFKA_STORAGE_ERROR when the disk refuses."""
        tp, folder = future.topic_partition, self.folders.of(future.directory)
        async with self._changing, future.side_files.still():
            try:
                if self.placing.future.get(tp) is future:
                    future.move_to(f"{folder.path}/{names.folder_name(tp)}")
                    await self._node.disk.sync_folder(folder.path)
            except OSError as error:
                raise self._refused(future.directory, f"exchange of {tp}", error) from error

    async def promote(self, future: PartitionLog, *, ready: Callable[[], bool], switch: Callable[[], None]) -> bool:
        """Puts a named future log in the place of the partition's if it is `ready`, which is asked and done in one go; `switch` has the
        partition use it. False when it is not.

        The old log keeps its name until the new one has all on disk: of what is acknowledged some may be flushed in the old one alone. A
        disk that refuses anything of that is offline, but the exchange is done.
        """
        tp = future.topic_partition
        async with self.deletions(), self._changing:
            current = self.placing.current.get(tp)
            if current is None or self.placing.future.get(tp) is not future:
                return False
            async with current.side_files.still(), future.side_files.still():
                if not ready():
                    return False
                future.update_high_watermark(current.high_watermark)
                future.recovery.take_over(current.recovery)
                self.placing.promote(future)
                current.successor = future
                switch()
                await current.close(clean=False)  # waits for nothing
            try:
                await future.recovery.flush()
                async with current.side_files.still():
                    self._remove_later(current)
            except KafkaError as error:
                logger.error("a moved log cannot be flushed", extra={"partition": str(tp), "error": str(error)})
            except OSError as error:
                self.folders.of(current.directory).state.report(f"deletion of {tp}", error)
        return True


def _reach(log: PartitionLog) -> tuple[int, int]:
    return (-1 if log.epochs.latest is None else log.epochs.latest), log.log_end_offset
