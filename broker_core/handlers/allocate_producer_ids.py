"""AllocateProducerIds v0: a broker asks the controller for the next block of producer ids (KIP-730), as those of Apache Kafka do since
3.0. Ours take theirs from the store themselves: whoever takes one, the same znode says which is next."""

from __future__ import annotations

from broker_core.coordination.store import StoreError
from broker_core.errors import ErrorCode, KafkaError
from broker_core.handlers.registry import Answer, Operation, Request, Scope, handler, on_cluster
from broker_core.protocol.api import ApiKey
from broker_core.transactions.producer_ids import take_block


@handler(ApiKey.ALLOCATE_PRODUCER_IDS, versions=range(0, 1), needs=on_cluster(Operation.CLUSTER_ACTION), scope=Scope.CLUSTER)
async def handle(request: Request) -> Answer:
    broker = request.broker
    broker.controller.check_registered(request.body.broker_id, request.body.broker_epoch)
    try:
        block = await take_block(broker.node.store, broker.broker_id)
    except StoreError as error:
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, f"no block of producer ids could be had: {error}") from error
    return {"error_code": int(ErrorCode.NONE), "producer_id_start": block.first, "producer_id_len": block.last - block.first + 1}
