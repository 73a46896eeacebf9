"""Produce v0–11: appends record batches to the partitions this broker leads (spec R5, R12, S3).

acks 0 is not answered; if anything failed the connection is closed, which is all a client can be told. acks 1 answers when
the leader has the records, acks -1 when the whole ISR has. Versions 0–2 may bring message sets, which are stored as batches.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from typing import Any

from broker_core.errors import CloseConnection, CorruptData, ErrorCode, KafkaError
from broker_core.handlers.produced import Produced
from broker_core.handlers.registry import Action, Answer, Frame, Later, Operation, Request, Resource, handler
from broker_core.handlers.txn_codes import unverified
from broker_core.model import TopicPartition
from broker_core.protocol.api import ApiKey
from broker_core.protocol.codec import field, millis
from broker_core.protocol.hot_produce import ProducedPartition
from broker_core.records.budget import Budget, refusal
from broker_core.records.compression import Codec
from broker_core.records.header import TRANSACTIONAL_BIT
from broker_core.records.legacy import is_legacy, up_converting
from broker_core.storage.log import AppendOrigin
from broker_core.transactions.transaction import Producer

BATCHES_ONLY_SINCE = 3
ZSTD_SINCE = 7
ABORTABLE_SINCE = 11
LEAST_MESSAGE_BYTES = 14
_LENGTH = struct.Struct(">i")
_LENGTH_AT, _MAGIC_AT, _ATTRIBUTES_AT, _COUNT_AT, _HEADER_BYTES = 8, 16, 21, 57, 61
_LENGTH_END = 12
_PRODUCER = struct.Struct(">qh")
_PRODUCER_AT = 43


def _needs(request: Request) -> Iterable[Action]:
    transactional_id = field(request.body, "transactional_id", None)
    if transactional_id is not None:
        yield Action(Operation.WRITE, Resource.TRANSACTIONAL_ID, transactional_id)
    yield from (Action(Operation.WRITE, Resource.TOPIC, topic.name) for topic in request.body.topic_data)


@handler(ApiKey.PRODUCE, versions=range(0, 12), needs=_needs)
async def handle(request: Request) -> Answer:
    """Every partition has its own result; those that are refused here never reach the log."""
    body = request.body
    if field(body, "transactional_id", None) is None and _any_transactional(body):
        return _refused(request, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    rows: dict[TopicPartition, ProducedPartition] = {}
    batches: dict[TopicPartition, bytes | memoryview] = {}
    transactional: list[TopicPartition] = []
    converted: list[TopicPartition] = []
    budget = request.broker.replicas.workbench.budget()
    for topic in body.topic_data:
        for data in topic.partition_data:
            tp = TopicPartition(topic.name, data.index)
            try:
                records = _checked(request, tp, data.records)
                if is_legacy(records):
                    batches[tp] = await _converted(request, tp, records, budget)
                    converted.append(tp)
                else:
                    batches[tp] = records
                    if records[_ATTRIBUTES_AT + 1] & TRANSACTIONAL_BIT:
                        transactional.append(tp)
            except KafkaError as error:
                rows[tp] = ProducedPartition(tp.partition, int(error.code), error_message=error.message)
    if transactional:
        rows |= await _unverified(request, {tp: batches[tp] for tp in transactional})
        batches = {tp: data for tp, data in batches.items() if tp not in rows}
    begun = await request.broker.replicas.appending.begin(
        batches, acks=body.acks, timeout_ms=millis(body.timeout), origin=AppendOrigin.CLIENT, budget=budget, made_here=converted
    )
    taken = [(tp, data) for tp, data in batches.items() if begun.results[tp].error_code is ErrorCode.NONE]
    sizes = {tp: (len(data), _LENGTH.unpack_from(data, _COUNT_AT)[0]) for tp, data in taken}
    produced = Produced(request)

    def answer() -> Frame:
        results = begun.finished()
        produced.count(results, sizes)
        return produced.answer(rows | produced.rows(results))

    if begun.replicated is not None and not begun.replicated.done():
        return Later(begun.replicated, answer)
    if body.acks != 0:
        return answer()
    results = begun.finished()
    produced.count(results, sizes)
    _close_if_failed(rows | produced.rows(results))
    return None


def _any_transactional(body: Any) -> bool:
    return any(_is_transactional(data.records) for topic in body.topic_data for data in topic.partition_data)


def _is_transactional(records: memoryview | None) -> bool:
    enough = records is not None and len(records) >= _HEADER_BYTES
    return records is not None and enough and records[_MAGIC_AT] == 2 and bool(records[_ATTRIBUTES_AT + 1] & TRANSACTIONAL_BIT)


async def _unverified(request: Request, batches: Mapping[TopicPartition, bytes | memoryview]) -> dict[TopicPartition, ProducedPartition]:
    """Those partitions in which the producer's transaction may not begin. A request of several producers is refused, as in Kafka."""
    producers = {Producer(*_PRODUCER.unpack_from(data, _PRODUCER_AT)) for data in batches.values()}
    if len(producers) > 1:
        raise KafkaError(ErrorCode.INVALID_PRODUCER_ID_MAPPING, f"a request with batches of {len(producers)} transactional producers")
    codes = await request.broker.verifier.refused(request.body.transactional_id, producers.pop(), list(batches))
    told = {
        tp: unverified(code, unheard=ErrorCode.NOT_ENOUGH_REPLICAS, knows_abortable=request.version >= ABORTABLE_SINCE)
        for tp, code in codes.items()
    }
    errors = {tp: KafkaError(code, f"the transaction may not begin in {tp}: {codes[tp].name}") for tp, code in told.items()}
    for tp, error in errors.items():
        request.broker.replicas.appending.not_taken(tp, batches[tp], error)
    return {tp: ProducedPartition(tp.partition, int(error.code), error_message=error.message) for tp, error in errors.items()}


