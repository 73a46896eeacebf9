"""InitProducerId v0–5: a producer id for an idempotent producer (spec G4).

A producer with a transactional id is refused for good, as by FindCoordinator already: this broker coordinates no transactions.
"""

from __future__ import annotations

from collections.abc import Iterable

from broker_core.errors import ErrorCode, KafkaError
from broker_core.handlers.common import failure
from broker_core.handlers.registry import CLUSTER, Action, Answer, Operation, Request, Resource, handler
from broker_core.protocol.api import ApiKey
from broker_core.protocol.codec import field

NO_PRODUCER_ID = -1
NO_PRODUCER_EPOCH = -1


def _needs(request: Request) -> Iterable[Action]:
    transactional_id = request.body.transactional_id
    if transactional_id is None:
        return (Action(Operation.IDEMPOTENT_WRITE, Resource.CLUSTER, CLUSTER),)
    return (Action(Operation.WRITE, Resource.TRANSACTIONAL_ID, transactional_id),)


@handler(ApiKey.INIT_PRODUCER_ID, versions=range(0, 6), needs=_needs)
async def handle(request: Request) -> Answer:
    try:
        _check(request)
        producer_id = await request.broker.producer_ids.next_id()
    except KafkaError as error:
        return {"error_code": int(failure(error)[0]), "producer_id": NO_PRODUCER_ID, "producer_epoch": NO_PRODUCER_EPOCH}
    return {"error_code": int(ErrorCode.NONE), "producer_id": producer_id, "producer_epoch": 0}


def _check(request: Request) -> None:
    transactional_id = request.body.transactional_id
    known_id = field(request.body, "producer_id", NO_PRODUCER_ID)
    known_epoch = field(request.body, "producer_epoch", NO_PRODUCER_EPOCH)
    if (known_id == NO_PRODUCER_ID) != (known_epoch == NO_PRODUCER_EPOCH):
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"producer id {known_id} with epoch {known_epoch}")
    if transactional_id == "":
        raise KafkaError(ErrorCode.INVALID_REQUEST, "the transactional id is empty")
    if transactional_id is not None:
        raise KafkaError(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, "this broker coordinates no transactions")
