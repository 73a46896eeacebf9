"""One partition's log and its disk: what is flushed, what a failed disk means, how the log comes back and closes.

A failed write leaves the log as it was, and closes it for appends (KAFKA-10778): an I/O error is reported to the owner, who
takes the whole data folder offline (log_dir.py). Only where file handles ran out nothing is wrong with the disk: what failed
is tried again, and a log that was left half-cut is open again once `recover` has checked its unflushed segments.
"""

from __future__ import annotations

import logging

from broker_core.errors import ErrorCode, KafkaError
from broker_core.storage.held_records import HeldRecords
from broker_core.storage.log_dir import HANDLES_AT_FAULT
from broker_core.storage.readable_log import ReadableLog
from broker_core.storage.recovery import rebuild_producers, recover_segment

logger = logging.getLogger(__name__)


class DurableLog(ReadableLog):
    """Records below the recovery point survive a power loss."""

    __slots__ = ()

    async def flush(self, up_to: int | None = None) -> None:
        """Makes all records below `up_to` (the log's end) survive a power loss and moves the recovery point there."""
        if not self.closed:
            await self._flush(self.log_end_offset if up_to is None else min(up_to, self.log_end_offset))

    async def _flush(self, target: int) -> None:
        if target <= self.recovery_point:
            return
        truncations, was_closed = self.truncations, self.closed
        try:
            await self._side_files.write()
            await self._store.sync(self.recovery_point, target)
        except OSError as error:
            if self.closed and not was_closed:
                return
            raise self._failed(error, "flush") from error
        if truncations == self.truncations:
            self.recovery_point = max(self.recovery_point, target)
            self.last_flush_ms = self._node.clock.now_ms()
            self._release_held()

    async def settle(self, end_offset: int) -> None:
        """Returns once everything below `end_offset` is as durable as `flush.messages` asks: only then may it be acknowledged.

        `KafkaError` KAFKA_STORAGE_ERROR when the flush fails, NOT_LEADER_OR_FOLLOWER when the records were cut off meanwhile.
        """
        if self._held is None or end_offset <= self._held.first:
            return
        self._check_writable()
        self._flush_held()
        await self._held.wait(end_offset)

    def _hold(self, first_offset: int, flush_messages: int) -> None:
        """After an append at `first_offset`: flushes once that many records are unflushed and in no flush that was asked for."""
        held = self._held
        covered = self.recovery_point if held is None else max(self.recovery_point, held.due)
        if self.log_end_offset - covered < flush_messages:
            return
        if held is None:
            self._held = HeldRecords(first_offset, self.log_end_offset)
        else:
            held.due = self.log_end_offset
        self._flush_held()

    def _flush_held(self) -> None:
        """Starts to flush what is held unless that is under way: one flush at a time takes along what came since the last began."""
        if self._held is not None and not self._held.flushing:
            self._held.flushing = True
            self._node.spawn(self._keep_flushing(self._held), name=f"flush {self.topic_partition}")

    async def _keep_flushing(self, held: HeldRecords) -> None:
        try:
            while self._held is held and not self.closed:
                await self._flush(self.log_end_offset)
        except KafkaError as error:
            held.fail(error)
        finally:
            held.flushing = False

    def _release_held(self) -> None:
        """After a flush or a cut: lets go of what the recovery point has passed, and tells the owner."""
        held = self._held
        if held is None:
            return
        if held.due <= self.recovery_point:
            self._held = None
        held.release(self.log_end_offset if self._held is None else self.recovery_point)
        if self.on_settled is not None:
            self.on_settled()

    async def look_after(self, now_ms: int) -> None:
        """The periodic part: comes back after handles ran out, and flushes when `flush.ms` is over or an earlier flush failed.

        Raises as `recover` and `flush` do.
        """
        if self.failure is not None:
            try:
                await self.recover()
            except OSError as error:
                raise self._failed(error, "recovery", heals=False) from error
        elif self.log_end_offset > self.recovery_point and now_ms - self.last_flush_ms >= self._config().flush_ms:
            await self.flush()
        self._flush_held()

    def _check_writable(self) -> None:
        if self.closed:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"the log of {self.topic_partition} is closed")
        if self.failure is not None:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"the log of {self.topic_partition} waits for recovery from: {self.failure}")

    def _failed(self, error: OSError, what: str, *, heals: bool = True) -> KafkaError:
        """The error to raise; `heals`: the log is as it was, so where only handles ran out it may go on."""
        logger.error("log write failed", extra={"partition": str(self.topic_partition), "what": what, "error": str(error)})
        if not heals or error.errno not in HANDLES_AT_FAULT:
            self.failure = error
        self.on_io_error(f"{what} of {self.topic_partition}", error)
        return KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"{what} of {self.topic_partition} failed: {error}")

    async def recover(self) -> None:
        """Checks the unflushed segments after a failure and opens the log for appends again; `OSError` when it cannot yet.

        `KafkaError` KAFKA_STORAGE_ERROR when records that were there are not readable any more: then the replica is lost.
        """
        self._folder.pool.forget_folder(self.directory)
        unflushed = self._store.segments.from_offset(self.recovery_point)
        state = await rebuild_producers(self._folder, self._store.segments, self.log_start_offset, unflushed[0].base_offset)
        for segment in unflushed:
            await recover_segment(self._node, segment, state, self.epochs, self._config().index_interval_bytes)
        self._store.reader.forget()
        if self._store.active.next_offset() < self.log_end_offset:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"{self.topic_partition} lost records from offset {state.end_offset} on")
        await self._rebuild_producers()
        self.failure = None

    async def _rebuild_producers(self) -> None:
        """Producer state from snapshots and batches, again if the log's end moved meanwhile; the old one serves until then."""
        end_offset = -1
        while end_offset != self.log_end_offset:
            end_offset = self.log_end_offset
            state = await rebuild_producers(self._folder, self._store.segments, self.log_start_offset, end_offset)
        state.on_high_watermark(self.high_watermark)
        self.producer_state = state

    async def _write_side_files(self) -> None:
        try:
            await self._side_files.write()
        except OSError as error:
            if not self.closed:
                raise self._failed(error, "checkpoint") from error

    async def save_recovery_point(self) -> None:
        """Has the owner write the recovery point down now."""
        if self.on_recovery_point is not None:
            await self.on_recovery_point()

    def abandon(self) -> None:
        """The data folder is offline: nothing is written any more, whoever waits for a flush is told."""
        self.closed = True
        if self._held is not None:
            self._held.fail(KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"the log of {self.topic_partition} is offline"))

    async def close(self, clean: bool = True) -> None:
        """Gives the files up; a clean close first completes and flushes everything, so that the next start need not check.

        `OSError` or `KafkaError` KAFKA_STORAGE_ERROR when that fails: the log must not be taken for clean then.
        """
        if self.closed:
            return
        self.closed = True
        try:
            if clean and self.failure is None:
                self._store.active.finish()
                if self.producer_state.end_offset <= self.log_end_offset:  # else a cut was broken off, and the next start makes it anew
                    self.producer_state.end_offset = self.log_end_offset
                    self._side_files.snapshot(self.producer_state)
                await self._side_files.write()
                await self._flush(self.log_end_offset)
        finally:
            if self._held is not None:
                self._held.fail(KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"the log of {self.topic_partition} was closed"))
            self._folder.pool.forget_folder(self.directory)
