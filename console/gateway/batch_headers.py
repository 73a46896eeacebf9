"""Who wrote a topic's records: headers of their batches, which librdkafka does not tell, control records and those of aborted
transactions, which it leaves out.

Raw answers to small fetches, read by kafka-python; what a batch holds is not unpacked. Blocking, for the reading process alone.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

import kafka.errors
from kafka.protocol.consumer import FetchRequest
from kafka.protocol.metadata import MetadataRequest
from kafka.record import MemoryRecords

from broker_core.errors import ErrorCode
from console.gateway.asked_cluster import AskedCluster
from console.gateway.connection import Connection
from console.gateway.errors import GatewayError, from_code
from console.rules.records.origin import Aborted, Batch, Marker, with_outcomes

FETCH_BYTES = 64 * 1024
"""Asked for at once; a larger batch comes whole, as KIP-74 has it."""
UNCOMMITTED, COMMITTED = 0, 1
BY_NAME = 12
"""The last version of Fetch that names topics."""
STRETCH_BYTES = 1024 * 1024
"""The same, of offsets that are passed over."""
WAIT_MS = 500
KEPT_MAX = 10_000
MARKERS: dict[int, Marker] = {0: "abort", 1: "commit"}
NEW_FORMAT = 2
UNREADABLE = (kafka.errors.KafkaError, struct.error, ValueError, IndexError, AssertionError)


class BatchHeaders:
    """Of one topic. Methods raise `GatewayError`."""

    def __init__(self, connection: Connection, topic: str) -> None:
        self._asked, self._topic = AskedCluster(connection), topic
        self._leaders: dict[int, int] = {}
        self._known: dict[int, list[Batch]] = {}

    def close(self) -> None:
        self._asked.close()

    def at(self, partition: int, offset: int) -> Batch | None:
        """The batch that has the offset; None where none has."""
        found = self._next(partition, offset)
        return found if found is not None and found.base_offset <= offset else None

    def between(self, partition: int, first: int, until: int) -> Iterator[Batch]:
        """Those that have offsets from `first` to `until` (exclusive)."""
        at = first
        while at < until:
            found = self._next(partition, at, STRETCH_BYTES)
            if found is None:
                raise GatewayError("NOT_READ", f"partition {partition} has nothing that can be read at offset {at}")
            if found.base_offset < until:
                yield found
            at = found.last_offset + 1

    def _next(self, partition: int, offset: int, size: int = FETCH_BYTES) -> Batch | None:
        """The batch that has the offset, else the first one behind it that the same answer has."""
        known = self._known.get(partition, [])
        found = _holding(known, offset)
        if found is None:
            fetched = self._fetched(partition, offset, size)
            self._known[partition] = [*known, *fetched][-KEPT_MAX:]
            found = next((one for one in fetched if one.last_offset >= offset), None)
        return found

    def _fetched(self, partition: int, offset: int, size: int) -> list[Batch]:
        try:
            return self._decided(partition, offset, size)
        except GatewayError as error:
            if error.code not in (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION):
                raise
            self._leaders = {}
            return self._decided(partition, offset, size)

    def _decided(self, partition: int, offset: int, size: int) -> list[Batch]:
        """With what became of their transactions, up to where the first one is open; from there on without."""
        raw, aborted = self._fetch(partition, offset, size, COMMITTED)
        found = with_outcomes(_batches(raw), aborted)
        return found if any(one.last_offset >= offset for one in found) else _batches(self._fetch(partition, offset, size, UNCOMMITTED)[0])

    def _fetch(self, partition: int, offset: int, size: int, isolation: int) -> tuple[bytes, list[Aborted]]:
        topic = FetchRequest.FetchTopic
        row = topic.FetchPartition(partition=partition, fetch_offset=offset, partition_max_bytes=size)
        request = FetchRequest(
            max_wait_ms=WAIT_MS,
            min_bytes=0,
            max_bytes=size,
            isolation_level=isolation,
            topics=[topic(topic=self._topic, partitions=[row])],
            max_version=BY_NAME,
        )
        answer = self._asked.send(request, self._leader(partition))
        _check(answer.error_code if hasattr(answer, "error_code") else 0)
        for found in (row for one in answer.responses for row in one.partitions):
            if found.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
                return b"", []
            _check(found.error_code)
            return bytes(found.records or b""), [(one.producer_id, one.first_offset) for one in found.aborted_transactions or ()]
        return b"", []

    def _leader(self, partition: int) -> int:
        if partition not in self._leaders:
            wanted = [MetadataRequest.MetadataRequestTopic(name=self._topic)]
            answer = self._asked.send(MetadataRequest(topics=wanted, allow_auto_topic_creation=False, max_version=9), None)
            self._leaders = {row.partition_index: row.leader_id for one in answer.topics for row in one.partitions}
        leader = self._leaders.get(partition, -1)
        if leader < 0:
            raise from_code(ErrorCode.LEADER_NOT_AVAILABLE, None)
        return leader


def _holding(known: list[Batch], offset: int) -> Batch | None:
    return next((one for one in reversed(known) if one.base_offset <= offset <= one.last_offset), None)


def _check(code: int) -> None:
    if code:
        raise from_code(code, None)


def _batches(raw: bytes) -> list[Batch]:
    """Up to what cannot be read."""
    found: list[Batch] = []
    try:
        records = MemoryRecords(raw)
        while records.has_next():
            batch = records.next_batch()
            if batch is None:
                break
            found.append(_batch(batch) if batch.magic >= NEW_FORMAT else _old(batch))
    except UNREADABLE:
        pass
    return found


def _batch(batch: Any) -> Batch:
    has_producer = batch.producer_id >= 0
    return Batch(
        base_offset=batch.base_offset,
        last_offset=batch.base_offset + max(batch.last_offset_delta, 0),
        timestamp_ms=batch.max_timestamp,
        producer_id=batch.producer_id if has_producer else None,
        producer_epoch=batch.producer_epoch if has_producer else None,
        records=batch.records_count,
        base_sequence=batch.base_sequence if has_producer and batch.base_sequence >= 0 else None,
        transactional=bool(batch.is_transactional),
        control=_marker(batch) if batch.is_control_batch else None,
    )


def _marker(batch: Any) -> Marker:
    """KIP-98: the key of the only record is its version and its type."""
    key = next(iter(batch)).key
    return MARKERS.get(struct.unpack(">hh", key[:4])[1], "other")


def _old(batch: Any) -> Batch:
    """Of message formats 0 and 1, which know no producers; a compressed one tells its last offset."""
    offsets = [record.offset for record in batch]
    return Batch(base_offset=offsets[0], last_offset=offsets[-1], timestamp_ms=None, records=len(offsets))