def _refused(request: Request, code: ErrorCode) -> Answer:
    """The same failure for every partition of the request."""
    wanted = [TopicPartition(topic.name, data.index) for topic in request.body.topic_data for data in topic.partition_data]
    rows = {tp: ProducedPartition(tp.partition, int(code)) for tp in wanted}
    if request.body.acks == 0:
        _close_if_failed(rows)
        return None
    return Produced(request).answer(rows)


def _checked(request: Request, tp: TopicPartition, records: memoryview | None) -> memoryview:
    """The records: one batch, or in old versions a message set; or what is wrong with them."""
    if not records:
        raise KafkaError(ErrorCode.INVALID_RECORD, f"no records for {tp}")
    if is_legacy(records):
        if request.version >= BATCHES_ONLY_SINCE:
            raise KafkaError(ErrorCode.INVALID_RECORD, f"Produce v{request.version} brings batches of magic 2, not {records[_MAGIC_AT]}")
        return records
    if len(records) < _HEADER_BYTES:
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, f"{len(records)} bytes for {tp} are no record batch")
    records = _one_batch(tp, records)
    if request.version < ZSTD_SINCE and records[_ATTRIBUTES_AT + 1] & 7 == Codec.ZSTD:
        raise KafkaError(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, f"Produce v{request.version} must not bring zstd; v{ZSTD_SINCE} may")
    return records


def _one_batch(tp: TopicPartition, records: memoryview) -> memoryview:
    """The only batch of the records, without an incomplete one after it."""
    end = _end_of_batch(tp, records)
    if end > len(records):
        raise KafkaError(ErrorCode.INVALID_RECORD, f"the records for {tp} are not one whole batch")
    rest = records[end:]
    if len(rest) > _MAGIC_AT and _end_of_batch(tp, rest) <= len(rest):
        raise KafkaError(ErrorCode.INVALID_RECORD, f"the records for {tp} are more than one batch")
    return records[:end]


def _end_of_batch(tp: TopicPartition, records: memoryview) -> int:
    length: int = _LENGTH.unpack_from(records, _LENGTH_AT)[0]
    if length < LEAST_MESSAGE_BYTES:
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, f"{length} bytes for {tp} are less than any message has")
    return length + _LENGTH_END


async def _converted(request: Request, tp: TopicPartition, records: memoryview, budget: Budget) -> bytes:
    """A message set as a batch; others run meanwhile, but no later request of the same connection."""
    try:
        return await request.broker.replicas.workbench.run(up_converting(records, budget), budget)
    except CorruptData as error:
        told = refusal(error)
        raise KafkaError(told.code, f"the message set for {tp} is not taken: {told.message}") from None


def _close_if_failed(rows: dict[TopicPartition, ProducedPartition]) -> None:
    failed = {tp: row for tp, row in rows.items() if row.error_code}
    if failed:
        tp, row = next(iter(failed.items()))
        raise CloseConnection(f"acks=0 and {len(failed)} partition(s) failed; {tp}: {ErrorCode(row.error_code).name}")
