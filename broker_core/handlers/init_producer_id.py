"""InitProducerId v0–5: a producer id for an idempotent producer (spec G4).

A producer with a transactional id is refused for good, as by FindCoordinator already: this broker coordinates no transactions.
"""

from __future__ import annotations

from broker_core.errors import ErrorCode, KafkaError
from broker_core.handlers.common import failure
from broker_core.handlers.registry import Answer, Request, handler
from broker_core.protocol.api import ApiKey
from broker_core.protocol.codec import field

NO_PRODUCER_ID = -1
NO_PRODUCER_EPOCH = -1


@handler(ApiKey.INIT_PRODUCER_ID, versions=range(0, 6))
async def handle(request: Request) -> Answer:
    try:
        _check(request)
        producer_id = await request.broker.producer_ids.next_id()
    except KafkaError as error:
        return _payload(failure(error)[0], NO_PRODUCER_ID, NO_PRODUCER_EPOCH)
    return _payload(ErrorCode.NONE, producer_id, 0)


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


def _payload(error: ErrorCode, producer_id: int, epoch: int) -> Answer:
    return {"throttle_time": 0, "error_code": int(error), "producer_id": producer_id, "producer_epoch": epoch}
