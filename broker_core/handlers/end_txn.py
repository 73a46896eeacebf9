"""EndTxn v0–4: a producer commits or aborts its transaction (spec G5). Answered once that is decided; the markers follow."""

from __future__ import annotations

from collections.abc import Iterable

from broker_core.errors import ErrorCode, KafkaError
from broker_core.handlers.common import failure
from broker_core.handlers.registry import Action, Answer, Operation, Request, Resource, handler
from broker_core.handlers.txn_codes import known_to
from broker_core.protocol.api import ApiKey
from broker_core.transactions.transaction import Producer


def _needs(request: Request) -> Iterable[Action]:
    return (Action(Operation.WRITE, Resource.TRANSACTIONAL_ID, request.body.transactional_id),)


@handler(ApiKey.END_TXN, versions=range(0, 5), needs=_needs)
async def handle(request: Request) -> Answer:
    body = request.body
    code = ErrorCode.NONE
    try:
        producer = Producer(body.producer_id, body.producer_epoch)
        await request.broker.transactions.end(body.transactional_id, producer, commit=body.committed)
    except KafkaError as error:
        code = known_to(request.version, failure(error)[0])
    return {"error_code": int(code)}
