"""Compaction of logs whose policy has `compact`, while they are in use.

    <base>.*            the closed segments of a group
    <base>.*.cleaned    what is kept of them, being written
    <base>.*.swap       the same, complete and flushed; from here on a restart finishes the exchange
    <base>.*.deleted    the old segments, on their way out

A restart drops `.cleaned` files and completes `.swap` ones (recovery.py). If the log is cut or loses segments meanwhile, the
work is thrown away: the exchange itself happens in one go, and only while all old segments are still in the log. A log that moves to
another data folder is left alone until it is there: its copy must not be half of what was before a compaction and half of what came out.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping, Sequence
from functools import partial

from broker_core.config import ConfigHolder
from broker_core.errors import CorruptData, KafkaError
from broker_core.model import TopicPartition
from broker_core.records.batch import BatchHeader, parse_header, reading_records
from broker_core.records.budget import Budget
from broker_core.records.steps import Steps
from broker_core.seams import Node
from broker_core.storage.cleaning.cleanable import CleanRange, SegmentSpan, clean_range, wants_cleaning
from broker_core.storage.cleaning.compaction import CleanedTransactions, Compactor, OffsetMap
from broker_core.storage.cleaning.throttle import Throttle
from broker_core.storage.folder import names
from broker_core.storage.folder.data_folder import DataFolder
from broker_core.storage.log import PartitionLog
from broker_core.storage.recovery import CheckedBatch
from broker_core.storage.segments.offset_index import RELATIVE_OFFSET_MAX
from broker_core.storage.segments.segment import Segment
from broker_core.storage.slices import Slices, in_slices
from broker_core.storage.validation.prepared_append import control_marker, span_of

logger = logging.getLogger(__name__)


class CompactionStopped(Exception):
    """The log is to be left alone from now on."""


class LogCleaner:
    """Compacts one log at a time; `cleaned` are the offsets up to which logs are known to be compacted, `folders` where they are kept."""

    def __init__(
        self,
        node: Node,
        config: ConfigHolder,
        logs: Callable[[], list[PartitionLog]],
        folders: Sequence[DataFolder],
    ) -> None:
        self._node = node
        self._config = config
        self._logs = logs
        self._folders = folders
        self._throttle = Throttle(node.clock, lambda: config.current.log_cleaner_io_max_bytes_per_second)
        self._cleaned: dict[TopicPartition, int] | None = None
        self._failed: dict[TopicPartition, str] = {}
        self._paused: dict[TopicPartition, None] = {}
        self._at: TopicPartition | None = None
        self._left = asyncio.Event()

    @property
    def cleaned(self) -> dict[TopicPartition, int]:
        if self._cleaned is None:
            self._cleaned = {}
            where = {log.topic_partition: log.data_folder for log in self._logs()}
            for folder in self._folders:
                if not folder.abandoned:
                    found = folder.read_checkpoint(names.CLEANER_CHECKPOINT)
                    self._cleaned.update({tp: offset for tp, offset in found.items() if where.get(tp, folder.path) == folder.path})
        return self._cleaned

    async def pause(self, tp: TopicPartition) -> None:
        """Leaves the log alone from now on; when it returns, no compaction of it is under way."""
        self._paused[tp] = None
        while self._at == tp:
            self._left.clear()
            await self._left.wait()

    def resume(self, tp: TopicPartition) -> None:
        self._paused.pop(tp, None)

    async def clean_all(self) -> None:
        """Compacts the dirtiest log, then the next, until none needs it.

        A log with a batch that cannot be read is left alone until the next start; any other failure is tried again the next time.
        """
        stuck: dict[TopicPartition, CleanRange] = {}
        while (chosen := self.choose(stuck)) is not None:
            log, found = chosen
            stuck[log.topic_partition] = found
            self._at = log.topic_partition
            try:
                await self.clean(log, found)
            except CompactionStopped:
                logger.info("compaction stopped, the log moves", extra={"partition": str(log.topic_partition)})
            except (CorruptData, KafkaError, OSError) as error:
                logger.error("compaction failed", extra={"partition": str(log.topic_partition), "error": str(error)})
                if isinstance(error, OSError):
                    log.health.on_io_error(f"compaction of {log.topic_partition}", error)
                if isinstance(error, CorruptData):
                    self._failed[log.topic_partition] = str(error)
            finally:
                self._at = None
                self._left.set()

    def choose(self, tried: Mapping[TopicPartition, CleanRange]) -> tuple[PartitionLog, CleanRange] | None:
        """The log with the largest dirty share (or one overdue), of those that want compaction and where a try would be news."""
        candidates = []
        for log in self._logs():
            tp, sound = log.topic_partition, log.health.failure is None
            if "compact" in log.config.cleanup_policy and sound and tp not in self._failed and tp not in self._paused:
                found = self.range_of(log)
                if found is not None and found != tried.get(tp) and wants_cleaning(found, log.config):
                    candidates.append((log, found))
        return max(candidates, key=lambda each: (each[1].overdue, each[1].dirty_ratio), default=None)

    def range_of(self, log: PartitionLog) -> CleanRange | None:
        spans = [SegmentSpan(s.base_offset, s.size_bytes, s.largest_timestamp) for s in log.segments]
        return clean_range(
            spans,
            log.config,
            checkpoint=self.cleaned.get(log.topic_partition),
            log_start=log.log_start_offset,
            last_stable=log.last_stable_offset,
            now_ms=self._node.clock.now_ms(),
        )

    async def clean(self, log: PartitionLog, found: CleanRange) -> None:
        """Compacts a log up to where the map of keys reaches; `CorruptData` when a batch cannot be read."""
        truncations = log.recovery.truncations
        # On disk, the point included, before a segment is replaced: compaction leaves gaps between offsets, and a start takes a gap above
        # the recovery point for the place where a power loss has cut the log.
        await log.recovery.flush(found.end)
        await log.recovery.save()
        slices = Slices(self._node)
        transactions = CleanedTransactions(entry for segment in log.segments for entry in segment.txn_index.entries())
        offsets = await self._build_map(log, found, transactions, slices)
        due = [segment for segment in log.segments.closed if segment.base_offset < offsets.next_offset]
        compactor = Compactor(
            offsets,
            transactions,
            frozenset(entry.last_offset for entry in log.producer_state.entries.values()),
            now_ms=self._node.clock.now_ms(),
            delete_retention_ms=log.config.delete_retention_ms,
        )
        for group in groups(due, log.config.segment_bytes, lambda segment: log.segments.end_offset(segment, log.log_end_offset)):
            cleaned = await self._write_group(log, group, compactor, transactions, slices)
            paused = log.topic_partition in self._paused
            if paused or log.recovery.truncations != truncations or not log.store.replace(group, cleaned):
                await cleaned.remove()
                return
        logger.info("log compacted", extra={"partition": str(log.topic_partition), "up_to": offsets.next_offset, "keys": len(offsets)})
        self.cleaned[log.topic_partition] = offsets.next_offset
        await self._checkpoint_of(log)

    async def checkpoint(self, only: DataFolder | None = None) -> None:
        """Of all folders or of one. Also forgets the logs that are gone: a topic made anew starts with nothing."""
        where = {log.topic_partition: log.data_folder for log in self._logs()}
        self._cleaned = {partition: offset for partition, offset in sorted(self.cleaned.items()) if partition in where}
        self._failed = {partition: why for partition, why in self._failed.items() if partition in where}
        for folder in self._folders if only is None else (only,):
            inside = [(partition, offset) for partition, offset in self._cleaned.items() if where[partition] == folder.path]
            await folder.write_checkpoint(names.CLEANER_CHECKPOINT, partial(list, inside))

    async def _checkpoint_of(self, log: PartitionLog) -> None:
        for folder in self._folders:
            if folder.path == log.data_folder:
                await self.checkpoint(folder)

    async def forget(self, gone: Collection[TopicPartition], folder: DataFolder) -> None:
        """These logs are no longer in the folder."""
        for partition in gone:
            self._failed.pop(partition, None)
        if any(partition in self.cleaned for partition in gone):
            await self.checkpoint(folder)

    async def forget_beyond(self, log: PartitionLog) -> None:
        """After a cut: what takes the place of the records that are gone is dirty."""
        if self.cleaned.get(log.topic_partition, 0) > log.log_end_offset:
            self.cleaned[log.topic_partition] = log.log_end_offset
            await self._checkpoint_of(log)

    def _stop_if_paused(self, log: PartitionLog) -> None:
        if log.topic_partition in self._paused:
            raise CompactionStopped

    async def _build_map(self, log: PartitionLog, found: CleanRange, transactions: CleanedTransactions, slices: Slices) -> OffsetMap:
        """The latest offset of each key in the dirty part, as far as memory allows."""
        current = self._config.current
        room = int(current.log_cleaner_dedupe_buffer_size * current.log_cleaner_io_buffer_load_factor)
        offsets = OffsetMap(room, found.first_dirty)
        for segment in log.segments.from_offset(found.first_dirty):
            async for batch in _batches(segment, slices):
                self._stop_if_paused(log)
                await self._throttle.spent(len(batch.data))
                header = batch.header
                if header.last_offset < found.first_dirty:
                    continue
                if header.last_offset >= found.end:
                    return offsets
                skipped = header.is_control or transactions.is_aborted(header)
                if not await in_slices(self._node, _mapping(batch, offsets, skipped=skipped)):
                    return offsets
            offsets.next_offset = max(offsets.next_offset, min(found.end, log.segments.end_offset(segment, log.log_end_offset)))
        return offsets

    async def _write_group(
        self, log: PartitionLog, group: Sequence[Segment], compactor: Compactor, transactions: CleanedTransactions, slices: Slices
    ) -> Segment:
        """A new flushed segment with what stays of a group's batches."""
        target = log.store.create(group[0].base_offset, names.CLEANED)
        try:
            for segment in group:
                async for batch in _batches(segment, slices):
                    self._stop_if_paused(log)
                    kept = await in_slices(self._node, _replacing(batch, compactor))
                    await self._throttle.spent(len(batch.data) + len(kept or b""))
                    self._write(batch.header, kept, target, transactions, log.config.index_interval_bytes)
            target.finish()
            await target.sync()
        except BaseException:
            await target.remove()
            raise
        return target

    def _write(
        self, header: BatchHeader, kept: bytes | None, target: Segment, transactions: CleanedTransactions, interval_bytes: int
    ) -> None:
        """What stays of a batch, and with it the index entry of a marker."""
        if kept is None:
            return
        target.append(kept, [span_of(parse_header(kept), 0)], interval_bytes)
        aborted = transactions.aborted_by(header) if header.is_control else None
        if aborted is not None:
            target.txn_index.append(aborted)


