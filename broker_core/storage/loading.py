"""Opening a log's folder: from files to the parts of a `PartitionLog`."""

from __future__ import annotations

import logging
import uuid
from dataclasses import dataclass

from broker_core.config import TopicConfig
from broker_core.seams import Node
from broker_core.storage import names
from broker_core.storage.checkpoints import CHECKPOINT_LIMIT_BYTES, decode_epochs, decode_partition_metadata
from broker_core.storage.epoch_cache import EpochCache
from broker_core.storage.files import FilePool
from broker_core.storage.producer_state import ProducerState
from broker_core.storage.recovery import complete_swaps, rebuild_producers, recover_segment, snapshot_offsets
from broker_core.storage.segment import Segment
from broker_core.storage.segments import Segments

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class LoadedLog:
    segments: Segments
    epochs: EpochCache
    producers: ProducerState
    log_start_offset: int
    log_end_offset: int
    recovery_point: int
    topic_id: uuid.UUID | None


async def load_log(
    node: Node, pool: FilePool, directory: str, config: TopicConfig, *, recovery_point: int, log_start_offset: int, clean: bool
) -> LoadedLog:
    """Opens or makes the log in `directory`. After an unclean stop it is checked from the recovery point on."""
    node.disk.make_dirs(directory)
    complete_swaps(pool, directory)
    epochs = EpochCache(_read_epochs(node, directory))
    segments = await _take_segments(node, pool, directory, epochs, config, log_start_offset)
    if not clean:
        await _recover(node, pool, directory, segments, epochs, config, recovery_point, log_start_offset)
    end_offset = segments.active.next_offset() if len(segments) else log_start_offset
    if end_offset < log_start_offset:
        logger.warning(
            "log ends below its start, all segments go", extra={"folder": directory, "end": end_offset, "start": log_start_offset}
        )
        await _drop(pool, segments, list(segments))
        epochs.clear()
    if not len(segments):
        segments.add(Segment.create(pool, directory, log_start_offset, node.clock.now_ms()))
        end_offset = log_start_offset
    start_offset = max(log_start_offset, segments[0].base_offset)
    epochs.truncate_from_end(end_offset)
    epochs.truncate_from_start(start_offset)
    _remove_stray_snapshots(pool, directory, segments)
    producers = await rebuild_producers(node, pool, directory, segments, start_offset, end_offset)
    point = end_offset if clean else min(recovery_point, end_offset)
    return LoadedLog(segments, epochs, producers, start_offset, end_offset, point, _read_topic_id(node, directory))


async def _take_segments(
    node: Node, pool: FilePool, directory: str, epochs: EpochCache, config: TopicConfig, log_start_offset: int
) -> Segments:
    """All segments of the folder; one whose indexes are missing or broken is checked and gets new ones."""
    segments = Segments()
    for name in node.disk.list_dir(directory):
        parsed = names.parse_file(name)
        if parsed is None or parsed[1] == names.SNAPSHOT:
            continue
        if parsed[1] != names.LOG:
            if not node.disk.exists(names.segment_path(directory, parsed[0], names.LOG)):
                node.disk.remove_now(f"{directory}/{name}")
            continue
        segment = Segment.existing(pool, directory, parsed[0])
        if not segment.has_sane_indexes():
            logger.warning("segment has no usable indexes, making them anew", extra={"file": segment.path})
            state = await rebuild_producers(node, pool, directory, segments, log_start_offset, segment.base_offset)
            await recover_segment(node, segment, state, epochs, config.index_interval_bytes)
        segments.add(segment)
    return segments


async def _recover(
    node: Node,
    pool: FilePool,
    directory: str,
    segments: Segments,
    epochs: EpochCache,
    config: TopicConfig,
    recovery_point: int,
    log_start_offset: int,
) -> None:
    """Checks the segments from the recovery point on; after a cut all later ones go."""
    if not len(segments):
        return
    unflushed = segments.from_offset(recovery_point)
    state = await rebuild_producers(node, pool, directory, segments, log_start_offset, unflushed[0].base_offset)
    for number, segment in enumerate(unflushed):
        cut = await recover_segment(node, segment, state, epochs, config.index_interval_bytes)
        if cut:
            logger.warning("log cut at its first bad batch", extra={"file": segment.path, "bytes": cut, "kept": segment.size_bytes})
            await _drop(pool, segments, unflushed[number + 1 :])
            return


async def _drop(pool: FilePool, segments: Segments, gone: list[Segment]) -> None:
    """Removes segments from the end backwards, so that a crash leaves a log without a hole."""
    for segment in reversed(gone):
        await segment.remove()
        snapshot = names.segment_path(segment.directory, segment.base_offset, names.SNAPSHOT)
        await pool.disk.remove(snapshot)
    segments.remove(gone)


def _read_epochs(node: Node, directory: str) -> list[tuple[int, int]]:
    path = f"{directory}/{names.EPOCH_CHECKPOINT}"
    if not node.disk.exists(path):
        return []
    return decode_epochs(node.disk.read_bytes(path, limit_bytes=CHECKPOINT_LIMIT_BYTES), path)


def _read_topic_id(node: Node, directory: str) -> uuid.UUID | None:
    path = f"{directory}/{names.PARTITION_METADATA}"
    if not node.disk.exists(path):
        return None
    return decode_partition_metadata(node.disk.read_bytes(path, limit_bytes=4096), path)


def _remove_stray_snapshots(pool: FilePool, directory: str, segments: Segments) -> None:
    """Keeps the snapshots at segments' bases, and the newest of all (a clean stop's)."""
    offsets = snapshot_offsets(pool, directory)
    bases = segments.bases
    for offset in offsets[:-1]:
        if offset not in bases:
            pool.disk.remove_now(names.segment_path(directory, offset, names.SNAPSHOT))
