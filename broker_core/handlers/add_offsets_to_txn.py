"""AddOffsetsToTxn v0–4: the offsets that a group is to commit are a part of the producer's transaction (spec G5)."""

from __future__ import annotations

from collections.abc import Iterable

from broker_core.errors import ErrorCode, KafkaError
from broker_core.handlers.common import failure
from broker_core.handlers.registry import Action, Answer, Operation, Request, Resource, handler
from broker_core.handlers.txn_codes import known_to
from broker_core.model import TopicPartition
from broker_core.protocol.api import ApiKey
from broker_core.transactions.transaction import Producer


def _needs(request: Request) -> Iterable[Action]:
    body = request.body
    return (
        Action(Operation.WRITE, Resource.TRANSACTIONAL_ID, body.transactional_id),
        Action(Operation.READ, Resource.GROUP, body.group_id),
    )


@handler(ApiKey.ADD_OFFSETS_TO_TXN, versions=range(0, 5), needs=_needs)
async def handle(request: Request) -> Answer:
    body, broker = request.body, request.broker
    code = ErrorCode.NONE
    try:
        topic = broker.groups.topic
        topic.find(body.group_id, request.connection.listener, broker.admin)  # has it created where it is not there yet
        partition = TopicPartition(topic.name, topic.partition_for(body.group_id))
        producer = Producer(body.producer_id, body.producer_epoch)
        await broker.transactions.add_partitions(body.transactional_id, producer, [partition])
    except KafkaError as error:
        code = known_to(request.version, failure(error)[0])
    return {"error_code": int(code)}
