"""Making a log's memory of itself again from its files.

Order on opening (Kafka's LogLoader): unfinished file swaps are completed or dropped, segments taken, after an unclean
stop every batch from the recovery point on is checked and the log cut at the first bad one, then epochs and producer
state are brought to the log's end. Long work is done in slices: between them the loop goes on.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

from msgspec import Struct

from broker_core.errors import CorruptData
from broker_core.records.batch import BatchHeader, check_batch, parse_header
from broker_core.seams import DiskFile, Node
from broker_core.storage.folder import names
from broker_core.storage.folder.files import LogFolder
from broker_core.storage.leader_epoch_cache import LeaderEpochCache
from broker_core.storage.producer_snapshot import SNAPSHOT_LIMIT_BYTES, decode_snapshot
from broker_core.storage.producer_state import AppendOrigin, ProducerAppendInfo, ProducerStateManager
from broker_core.storage.segments.batch_scan import HEADER_BYTES, spans
from broker_core.storage.segments.log_segments import LogSegments
from broker_core.storage.segments.segment import Segment
from broker_core.storage.segments.transaction_index import AbortedTxn
from broker_core.storage.slices import Slices
from broker_core.storage.validation.prepared_append import control_marker, span_of

CHUNK_BYTES = 256 * 1024


class CheckedBatch(Struct, frozen=True):
    """A batch that passed its checks, `data` starting with it."""

    position: int
    header: BatchHeader
    data: memoryview


async def checked_batches(file: DiskFile, end: int, slices: Slices) -> AsyncIterator[CheckedBatch]:
    """The batches of a file up to the first that is torn, has a wrong CRC or makes no sense; the iteration just ends there."""
    position = 0
    while position < end:
        chunk = memoryview(file.pread(position, min(CHUNK_BYTES, end - position)))
        start = 0
        while True:
            header = _whole_header(chunk, start)
            if header is None:
                break
            yield CheckedBatch(position + start, header, chunk[start : start + header.size_bytes])
            start += header.size_bytes
            await slices.breathe(heavy=header.size_bytes > HEADER_BYTES * 64)
        if start == 0:
            large = _larger_batch(file, position, end, len(chunk))
            if large is None:
                return
            yield large
            start = large.header.size_bytes
        position += start


def _whole_header(chunk: memoryview, start: int) -> BatchHeader | None:
    """The checked header at `start`; None where the batch is not whole in the chunk or bad."""
    try:
        header = parse_header(chunk, start)
        if start + header.size_bytes > len(chunk):
            return None
        check_batch(chunk, start, header)
    except CorruptData:
        return None
    return header


def _larger_batch(file: DiskFile, position: int, end: int, chunk_bytes: int) -> CheckedBatch | None:
    """The batch at `position` when it is larger than a chunk and good."""
    span = next(spans(file, position, end), None)
    if span is None or span.size_bytes <= chunk_bytes:
        return None
    data = memoryview(file.pread(position, span.size_bytes))
    header = _whole_header(data, 0)
    return CheckedBatch(position, header, data) if header is not None else None


def apply_batch(state: ProducerStateManager, segment: Segment | None, batch: CheckedBatch) -> None:
    """Takes a batch that is in the log into the producer state (and its abort into a segment's index)."""
    header = batch.header
    if header.producer_id >= 0:
        update = ProducerAppendInfo(state, AppendOrigin.REPLICATION)
        update.add(header, control_marker(batch.data, 0, header) if header.is_control else None)
        commit_update(state, segment, update)
    state.end_offset = max(state.end_offset, header.last_offset + 1)


def commit_update(state: ProducerStateManager, segment: Segment | None, update: ProducerAppendInfo) -> None:
    """Makes an append's changes to producers real; aborted transactions go into the segment's index."""
    state.commit(update)
    for completed in update.completed:
        if completed.aborted and segment is not None:
            stable = state.stable_offset_after(completed)
            segment.txn_index.append(AbortedTxn(completed.producer_id, completed.first_offset, completed.last_offset, stable))
        state.complete(completed)


async def recover_segment(
    node: Node, segment: Segment, state: ProducerStateManager, epochs: LeaderEpochCache, index_interval_bytes: int
) -> int:
    """Checks all batches of a segment, cuts it at the first bad one and rebuilds its indexes; returns the bytes cut off.

    The batches are those that the disk has. After a flush that failed the page cache may hold others, which would be served
    until the system needs their memory, and be zeros from then on.
    """
    segment.forget_indexes()
    if segment.size_bytes:
        await _drop_cache(segment.file)
    slices = Slices(node)
    good, next_offset = 0, segment.base_offset
    async for batch in checked_batches(segment.file, segment.size_bytes, slices):
        header = batch.header
        first = header.base_offset if header.magic >= 2 else next_offset
        if first < next_offset or header.last_offset < next_offset or not segment.takes(header.last_offset):
            break
        segment.note(span_of(header, batch.position), batch.position, index_interval_bytes)
        if header.leader_epoch >= 0 and header.leader_epoch > (epochs.latest if epochs.latest is not None else -1):
            epochs.assign(header.leader_epoch, header.base_offset)
        apply_batch(state, segment, batch)
        good, next_offset = batch.position + header.size_bytes, header.last_offset + 1
    cut = segment.size_bytes - good
    if cut:
        segment.file.truncate(good)
        segment.size_bytes = good
        await segment.file.fsync()  # or a power loss may bring back what was cut, below a recovery point that is here already
    segment.finish()
    return cut


async def _drop_cache(file: DiskFile) -> None:
    """Twice where it fails: the first flush of a process may be told what went wrong under the one before it."""
    try:
        await file.flush_and_drop_cache()
    except OSError:
        await file.flush_and_drop_cache()


def snapshot_offsets(folder: LogFolder) -> list[int]:
    """Offsets of the producer snapshots in a log's folder, rising."""
    found = (names.parse_file(name) for name in folder.node.disk.list_dir(folder.path))
    return [entry[0] for entry in found if entry is not None and entry[1:] == (names.SNAPSHOT, "")]


def load_snapshot(folder: LogFolder, log_start_offset: int, up_to_offset: int) -> ProducerStateManager:
    """The newest usable producer state in (log start, up to]; corrupt snapshots are removed on the way."""
    for offset in reversed(snapshot_offsets(folder)):
        if not log_start_offset < offset <= up_to_offset:
            continue
        path = names.segment_path(folder.path, offset, names.SNAPSHOT)
        try:
            return ProducerStateManager(offset, decode_snapshot(folder.node.disk.read_bytes(path, limit_bytes=SNAPSHOT_LIMIT_BYTES), path))
        except CorruptData:
            folder.node.disk.remove_now(path)
    return ProducerStateManager(log_start_offset)


async def rebuild_producers(folder: LogFolder, segments: LogSegments, log_start_offset: int, up_to_offset: int) -> ProducerStateManager:
    """Producer state at `up_to_offset`: the newest snapshot before it, and the batches since."""
    state = load_snapshot(folder, log_start_offset, up_to_offset)
    slices = Slices(folder.node)
    for segment in segments.from_offset(state.end_offset):
        if segment.base_offset >= up_to_offset or state.end_offset >= up_to_offset:
            break
        for span in segment.spans(segment.offset_index.lookup(state.end_offset)):
            if span.last_offset >= up_to_offset:
                break
            if span.magic >= 2 and span.last_offset >= state.end_offset:
                apply_batch(state, None, _batch_for_state(segment, span.position, span.size_bytes))
            await slices.breathe()
    state.end_offset = max(state.end_offset, up_to_offset)
    return state


def _batch_for_state(segment: Segment, position: int, size_bytes: int) -> CheckedBatch:
    """A batch's header; of a control batch all bytes."""
    data = memoryview(segment.file.pread(position, HEADER_BYTES))
    header = parse_header(data)
    if header.is_control:
        data = memoryview(segment.file.pread(position, size_bytes))
    return CheckedBatch(position, header, data)


def complete_swaps(folder: LogFolder) -> None:
    """Brings a compaction or deletion that a crash interrupted to one of its two ends.

    `.cleaned` files, and `.swap` files at or above the lowest of them, are dropped: the compaction had not finished and the old
    segments are all there. Otherwise the `.swap` files take the place of every segment in the range they cover. `.deleted` goes.
    """
    disk, directory = folder.node.disk, folder.path
    found = [(name, parsed) for name in disk.list_dir(directory) if (parsed := names.parse_file(name)) is not None]
    cleaned = [parsed[0] for _, parsed in found if parsed[2] == names.CLEANED]
    swaps = []
    for name, (offset, kind, suffix) in found:
        if suffix in (names.DELETED, names.CLEANED) or (suffix == names.SWAP and cleaned and offset >= min(cleaned)):
            disk.remove_now(f"{directory}/{name}")
        elif suffix == names.SWAP:
            swaps.append((offset, kind))
    ranges = [_swap_range(folder, offset) for offset, kind in swaps if kind == names.LOG]
    if ranges:
        low, high = min(first for first, _ in ranges), max(end for _, end in ranges)
        for name, (offset, kind, suffix) in found:
            if not suffix and kind != names.SNAPSHOT and low <= offset < high:
                disk.remove_now(f"{directory}/{name}")
    for offset, kind in swaps:
        disk.rename(names.segment_path(directory, offset, kind, names.SWAP), names.segment_path(directory, offset, kind))


def _swap_range(folder: LogFolder, base_offset: int) -> tuple[int, int]:
    """[first, end) of the offsets that a finished compaction's segment stands for."""
    path = names.segment_path(folder.path, base_offset, names.LOG, names.SWAP)
    end = base_offset
    for span in spans(folder.pool.get(path), 0, folder.pool.size(path)):
        end = span.last_offset + 1
    folder.pool.forget(path)
    return base_offset, max(end, base_offset + 1)
