"""The segments of one log as files: which there are, how one is added, cut, taken out or exchanged."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from broker_core.config import TopicConfig
from broker_core.storage.folder import names
from broker_core.storage.folder.files import LogFolder
from broker_core.storage.log_health import LogHealth
from broker_core.storage.reader import Reader
from broker_core.storage.retention import SegmentAge
from broker_core.storage.segments.log_segments import LogSegments
from broker_core.storage.segments.rolling import RollParams, should_roll
from broker_core.storage.segments.segment import Segment
from broker_core.storage.validation.prepared_append import NO_TIMESTAMP, Prepared


class SegmentStore:
    """Raises `OSError` when the disk refuses, but for `replace`; what was done until then stays done."""

    __slots__ = ("_config", "_folder", "_health", "_reader", "segments")

    def __init__(
        self, folder: LogFolder, segments: LogSegments, config: Callable[[], TopicConfig], *, reader: Reader, health: LogHealth
    ) -> None:
        self._folder = folder
        self._config = config
        self._reader = reader
        self._health = health
        self.segments = segments

    @property
    def active(self) -> Segment:
        return self.segments.active

    def create(self, base_offset: int, suffix: str = "") -> Segment:
        """An empty segment that is not among the log's yet."""
        return Segment.create(self._folder.pool, self._folder.path, base_offset, self._folder.node.clock.now_ms(), suffix)

    def has_all(self, asked: Sequence[Segment]) -> bool:
        kept = {id(segment) for segment in self.segments}
        return all(id(segment) in kept for segment in asked)

    def next_base(self, prepared: Prepared, log_end_offset: int, now_ms: int, config: TopicConfig) -> int | None:
        """Where a new segment has to begin before an append, None while the active one can and should take it."""
        active = self.segments.active
        if not active.takes(prepared.last_offset):
            return prepared.first_offset
        state = RollParams(
            active.size_bytes,
            active.created_ms,
            active.first_timestamp if active.size_bytes else NO_TIMESTAMP,
            active.roll_jitter_ms,
            active.offset_index.count,
            active.time_index.count,
        )
        due = should_roll(state, config, len(prepared.data), prepared.max_timestamp, now_ms)
        return log_end_offset if due else None

    def roll(self, base_offset: int, now_ms: int) -> bool:
        """Completes the active segment and adds the next; False when the active one begins there already."""
        active = self.active
        if active.base_offset >= base_offset:
            return False
        active.finish()  # before there is a next one: of a closed segment the time index alone says its largest timestamp
        segment = self.create(base_offset)
        config = self._config()
        if config.segment_jitter_ms:
            segment.roll_jitter_ms = self._folder.node.entropy.random() * min(config.segment_jitter_ms, config.segment_ms)
        self.segments.add(segment)
        return True

    def truncate(self, offset: int) -> int:
        """Cuts off all batches that end at or after `offset`; returns the log's new end."""
        # The last segment first: a crash in between leaves a log that is cut too little, never one with a hole.
        self.retire([segment for segment in reversed(list(self.segments)) if segment.base_offset > offset])
        self._reader.forget()
        return self.active.truncate(offset, self._folder.node.clock.now_ms())

    def start_anew(self, offset: int) -> None:
        """Takes all segments out, the last one first, and begins with an empty one, which is made before any of them goes."""
        first = self.create(offset, names.CLEANED)
        self.retire(list(reversed(list(self.segments))))
        self.segments.add(first)
        first.rename("")  # a crash before this line: a start drops what is `.cleaned`, and finds the first of the old segments or none

    def retire(self, gone: Sequence[Segment]) -> None:
        """Takes segments out of the log in the given order; their files go after `file.delete.delay.ms`."""
        for segment in gone:
            segment.rename(names.DELETED)
            self.segments.remove([segment])
        self._reader.forget()
        if gone:
            self._folder.node.spawn(self._remove_later(gone), name=f"remove segments {self._folder.path}")

    async def _remove_later(self, gone: Sequence[Segment]) -> None:
        await self._folder.node.clock.sleep(self._config().file_delete_delay_ms)
        for segment in gone:
            await segment.remove()

    def replace(self, old: Sequence[Segment], new: Segment) -> bool:
        """Puts a compacted, flushed segment in the place of those it was made from; False when they are not all in the log any more.

        `KafkaError` KAFKA_STORAGE_ERROR when the disk refuses.
        """
        if self._health.closed or self._health.failure is not None or not self.has_all(old):
            return False
        try:
            new.rename(names.SWAP)  # a crash before this line: the old segments stay; after it: a start removes them and finishes
            self.retire(old)
            new.rename("")
        except OSError as error:
            raise self._health.failed(error, "compaction", heals=False) from error
        self.segments.add(new)
        return True

    async def sync(self, start_offset: int, end_offset: int) -> None:
        """Makes the segments that have records in [start, end) survive a power loss."""
        due = [segment for segment in self.segments.from_offset(start_offset) if segment.base_offset < end_offset]
        for segment in due:
            try:
                await segment.sync()
            except FileNotFoundError:
                if self.has_all([segment]):
                    raise

    def moved_to(self, directory: str) -> None:
        """The log's folder was renamed."""
        for segment in self.segments:
            segment.moved_to(directory)

    def ages(self, log_end_offset: int) -> list[SegmentAge]:
        return [
            SegmentAge(segment.size_bytes, segment.largest_timestamp, self.segments.end_offset(segment, log_end_offset))
            for segment in self.segments
        ]
