"""InitProducerId v0–5: a producer id for an idempotent producer (spec G4), or the next epoch of a transactional one (spec G5)."""

from __future__ import annotations

from collections.abc import Iterable

from broker_core.errors import ErrorCode, KafkaError
from broker_core.handlers.common import failure
from broker_core.handlers.registry import CLUSTER, Action, Answer, Operation, Request, Resource, handler
from broker_core.handlers.txn_codes import known_to
from broker_core.protocol.api import ApiKey
from broker_core.protocol.codec import field, millis
from broker_core.transactions.transaction import NEW_PRODUCER, NO_EPOCH, NO_PRODUCER_ID, Producer

FENCED_SINCE = 4


def _needs(request: Request) -> Iterable[Action]:
    transactional_id = request.body.transactional_id
    if transactional_id is None:
        return (Action(Operation.IDEMPOTENT_WRITE, Resource.CLUSTER, CLUSTER),)
    return (Action(Operation.WRITE, Resource.TRANSACTIONAL_ID, transactional_id),)


@handler(ApiKey.INIT_PRODUCER_ID, versions=range(0, 6), needs=_needs)
async def handle(request: Request) -> Answer:
    try:
        producer = await _initialized(request)
    except KafkaError as error:
        code = known_to(request.version, failure(error)[0], FENCED_SINCE)
        return {"error_code": int(code), "producer_id": NO_PRODUCER_ID, "producer_epoch": NO_EPOCH}
    return {"error_code": int(ErrorCode.NONE), "producer_id": producer.producer_id, "producer_epoch": producer.epoch}


async def _initialized(request: Request) -> Producer:
    body = request.body
    known = Producer(field(body, "producer_id", NO_PRODUCER_ID), field(body, "producer_epoch", NO_EPOCH))
    if (known.producer_id == NO_PRODUCER_ID) != (known.epoch == NO_EPOCH):
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"producer id {known.producer_id} with epoch {known.epoch}")
    if body.transactional_id is None:
        return Producer(await request.broker.producer_ids.next_id(), 0)
    if body.transactional_id == "":
        raise KafkaError(ErrorCode.INVALID_REQUEST, "the transactional id is empty")
    said = NEW_PRODUCER if known.producer_id == NO_PRODUCER_ID else known
    return await request.broker.transactions.initialize(body.transactional_id, millis(body.transaction_timeout), said)
