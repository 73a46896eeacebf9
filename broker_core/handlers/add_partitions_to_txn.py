"""AddPartitionsToTxn v0–5: what a producer is about to write to is a part of its transaction (spec G5).

Up to v3 a producer asks for its one transaction. From v4 on brokers ask, for any number of them, and mostly only whether the partitions
are a part of it (KIP-890).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from broker_core.errors import ErrorCode, KafkaError
from broker_core.handlers.common import by_topic, failure, partitions_of
from broker_core.handlers.registry import CLUSTER, Action, Answer, Operation, Request, Resource, handler
from broker_core.handlers.txn_codes import known_to
from broker_core.model import TopicPartition
from broker_core.protocol.api import ApiKey
from broker_core.transactions.transaction import Producer

BATCHED_SINCE = 4

Outcomes = Mapping[TopicPartition, ErrorCode]


def _needs(request: Request) -> Iterable[Action]:
    body = request.body
    if request.version >= BATCHED_SINCE:
        return (Action(Operation.CLUSTER_ACTION, Resource.CLUSTER, CLUSTER),)
    named = (Action(Operation.WRITE, Resource.TOPIC, topic.name) for topic in body.v3_and_below_topics)
    return (Action(Operation.WRITE, Resource.TRANSACTIONAL_ID, body.v3_and_below_transactional_id), *named)


@handler(ApiKey.ADD_PARTITIONS_TO_TXN, versions=range(0, 6), needs=_needs)
async def handle(request: Request) -> Answer:
    body = request.body
    if request.version < BATCHED_SINCE:
        producer = Producer(body.v3_and_below_producer_id, body.v3_and_below_producer_epoch)
        partitions = partitions_of(body.v3_and_below_topics, indexes="partitions")
        outcomes = await _added(request, body.v3_and_below_transactional_id, producer, partitions)
        return {"results_by_topic_v3_and_below": _rows(outcomes)}
    results = []
    for asked in body.transactions:
        producer, partitions = Producer(asked.producer_id, asked.producer_epoch), partitions_of(asked.topics, indexes="partitions")
        answer = _verified if asked.verify_only else _added
        outcomes = await answer(request, asked.transactional_id, producer, partitions)
        results.append({"transactional_id": asked.transactional_id, "topic_results": _rows(outcomes)})
    return {"error_code": int(ErrorCode.NONE), "results_by_transaction": results}


async def _added(request: Request, transactional_id: str, producer: Producer, partitions: list[TopicPartition]) -> Outcomes:
    """All of them or none."""
    unknown = [tp for tp in partitions if request.broker.metadata.partition(tp) is None]
    if unknown:
        refused = dict.fromkeys(partitions, ErrorCode.OPERATION_NOT_ATTEMPTED)
        return refused | dict.fromkeys(unknown, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    code = ErrorCode.NONE
    try:
        await request.broker.transactions.add_partitions(transactional_id, producer, partitions)
    except KafkaError as error:
        code = known_to(request.version, failure(error)[0])
    return dict.fromkeys(partitions, code)


async def _verified(request: Request, transactional_id: str, producer: Producer, partitions: list[TopicPartition]) -> Outcomes:
    try:
        return await request.broker.transactions.verify(transactional_id, producer, partitions)
    except KafkaError as error:
        return dict.fromkeys(partitions, failure(error)[0])


def _rows(outcomes: Outcomes) -> list[dict[str, Any]]:
    return [
        {
            "name": topic,
            "results_by_partition": [{"partition_index": index, "partition_error_code": int(code)} for index, code in codes.items()],
        }
        for topic, codes in by_topic(outcomes).items()
    ]
