"""One partition's log as its readers see it: offsets, slices, epochs."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Iterator
from typing import Self

from broker_core.config import TopicConfig
from broker_core.errors import CorruptData, ErrorCode, KafkaError
from broker_core.model import TopicPartition
from broker_core.records.budget import Budget
from broker_core.records.steps import Steps
from broker_core.seams import Node
from broker_core.storage.epoch_cache import EpochCache
from broker_core.storage.files import FilePool, LogFolder
from broker_core.storage.held_records import HeldRecords
from broker_core.storage.loading import LoadedLog, LogLoader
from broker_core.storage.producer_state import ProducerState
from broker_core.storage.reader import FoundTimestamp, LogSlice, ReadLimits
from broker_core.storage.segment_store import SegmentStore
from broker_core.storage.segments import Segments
from broker_core.storage.side_files import SideFiles


class ReadableLog:
    """The state of a log, and what does not change its files."""

    __slots__ = (
        "_config",
        "_folder",
        "_held",
        "_node",
        "_side_files",
        "_store",
        "closed",
        "failure",
        "high_watermark",
        "last_flush_ms",
        "log_end_offset",
        "log_start_offset",
        "on_io_error",
        "on_recovery_point",
        "on_settled",
        "producer_state",
        "recovery_point",
        "topic_id",
        "topic_partition",
        "truncations",
    )

    def __init__(
        self,
        folder: LogFolder,
        topic_partition: TopicPartition,
        config: Callable[[], TopicConfig],
        loaded: LoadedLog,
    ) -> None:
        self._folder = folder
        self._node = folder.node
        self.topic_partition = topic_partition
        self._config = config
        self._store = SegmentStore(folder, loaded.segments, config)
        self._side_files = SideFiles(folder, loaded.epochs)
        self._held: HeldRecords | None = None
        self.topic_id = loaded.topic_id
        self.log_start_offset = loaded.log_start_offset
        self.log_end_offset = loaded.log_end_offset
        self.high_watermark = loaded.log_start_offset
        self.recovery_point = loaded.recovery_point
        self.producer_state: ProducerState = loaded.producers
        self.last_flush_ms = folder.node.clock.now_ms()
        self.failure: OSError | None = None
        self.closed = False
        self.truncations = 0
        """How often records were cut off its end: what was read before the last time may not be in the log."""
        self.on_io_error: Callable[[str, OSError], None] = lambda what, error: None
        """Told what failed and how: the owner of the data folder decides what that means for it."""
        self.on_recovery_point: Callable[[], Awaitable[None]] | None = None
        """Awaited when the recovery point must be written down at once: after a truncation and before a compaction."""
        self.on_settled: Callable[[], None] | None = None
        """Called when the settled offset has moved without an append: a flush that was waited for is done."""

    @classmethod
    async def open(
        cls,
        node: Node,
        directory: str,
        topic_partition: TopicPartition,
        config: Callable[[], TopicConfig],
        *,
        recovery_point: int = 0,
        log_start_offset: int = 0,
        clean: bool = False,
        pool: FilePool | None = None,
    ) -> Self:
        """Opens or makes the log; `OSError` when the disk refuses."""
        folder = LogFolder(node, FilePool(node.disk) if pool is None else pool, directory)
        loader = LogLoader(folder, config(), recovery_point=recovery_point, log_start_offset=log_start_offset, clean=clean)
        return cls(folder, topic_partition, config, await loader.load())

    @property
    def directory(self) -> str:
        return self._folder.path

    @property
    def config(self) -> TopicConfig:
        return self._config()

    @property
    def epochs(self) -> EpochCache:
        return self._side_files.epochs

    @property
    def segments(self) -> Segments:
        return self._store.segments

    @property
    def size_bytes(self) -> int:
        return self._store.segments.size_bytes

    @property
    def segments_count(self) -> int:
        return len(self._store.segments)

    @property
    def settled_offset(self) -> int:
        """The end of what this replica may acknowledge: the log's end, but for records that `flush.messages` wants flushed first."""
        return self.log_end_offset if self._held is None else self._held.first

    @property
    def last_stable_offset(self) -> int:
        """Up to where read_committed readers may read (exclusive)."""
        unstable = self.producer_state.first_unstable_offset
        if unstable is None:
            return self.high_watermark
        return min(max(unstable, self.log_start_offset), self.high_watermark)

    def read(self, offset: int, max_bytes: int, end_offset: int, min_one_batch: bool = False) -> LogSlice:
        """Whole batches from the one that has `offset` on, ending below `end_offset`; `KafkaError` OFFSET_OUT_OF_RANGE."""
        if not self.log_start_offset <= offset <= self.log_end_offset:
            raise KafkaError(
                ErrorCode.OFFSET_OUT_OF_RANGE,
                f"offset {offset} of {self.topic_partition} is not in [{self.log_start_offset}, {self.log_end_offset}]",
            )
        limits = ReadLimits(max_bytes, min(end_offset, self.log_end_offset), self.log_end_offset, min_one_batch)
        with self._reading():
            return self._store.reader.read(offset, limits)

    @contextlib.contextmanager
    def _reading(self) -> Iterator[None]:
        """Turns what a disk or its bytes may do to a reader into `KafkaError` KAFKA_STORAGE_ERROR."""
        try:
            yield
        except (OSError, CorruptData) as error:
            if isinstance(error, OSError):
                self.on_io_error(f"read of {self.topic_partition}", error)
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"read of {self.topic_partition} failed: {error}") from error

    def size_between(self, offset: int, end_offset: int) -> int:
        """Bytes of the batches in [offset, end_offset)."""
        start, end = max(offset, self.log_start_offset), min(end_offset, self.log_end_offset)
        with self._reading():
            return self._store.reader.size_between(start, end, self.log_end_offset)

    def offset_for_timestamp(self, timestamp_ms: int, budget: Budget) -> Steps[FoundTimestamp | None]:
        """The first record whose timestamp is at least `timestamp_ms`."""
        with self._reading():
            return (yield from self._store.reader.find_timestamp(timestamp_ms, self.log_start_offset, budget))

    def offset_of_max_timestamp(self, budget: Budget) -> Steps[FoundTimestamp | None]:
        """The first record that has the largest timestamp."""
        with self._reading():
            return (yield from self._store.reader.max_timestamp(self.log_start_offset, budget))

    def update_high_watermark(self, high_watermark: int) -> int:
        """Sets the high watermark, held within the log, and returns it."""
        self.high_watermark = min(max(high_watermark, self.log_start_offset), self.log_end_offset)
        self.producer_state.on_high_watermark(self.high_watermark)
        return self.high_watermark

    @property
    def latest_epoch(self) -> int | None:
        return self.epochs.latest

    def end_offset_for_epoch(self, epoch: int) -> tuple[int, int]:
        """(largest known epoch not above `epoch`, its end offset), or (-1, -1)."""
        return self.epochs.end_offset_for(epoch, self.log_end_offset)
