"""One partition's log as it is divided into segments, and loses some: rolled, cut at its end, shortened at its start, compacted."""

from __future__ import annotations

from collections.abc import Sequence

from broker_core.errors import ErrorCode, KafkaError
from broker_core.storage.durable_log import DurableLog
from broker_core.storage.retention import expired_count
from broker_core.storage.segment import Segment


class CuttableLog(DurableLog):
    """The high watermark and the log's start stay within what is left; producers and epochs forget what is gone."""

    __slots__ = ()

    def roll(self, now_ms: int, base_offset: int | None = None) -> None:
        """Closes the active segment and starts the next one at the log's end (or later); `OSError` when the disk refuses."""
        base_offset = self.log_end_offset if base_offset is None else base_offset
        if not self._store.roll(base_offset, now_ms):
            return
        self.producer_state.end_offset = self.log_end_offset
        self._side_files.snapshot(self.producer_state)
        self._node.spawn(self.flush(base_offset), name=f"flush {self.topic_partition}")

    async def truncate_to(self, offset: int) -> bool:
        """Cuts the log so that it ends at `offset` (below it, if that is inside a batch); whether there was anything to cut.

        Durable on return: otherwise a power loss could bring cut records back below newer ones.
        """
        if offset >= self.log_end_offset:
            self.epochs.truncate_from_end(self.log_end_offset)
            return False
        if offset < self._store.segments[0].base_offset:
            await self.truncate_fully_and_start_at(offset)
            return True
        try:
            offset = self._store.truncate(offset)
        except OSError as error:
            raise self._failed(error, "truncation", heals=False) from error
        self.epochs.truncate_from_end(offset)
        await self._after_truncation(offset, self.log_start_offset)
        return True

    async def truncate_fully_and_start_at(self, offset: int) -> None:
        """Empties the log; the next record has `offset`."""
        try:
            self._store.start_anew(offset)
        except OSError as error:
            raise self._failed(error, "truncation", heals=False) from error
        self.epochs.clear()
        await self._after_truncation(offset, offset)

    async def _after_truncation(self, end_offset: int, start_offset: int) -> None:
        self.truncations += 1
        self.log_end_offset = end_offset
        self.log_start_offset = min(start_offset, end_offset)
        self.recovery_point = min(self.recovery_point, end_offset)
        self.high_watermark = min(max(self.high_watermark, self.log_start_offset), end_offset)
        if self._held is not None:
            self._held.cut(end_offset)
            self._release_held()
        await self._side_files.drop_snapshots(end_offset + 1)
        await self._rebuild_producers()
        await self._write_side_files()
        try:
            await self._store.active.sync()
        except OSError as error:
            raise self._failed(error, "truncation", heals=False) from error
        await self.save_recovery_point()

    def advance_log_start(self, offset: int) -> bool:
        """Makes records below `offset` unreadable; whether that was news. `KafkaError` OFFSET_OUT_OF_RANGE above the high watermark."""
        if offset > self.high_watermark:
            raise KafkaError(
                ErrorCode.OFFSET_OUT_OF_RANGE,
                f"log start {offset} of {self.topic_partition} is above the high watermark {self.high_watermark}",
            )
        if offset <= self.log_start_offset:
            return False
        self.log_start_offset = offset
        self.epochs.truncate_from_start(offset)
        self.producer_state.on_log_start(offset)
        return True

    async def delete_expired(self, now_ms: int) -> int:
        """Removes the segments that retention no longer covers; returns how many. In a closed log's folder may be another by now."""
        if self.closed:
            return 0
        count = expired_count(self._store.ages(self.log_end_offset), self._config(), self.log_start_offset, self.high_watermark, now_ms)
        if not count:
            return 0
        try:
            if count == len(self._store.segments):
                self.roll(now_ms)
            self._store.retire(list(self._store.segments)[:count])
        except OSError as error:
            raise self._failed(error, "deletion") from error
        first = self._store.segments[0].base_offset
        if first > self.log_start_offset:
            self.log_start_offset = first
            self.epochs.truncate_from_start(first)
            self.producer_state.on_log_start(first)
        await self._side_files.drop_snapshots(0, first)
        await self._write_side_files()
        return count

    def replace_segments(self, old: Sequence[Segment], new: Segment) -> bool:
        """Puts a compacted segment in the place of those it was made from; False when they are not all in the log any more."""
        if self.closed or self.failure is not None or not self._store.has_all(old):
            return False
        try:
            self._store.replace(old, new)
        except OSError as error:
            raise self._failed(error, "compaction", heals=False) from error
        return True

    def new_segment(self, base_offset: int, suffix: str) -> Segment:
        """An empty segment in the log's folder that is not part of the log; `OSError` when the disk refuses."""
        return self._store.create(base_offset, suffix)
