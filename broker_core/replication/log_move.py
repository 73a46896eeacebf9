"""One replica's way to another data folder of the same broker (KIP-113): copied while it serves, then exchanged.

The future log follows the replica's present log as a follower does its leader, whatever the replica's role is: what is cut there is cut
here, and an interrupted copy first goes back to where both agree. Once it has all, it is flushed and gets the name of a partition's log;
the little that came meanwhile is copied in the same moment in which it takes the present log's place, so nobody notices.

    present   ... serves, is appended to and cut ...│ closed, renamed -delete
    future    copied, flushed │ renamed, copied on ─┤ serves
"""

from __future__ import annotations

import logging

from broker_core.config import ConfigHolder
from broker_core.errors import CorruptData, KafkaError
from broker_core.replication.following.truncation import EpochEnd, cut_for
from broker_core.replication.partition import Partition
from broker_core.replication.quota import Rate
from broker_core.seams import Node
from broker_core.storage.log import PartitionLog
from broker_core.storage.manager import LogManager

log = logging.getLogger(__name__)

CHUNK_BYTES = 256 * 1024
THROTTLED_MS = 100.0
CHUNKS_AT_ONCE = 4
"""What is copied in the moment of the exchange, while nobody else has a turn."""


class LogMove:
    """Carries a future log to its end, once; `rate` is shared by all moves of the broker, `limit` what it may be, in bytes a second."""

    def __init__(
        self, node: Node, config: ConfigHolder, logs: LogManager, *, partition: Partition, future: PartitionLog, rate: Rate
    ) -> None:
        self._node = node
        self._config = config
        self._logs = logs
        self._partition = partition
        self._rate = rate
        self._stopped = False
        self.future = future

    def stop(self) -> None:
        """The move ends at the next step; the future log stays as it is."""
        self._stopped = True

    @property
    def _current(self) -> PartitionLog | None:
        """The log to copy, while there is something to do."""
        current = self._partition.log
        over = self._stopped or self.future.health.closed or current is None or current.health.closed
        return None if over or self._logs.get(self._partition.tp) is not current else current

    async def run(self) -> bool:
        """Whether the replica has moved; tried again after an error, until one of the two logs is gone or the move is stopped."""
        tp = self._partition.tp
        log.info(
            "a replica moves to another data folder", extra={"partition": str(tp), "from": self._from(), "to": self.future.data_folder}
        )
        while self._current is not None:
            try:
                if await self._attempt():
                    log.info("a replica has moved to another data folder", extra={"partition": str(tp), "to": self.future.data_folder})
                    return True
            except (OSError, KafkaError, CorruptData) as error:
                log.warning("a replica's move is held up", extra={"partition": str(tp), "error": str(error)})
                await self._node.clock.sleep(self._config.current.replica_fetch_backoff_ms)
        return False

    def _from(self) -> str | None:
        return None if self._partition.log is None else self._partition.log.data_folder

    async def _attempt(self) -> bool:
        await self._agree()
        await self._catch_up()
        if self._current is None:
            return False
        await self.future.recovery.flush()  # what the present log has on disk must not be unflushed in its place
        await self._catch_up()
        await self._logs.name_future(self.future)
        while (current := self._current) is not None:
            await self._catch_up()
            async with self._partition.turn:
                await self._take_names(current)
                if await self._logs.promote(self.future, ready=self._is_level, switch=self._switch):
                    return True
        return False

    async def _agree(self) -> None:
        """Cuts what an interrupted copy has and the present log does not."""
        future = self.future
        while (current := self._current) is not None:
            current.recovery.take_cut()
            if future.epochs.latest is None:
                at, final = future.high_watermark, True
            else:
                theirs = EpochEnd(*current.epochs.end_offset_for(future.epochs.latest, current.log_end_offset))
                ours = EpochEnd(*future.epochs.end_offset_for(theirs.epoch, future.log_end_offset))
                at, final = cut_for(theirs, ours, future.log_end_offset, future.high_watermark)
            await future.truncate_to(min(at, current.log_end_offset))
            if final:
                return

    async def _catch_up(self) -> None:
        """Until the future log ends where the present one does."""
        while (current := self._current) is not None:
            await self._follow_cuts(current)
            if self._current is not current or self.future.log_end_offset == current.log_end_offset:
                return
            if self._rate.per_second(self._node.clock.monotonic_ms()) > self._limit():
                await self._node.clock.sleep(THROTTLED_MS)
            elif self._copy(current):
                await self._node.clock.sleep(0)
            else:
                await self._node.clock.sleep(self._config.current.replica_fetch_backoff_ms)

    def _limit(self) -> int:
        return self._config.current.replica_alter_log_dirs_io_max_bytes_per_second

    async def _follow_cuts(self, current: PartitionLog) -> None:
        while current.recovery.lowest_cut is not None or current.log_start_offset > self.future.log_end_offset:
            cut = current.recovery.take_cut()
            if cut is not None:
                await self.future.truncate_to(cut)
            if current.log_start_offset > self.future.log_end_offset:
                await self.future.truncate_fully_and_start_at(current.log_start_offset)

    def _copy(self, current: PartitionLog) -> int:
        """The next batches; how many bytes. Without a wait: what was read is what is appended."""
        future = self.future
        found = current.read(future.log_end_offset, CHUNK_BYTES, current.log_end_offset, min_one_batch=True)
        if found.records is None:
            return 0
        data = found.records.file.pread(found.records.position, found.records.length)
        future.append_as_follower(data, self._node.clock.now_ms())
        self._rate.record(len(data), self._node.clock.monotonic_ms())
        future.update_high_watermark(current.high_watermark)
        start = min(current.log_start_offset, future.high_watermark)
        if start > future.log_start_offset:
            future.advance_log_start(start)
        return len(data)

    async def _take_names(self, current: PartitionLog) -> None:
        """The topic's id, and epochs in which nothing was written: both are only in files beside the segments."""
        if self.future.topic_id is None and current.topic_id is not None:
            await self.future.set_topic_id(current.topic_id)
        for epoch, start_offset in current.epochs.entries:
            latest = -1 if self.future.epochs.latest is None else self.future.epochs.latest
            if epoch > latest and start_offset >= self.future.log_end_offset == current.log_end_offset:
                await self.future.side_files.assign_epoch(epoch, start_offset)

    def _is_level(self) -> bool:
        current, future = self._current, self.future
        if current is None:
            return False
        for _ in range(CHUNKS_AT_ONCE):
            if current.recovery.lowest_cut is not None or current.log_start_offset > future.log_end_offset:
                return False
            if future.log_end_offset == current.log_end_offset:
                break
            self._copy(current)
        return future.log_end_offset == current.log_end_offset and future.epochs.latest == current.epochs.latest

    def _switch(self) -> None:
        current, future = self._partition.log, self.future
        assert current is not None
        if current.log_start_offset > future.log_start_offset:
            future.update_high_watermark(current.high_watermark)
            future.advance_log_start(current.log_start_offset)
        self._partition.log = future
