"""Reads a partition of a coordinator's topic from start to end, in slices, so that the broker goes on serving meanwhile.

The topic is compacted, which makes its log its own snapshot: the last record of each key that has not ended, and what came since.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Protocol

from broker_core.coordinator_runtime.ownership import Tenure
from broker_core.errors import CorruptData
from broker_core.model import TopicPartition
from broker_core.records.batch import BatchHeader, Record, iter_headers, reading_records
from broker_core.records.budget import Budget
from broker_core.records.steps import Steps
from broker_core.seams import Node
from broker_core.storage.log import PartitionLog
from broker_core.storage.slices import in_slices

log = logging.getLogger(__name__)

RECORDS_PER_SLICE = 200
MAX_READ_BYTES = 1 << 20
_COMMIT_MARKER = b"\x00\x01"


class Playback(Protocol):
    """Takes a partition's batches in log order. `skipped` counts records that could not be read or are of a later release."""

    skipped: int

    def batch(self, base_offset: int, producer_id: int | None, records: Iterable[tuple[bytes | None, bytes | None]]) -> None:
        """One data batch; `producer_id` is None for one that is not part of a transaction."""

    def marker(self, producer_id: int, *, commit: bool) -> None:
        """The end of a producer's transaction."""


async def play_back(node: Node, leader_log: PartitionLog, playback: Playback, tenure: Tenure, buffer_bytes: int) -> int:
    """From the log's start to its end, at most `buffer_bytes` at a time; stops early once the tenure is over. Returns the bytes read."""
    position, bytes_read, since_pause = leader_log.log_start_offset, 0, 0
    while tenure.is_loading and position < (leader_log := leader_log.newest).log_end_offset:
        log_slice = leader_log.read(position, min(buffer_bytes, MAX_READ_BYTES), leader_log.log_end_offset, True)
        if log_slice.records is None or log_slice.next_offset <= position:
            break
        position = log_slice.next_offset
        data = log_slice.records.file.pread(log_slice.records.position, log_slice.records.length)
        bytes_read += len(data)
        for start, header in iter_headers(data):
            await in_slices(node, _batch(leader_log.topic_partition, playback, data, start, header))
            since_pause += header.record_count
            if since_pause >= RECORDS_PER_SLICE:
                since_pause = 0
                await node.clock.sleep(0)
                if not tenure.is_loading:
                    break
    return bytes_read


def _batch(tp: TopicPartition, playback: Playback, data: bytes, start: int, header: BatchHeader) -> Steps[None]:
    """One that cannot be read is left out: nothing of the partition could be served at all otherwise."""
    try:
        for records in (yield from reading_records(data, start, header, Budget())):
            _records(playback, header, records)
            yield
    except CorruptData as error:
        log.error("unreadable batch left out", extra={"partition": str(tp), "offset": header.base_offset, "error": str(error)})
        playback.skipped += header.record_count


def _records(playback: Playback, header: BatchHeader, records: list[Record]) -> None:
    if header.is_control:
        playback.marker(header.producer_id, commit=(records[0].key or b"")[2:4] == _COMMIT_MARKER)
    else:
        producer_id = header.producer_id if header.is_transactional else None
        playback.batch(header.base_offset, producer_id, [(record.key, record.value) for record in records])
