"""A look at one replica's log (vendor key 32001, not in ApiVersions); see `telemetry/log_looks.py`."""

from __future__ import annotations

from broker_core.contract.log_look import LookAnswer
from broker_core.errors import KafkaError
from broker_core.handlers.common import failure
from broker_core.handlers.registry import Answer, Operation, Request, handler, on_cluster
from broker_core.telemetry.log_looks import LOG_LOOK_KEY, LOG_LOOK_VERSION, encode_answer, parse_look


@handler(LOG_LOOK_KEY, versions=range(LOG_LOOK_VERSION, LOG_LOOK_VERSION + 1), needs=on_cluster(Operation.DESCRIBE))
async def handle(request: Request) -> Answer:
    try:
        answer = LookAnswer(await request.broker.log_looks.look(parse_look(request.body), request.broker.broker_epoch()))
    except KafkaError as error:
        code, message = failure(error)
        answer = LookAnswer(None, int(code), message)
    return lambda _: [encode_answer(request.header.correlation_id, answer)]
