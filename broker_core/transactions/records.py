"""Keys and values of `__transaction_state` in Kafka's binary formats (spec G5), so that either broker goes on from the other's topic.

| record | bytes |
|---|---|
| key | version i16 (0), transactional id |
| value | version i16 (0..1; written as 0), producer id i64, epoch i16, timeout ms i32, state i8, partitions (null in state Empty), |
| | last update ms i64, start ms i64 |

The partitions are an array of (topic, array of i32). Version 1 is the same in the flexible encoding (varint lengths + 1, tagged fields),
whose tags say more of the producer than is kept here; it is read, never written. A null value is a tombstone.
"""

from __future__ import annotations

import struct

from broker_core.coordinator_runtime.partition_writer import KeyValue
from broker_core.coordinator_runtime.wire import Reader, put_string
from broker_core.errors import CorruptData
from broker_core.model import TopicPartition
from broker_core.transactions.states import NUMBERS, STATES, TransactionState
from broker_core.transactions.transaction import NO_EPOCH, Target, Transaction

KEY_VERSION = 0
VALUE_VERSION = 0
FLEXIBLE_VERSION = 1
_NULL_ARRAY = struct.pack(">i", -1)


def transaction_record(transactional_id: str, target: Target) -> KeyValue:
    return encode_key(transactional_id), encode_value(target)


def tombstone(transactional_id: str) -> KeyValue:
    return encode_key(transactional_id), None


def encode_key(transactional_id: str) -> bytes:
    out = bytearray(struct.pack(">h", KEY_VERSION))
    put_string(out, transactional_id)
    return bytes(out)


def encode_value(target: Target) -> bytes:
    number = NUMBERS[target.state]
    out = bytearray(struct.pack(">hqhib", VALUE_VERSION, target.producer_id, target.epoch, target.timeout_ms, number))
    out += _NULL_ARRAY if target.state is TransactionState.EMPTY else _partitions(target.partitions)
    out += struct.pack(">qq", target.updated_ms, target.started_ms)
    return bytes(out)


def _partitions(partitions: tuple[TopicPartition, ...]) -> bytes:
    topics: dict[str, list[int]] = {}
    for topic, partition in partitions:
        topics.setdefault(topic, []).append(partition)
    out = bytearray(struct.pack(">i", len(topics)))
    for topic, numbers in topics.items():
        put_string(out, topic)
        out += struct.pack(f">i{len(numbers)}i", len(numbers), *numbers)
    return bytes(out)


def decode_key(data: bytes) -> str | None:
    """The transactional id; None of a record of a later release, which is left alone."""
    reader = Reader(data)
    return reader.string() if reader.int16() == KEY_VERSION else None


def decode_value(transactional_id: str, data: bytes) -> Transaction:
    reader = Reader(data)
    version = reader.int16()
    if not VALUE_VERSION <= version <= FLEXIBLE_VERSION:
        raise CorruptData(f"unknown version {version} of a value in __transaction_state")
    reader.flexible = version >= FLEXIBLE_VERSION
    producer_id, epoch, timeout_ms, number = reader.int64(), reader.int16(), reader.int32(), reader.int8()
    state = STATES.get(number)
    if state in (None, TransactionState.DEAD, TransactionState.PREPARE_EPOCH_FENCE):
        raise CorruptData(f"state {number} of a transaction in __transaction_state")
    assert state is not None
    partitions = dict.fromkeys(tp for _ in range(reader.array_length()) for tp in _topic(reader))
    updated_ms, started_ms = reader.int64(), reader.int64()
    reader.tagged_fields()
    return Transaction(
        transactional_id,
        producer_id,
        timeout_ms,
        updated_ms,
        epoch,
        previous_epoch=NO_EPOCH,
        state=state,
        partitions=partitions,
        started_ms=started_ms,
    )


def _topic(reader: Reader) -> list[TopicPartition]:
    topic = reader.string()
    found = [TopicPartition(topic, reader.int32()) for _ in range(reader.array_length())]
    reader.tagged_fields()
    return found
