"""What an idempotent producer was refused for the moment, so that no later batch of its overtakes it.

A producer sends batches ahead: R1, R2, R3. R2 is refused while the ISR is under its minimum, R3 arrives when it no longer is. Told
OUT_OF_ORDER_SEQUENCE_NUMBER, librdkafka begins a new epoch and sends again what it was not sure of, R1 included, which is in the log:
the record is there twice. (Apache Kafka answers so.) R3 is told what R2 was told instead: both come again, in their order. A producer
of which the log knows nothing may begin anywhere, so there R3 would even be taken before R2.

Kept for `KEPT_MS` and for at most `PRODUCERS_MAX` producers of partitions: one that gave its batch up is soon told of the gap.
"""

from __future__ import annotations

from msgspec import Struct

from broker_core.errors import CorruptData, ErrorCode, KafkaError
from broker_core.model import TopicPartition
from broker_core.records.header import BatchHeader, Buffer, parse_header
from broker_core.storage.producer_state import ProducerStateManager, next_sequence

KEPT_MS = 30_000
PRODUCERS_MAX = 4_096
FOR_THE_MOMENT = frozenset({ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.KAFKA_STORAGE_ERROR})
"""Errors before anything was appended, after which a producer sends the same batch again."""

Key = tuple[TopicPartition, int, int]
"""Partition, producer id, producer epoch."""


class Refused(Struct):
    """The sequences between `first` and `last` were refused with `code`; the last time at `at_ms` (monotonic)."""

    first: int
    last: int
    code: ErrorCode
    at_ms: float


class RefusedSequences:
    """One broker's notes, the oldest first."""

    def __init__(self) -> None:
        self._notes: dict[Key, Refused] = {}

    def note(self, tp: TopicPartition, data: Buffer, error: KafkaError, now_ms: float) -> None:
        """A client's batch was refused; only what was refused for the moment and has a sequence is kept."""
        header = _numbered(data) if error.code in FOR_THE_MOMENT else None
        if header is None:
            return
        key = (tp, header.producer_id, header.producer_epoch)
        before = self._notes.pop(key, None)
        first, last = header.base_sequence, header.last_sequence
        if before is not None and now_ms - before.at_ms <= KEPT_MS:
            first, last = min(first, before.first), max(last, before.last)
        elif len(self._notes) >= PRODUCERS_MAX:
            del self._notes[next(iter(self._notes))]
        self._notes[key] = Refused(first, last, error.code, now_ms)

    def check(self, tp: TopicPartition, data: Buffer, known: ProducerStateManager, now_ms: float) -> None:
        """Before an append to the log whose producers are `known`. `KafkaError` with the code of the refusal when the batch would overtake
        what was refused."""
        header = _numbered(data) if self._notes else None
        if header is None:
            return
        key = (tp, header.producer_id, header.producer_epoch)
        found = self._notes.get(key)
        if found is None:
            return
        entry = known.entries.get(header.producer_id)
        begun = entry is not None and entry.epoch == header.producer_epoch and entry.batches
        due = next_sequence(entry.last_sequence) if entry is not None and begun else found.first
        if now_ms - found.at_ms > KEPT_MS or due > found.last:
            del self._notes[key]
        elif header.base_sequence > due:
            raise KafkaError(
                found.code, f"producer {header.producer_id} sent sequence {header.base_sequence}, but {due} was refused and comes first"
            )


def _numbered(data: Buffer) -> BatchHeader | None:
    """The header of a batch that has a sequence."""
    try:
        header = parse_header(data)
    except CorruptData:
        return None
    return header if header.has_producer_id and header.base_sequence >= 0 else None
