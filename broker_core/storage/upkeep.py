"""What is done to a broker's logs by the clock: shortened, flushed, checkpointed, compacted; and how much room their disks have.

Each data folder's part fails by itself: an error takes its folder offline, and the others have their turn all the same.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from broker_core.config import ConfigHolder
from broker_core.errors import KafkaError
from broker_core.model import TopicPartition
from broker_core.seams import Node
from broker_core.storage.checkpointing import NAMES, Checkpointing
from broker_core.storage.cleaning.log_cleaner import LogCleaner
from broker_core.storage.folder.data_folder import DataFolder
from broker_core.storage.folder.data_folders import DataFolders
from broker_core.storage.folder.headroom import SAMPLE_MS, Space
from broker_core.storage.placing import Placing
from broker_core.storage.slices import Slices

logger = logging.getLogger(__name__)

FLUSH_CHECK_MS = 5_000
FIRST_RETENTION_CHECK_MS = 30_000


class Upkeep:
    """`on_log_start_moved` is told when retention has moved a log's start; set by whoever serves the logs."""

    def __init__(
        self, node: Node, config: ConfigHolder, *, folders: DataFolders, placing: Placing, checkpoints: Checkpointing, cleaner: LogCleaner
    ) -> None:
        self._node = node
        self._config = config
        self._folders = folders
        self._placing = placing
        self._checkpoints = checkpoints
        self._cleaner = cleaner
        self._tasks: list[asyncio.Task[None]] = []
        self.on_log_start_moved: Callable[[TopicPartition], None] = lambda tp: None

    def start(self) -> None:
        config, checkpoints = self._config, self._checkpoints
        for folder in self._folders.online:
            folder.current_ms = dict.fromkeys(NAMES, self._node.clock.monotonic_ms())
        work: list[tuple[str, Callable[[], int], Callable[[], Awaitable[None]], int | None]] = [
            ("retention", lambda: config.current.log_retention_check_interval_ms, self._shorten_all, FIRST_RETENTION_CHECK_MS),
            ("flush", lambda: min(config.current.log_flush_scheduler_interval_ms, FLUSH_CHECK_MS), self._flush_due, None),
            (
                "high watermarks",
                lambda: config.current.replica_high_watermark_checkpoint_interval_ms,
                self._of_each("high watermarks", checkpoints.high_watermarks),
                None,
            ),
            (
                "recovery points",
                lambda: config.current.log_flush_offset_checkpoint_interval_ms,
                self._of_each("recovery points", checkpoints.recovery_points),
                None,
            ),
            (
                "log starts",
                lambda: config.current.log_flush_start_offset_checkpoint_interval_ms,
                self._of_each("log starts", checkpoints.log_starts),
                None,
            ),
            ("headroom", lambda: SAMPLE_MS, self._of_each("headroom", self._measure), 0),
        ]
        if config.current.log_cleaner_enable:
            work.append(("cleaner", lambda: config.current.log_cleaner_backoff_ms, self._cleaner.clean_all, None))
        for name, interval_ms, action, first_ms in work:
            self._tasks.append(self._node.spawn(self._repeat(name, interval_ms, action, first_ms), name=name))

    def stop(self) -> None:
        for task in self._tasks:
            task.cancel()

    def checkpoints_late_s(self, folder: DataFolder) -> int | None:
        """See `feed.LogDir`; None before the upkeep began."""
        current, now_ms = self._config.current, self._node.clock.monotonic_ms()
        intervals_ms = (
            current.log_flush_offset_checkpoint_interval_ms,
            current.log_flush_start_offset_checkpoint_interval_ms,
            current.replica_high_watermark_checkpoint_interval_ms,
        )
        late_ms = [
            now_ms - folder.current_ms[name] - interval_ms
            for name, interval_ms in zip(NAMES, intervals_ms, strict=True)
            if name in folder.current_ms
        ]
        return max(0, round(max(late_ms) / 1000)) if late_ms else None

    async def checkpoint(self, folder: DataFolder) -> None:
        """Writes every checkpoint of a folder that has changed; `OSError` when the disk refuses, which takes it offline."""
        try:
            await self._checkpoints.recovery_points(folder)
            await self._checkpoints.log_starts(folder)
            await self._checkpoints.high_watermarks(folder)
            await self._cleaner.checkpoint(folder)
        except OSError as error:
            folder.state.report_own("checkpoints", error)
            raise

    async def _repeat(self, name: str, interval_ms: Callable[[], int], action: Callable[[], Awaitable[None]], first_ms: int | None) -> None:
        """Does something again and again, until no disk takes anything any more."""
        await self._node.clock.sleep(interval_ms() if first_ms is None else min(first_ms, interval_ms()))
        while True:
            try:
                await action()
            except (OSError, KafkaError) as error:
                logger.error("background work failed", extra={"work": name, "error": str(error)})
            await self._node.clock.sleep(interval_ms())

    def _of_each(self, name: str, action: Callable[[DataFolder], Awaitable[None]]) -> Callable[[], Awaitable[None]]:
        async def run() -> None:
            for folder in self._folders.online:
                try:
                    await action(folder)
                except OSError as error:
                    logger.error("background work failed", extra={"work": name, "folder": folder.path, "error": str(error)})
                    folder.state.report_own(name, error)

        return run

    async def _measure(self, folder: DataFolder) -> None:
        folder.headroom.add(self._node.clock.monotonic_ms(), Space(*await self._node.disk.space(folder.path)))

    async def _shorten_all(self) -> None:
        """Retention, and producers that have been silent for too long; one log's error does not keep the others from it."""
        current = self._placing.current
        for log in [current[partition] for partition in sorted(current)]:
            now_ms, start = self._node.clock.now_ms(), log.log_start_offset
            log.producer_state.expire(now_ms, self._config.current.producer_id_expiration_ms)
            try:
                await log.delete_expired(now_ms)
            except (OSError, KafkaError) as error:
                logger.error("retention failed", extra={"partition": str(log.topic_partition), "error": str(error)})
                if isinstance(error, OSError) and not log.health.closed:
                    log.health.on_io_error(f"retention of {log.topic_partition}", error)
            if log.log_start_offset != start:
                self.on_log_start_moved(log.topic_partition)
            await self._node.clock.sleep(0)

    async def _flush_due(self) -> None:
        """Flushes logs whose `flush.ms` is over, and brings back logs that were left half-cut for want of file handles."""
        now_ms, slices = self._node.clock.now_ms(), Slices(self._node)
        for log in list(self._placing.every()):
            await slices.breathe()
            try:
                await log.look_after(now_ms)
            except (OSError, KafkaError) as error:
                logger.error("flush failed", extra={"partition": str(log.topic_partition), "error": str(error)})
                if isinstance(error, OSError) and not log.health.closed:
                    log.health.on_io_error(f"flush of {log.topic_partition}", error)
