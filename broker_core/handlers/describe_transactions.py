"""DescribeTransactions v0: what the coordinator knows of transactional ids (KIP-664)."""

from __future__ import annotations

from typing import Any

from broker_core.errors import ErrorCode, KafkaError
from broker_core.handlers.common import by_topic, failure
from broker_core.handlers.registry import Action, Answer, Operation, Request, Resource, handler
from broker_core.protocol.api import ApiKey
from broker_core.transactions.transaction import Transaction

_EMPTY = {
    "transaction_state": "",
    "transaction_timeout": 0,
    "transaction_start_time": 0,
    "producer_id": 0,
    "producer_epoch": 0,
    "topics": [],
}
"""The fields of an answer that has only an error, as Kafka leaves them."""


@handler(
    ApiKey.DESCRIBE_TRANSACTIONS,
    versions=range(0, 1),
    needs=lambda request: [Action(Operation.DESCRIBE, Resource.TRANSACTIONAL_ID, name) for name in request.body.transactional_ids],
)
async def handle(request: Request) -> Answer:
    """One row per id asked for, however often it is named."""
    return {"transaction_states": [_described(request, name) for name in dict.fromkeys(request.body.transactional_ids)]}


def _described(request: Request, transactional_id: str) -> dict[str, Any]:
    row: dict[str, Any] = {"transactional_id": transactional_id}
    try:
        return row | _row(request.broker.transactions.describe(transactional_id))
    except KafkaError as error:
        return row | _EMPTY | {"error_code": int(failure(error)[0])}


def _row(txn: Transaction) -> dict[str, Any]:
    return {
        "error_code": int(ErrorCode.NONE),
        "transaction_state": txn.state.value,
        "transaction_timeout": txn.timeout_ms,
        "transaction_start_time": txn.started_ms,
        "producer_id": txn.producer_id,
        "producer_epoch": txn.epoch,
        "topics": [{"topic": topic, "partitions": list(rows)} for topic, rows in by_topic(txn.partitions).items()],
    }
