"""Opening a log's folder: from files to the parts of a `PartitionLog`."""

from __future__ import annotations

import logging
import uuid

from msgspec import Struct

from broker_core.config import TopicConfig
from broker_core.errors import CorruptData
from broker_core.records.batch import parse_header
from broker_core.storage.folder import names
from broker_core.storage.folder.checkpoints import CHECKPOINT_LIMIT_BYTES, decode_epochs, decode_partition_metadata
from broker_core.storage.folder.files import LogFolder
from broker_core.storage.leader_epoch_cache import LeaderEpochCache
from broker_core.storage.producer_state import ProducerStateManager
from broker_core.storage.recovery import complete_swaps, rebuild_producers, recover_segment, snapshot_offsets
from broker_core.storage.segments.batch_scan import HEADER_BYTES
from broker_core.storage.segments.log_segments import LogSegments
from broker_core.storage.segments.segment import Segment

logger = logging.getLogger(__name__)

METADATA_LIMIT_BYTES = 4096


class LoadedLog(Struct):
    segments: LogSegments
    epochs: LeaderEpochCache
    producers: ProducerStateManager
    log_start_offset: int
    log_end_offset: int
    recovery_point: int
    topic_id: uuid.UUID | None


class LogLoader:
    """Opens or makes the log in a folder; used once."""

    def __init__(self, folder: LogFolder, config: TopicConfig, *, recovery_point: int, log_start_offset: int, clean: bool) -> None:
        self._folder = folder
        self._disk = folder.node.disk
        self._interval_bytes = config.index_interval_bytes
        self._recovery_point = recovery_point
        self._log_start_offset = log_start_offset
        self._clean = clean
        self._segments = LogSegments()
        self._epochs = LeaderEpochCache()

    async def load(self) -> LoadedLog:
        """After an unclean stop the log is checked from the recovery point on. `OSError` when the disk refuses."""
        self._disk.make_dirs(self._folder.path)
        if not self._disk.list_dir(self._folder.path):
            start_offset = self._begin()
            producers = ProducerStateManager(start_offset)
            return LoadedLog(self._segments, self._epochs, producers, start_offset, start_offset, start_offset, None)
        complete_swaps(self._folder)
        epochs_known = self._read_epochs()
        await self._take_segments()
        if not epochs_known:
            self._collect_epochs()
        if not self._clean and len(self._segments):
            await self._recover()
        end_offset = await self._settle_end()
        start_offset = max(self._log_start_offset, self._segments[0].base_offset)
        self._epochs.truncate_from_end(end_offset)
        self._epochs.truncate_from_start(start_offset)
        self._remove_stray_snapshots(end_offset)
        producers = await rebuild_producers(self._folder, self._segments, start_offset, end_offset)
        point = end_offset if self._clean else min(self._recovery_point, end_offset)
        return LoadedLog(self._segments, self._epochs, producers, start_offset, end_offset, point, self._read_topic_id())

    async def _take_segments(self) -> None:
        """All segments of the folder; one whose indexes are missing or broken is checked and gets new ones."""
        for name in self._disk.list_dir(self._folder.path):
            parsed = names.parse_file(name)
            if parsed is None or parsed[1] == names.SNAPSHOT:
                continue
            if parsed[1] == names.LOG:
                self._segments.add(await self._take_segment(parsed[0]))
            elif not self._disk.exists(names.segment_path(self._folder.path, parsed[0], names.LOG)):
                self._disk.remove_now(f"{self._folder.path}/{name}")

    async def _take_segment(self, base_offset: int) -> Segment:
        segment = Segment.existing(self._folder.pool, self._folder.path, base_offset)
        checked_anyway = not self._clean and base_offset >= self._recovery_point
        if not checked_anyway and not segment.has_sane_indexes():
            logger.warning("segment has no usable indexes, making them anew", extra={"file": segment.path})
            state = await rebuild_producers(self._folder, self._segments, self._log_start_offset, base_offset)
            await recover_segment(self._folder.node, segment, state, self._epochs, self._interval_bytes)
        return segment

    async def _recover(self) -> None:
        """Checks the segments from the recovery point on; after a cut or a hole all later ones go.

        A power loss may take the end of one segment and leave the next one. Compaction makes no holes here: its output is below
        the recovery point before it takes its place.
        """
        unflushed = self._segments.from_offset(self._recovery_point)
        self._epochs.truncate_from_end(unflushed[0].base_offset)  # the checkpoint may speak of records that another crash has taken
        state = await rebuild_producers(self._folder, self._segments, self._log_start_offset, unflushed[0].base_offset)
        for number, segment in enumerate(unflushed):
            cut = await recover_segment(self._folder.node, segment, state, self._epochs, self._interval_bytes)
            later = unflushed[number + 1 :]
            if cut or (later and later[0].base_offset != segment.next_offset()):
                logger.warning("log cut at its first bad batch", extra={"file": segment.path, "bytes": cut, "kept": segment.size_bytes})
                await self._drop(later)
                return

    async def _settle_end(self) -> int:
        """The log's end; a log that ends below its start is emptied, and one without a segment gets one."""
        end_offset = self._segments.active.next_offset() if len(self._segments) else self._log_start_offset
        if end_offset < self._log_start_offset:
            logger.warning("log ends below its start, all goes", extra={"folder": self._folder.path, "end": end_offset})
            await self._drop(list(self._segments))
            self._epochs.clear()
        if len(self._segments):
            return end_offset
        return self._begin()

    def _begin(self) -> int:
        """The first segment of a log without records; their offset."""
        self._segments.add(Segment.create(self._folder.pool, self._folder.path, self._log_start_offset, self._folder.node.clock.now_ms()))
        return self._log_start_offset

    async def _drop(self, gone: list[Segment]) -> None:
        """Removes segments from the end backwards, so that a crash leaves a log without a hole."""
        for segment in reversed(gone):
            await segment.remove()
            await self._disk.remove(names.segment_path(segment.directory, segment.base_offset, names.SNAPSHOT))
        self._segments.remove(gone)

    def _read_epochs(self) -> bool:
        """False when the checkpoint is there but unreadable."""
        path = f"{self._folder.path}/{names.EPOCH_CHECKPOINT}"
        if not self._disk.exists(path):
            return True
        try:
            self._epochs = LeaderEpochCache(decode_epochs(self._disk.read_bytes(path, limit_bytes=CHECKPOINT_LIMIT_BYTES), path))
        except CorruptData as error:
            logger.warning("epoch checkpoint is unreadable, taking epochs from the batches", extra={"file": path, "error": str(error)})
            return False
        return True

    def _collect_epochs(self) -> None:
        """Leader epochs as the batches have them."""
        self._epochs.clear()
        for segment in self._segments:
            for span in segment.spans():
                if span.magic >= 2:
                    header = parse_header(segment.file.pread(span.position, HEADER_BYTES))
                    if header.leader_epoch > (-1 if self._epochs.latest is None else self._epochs.latest):
                        self._epochs.assign(header.leader_epoch, header.base_offset)

    def _read_topic_id(self) -> uuid.UUID | None:
        """None where there is no file, or an unreadable one: the controller will tell the id again."""
        path = f"{self._folder.path}/{names.PARTITION_METADATA}"
        if not self._disk.exists(path):
            return None
        try:
            return decode_partition_metadata(self._disk.read_bytes(path, limit_bytes=METADATA_LIMIT_BYTES), path)
        except CorruptData as error:
            logger.warning("topic id is unreadable", extra={"file": path, "error": str(error)})
            return None

    def _remove_stray_snapshots(self, end_offset: int) -> None:
        """Keeps the snapshots at segments' bases, and the newest of all (a clean stop's). Those beyond the log's end know of batches
        that a crash has taken; the log may grow past them with others.
        """
        offsets = snapshot_offsets(self._folder)
        inside = [offset for offset in offsets if offset <= end_offset]
        kept = {*self._segments.bases, *inside[-1:]}
        for offset in offsets:
            if offset > end_offset or offset not in kept:
                self._disk.remove_now(names.segment_path(self._folder.path, offset, names.SNAPSHOT))