def _mapping(batch: CheckedBatch, offsets: OffsetMap, *, skipped: bool) -> Steps[bool]:
    """Whether the map has room for more after the batch."""
    chunks = iter(()) if skipped else (yield from reading_records(batch.data, 0, batch.header, Budget()))
    return (yield from offsets.adding(chunks, batch.header.last_offset + 1))


def _replacing(batch: CheckedBatch, compactor: Compactor) -> Steps[bytes | None]:
    header, original = batch.header, bytes(batch.data)
    if header.magic < 2:
        return original
    marker = control_marker(original, 0, header) if header.is_control else None
    chunks = yield from reading_records(original, 0, header, Budget())
    return (yield from compactor.replacing(header, marker, chunks, original))


async def _batches(segment: Segment, slices: Slices) -> AsyncIterator[CheckedBatch]:
    for span in segment.spans():
        data = memoryview(segment.file.pread(span.position, span.size_bytes))
        yield CheckedBatch(span.position, parse_header(data), data)
        await slices.breathe(heavy=True)


def groups(segments: Sequence[Segment], limit_bytes: int, end_offset: Callable[[Segment], int]) -> Iterator[list[Segment]]:
    """Neighbours that fit into one segment together, by size before compaction and by offsets."""
    group: list[Segment] = []
    for segment in segments:
        total = sum(each.size_bytes for each in group) + segment.size_bytes
        far = group and end_offset(segment) - group[0].base_offset > RELATIVE_OFFSET_MAX
        if group and (total > limit_bytes or far):
            yield group
            group = []
        group.append(segment)
    if group:
        yield group
