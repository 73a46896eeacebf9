"""ListTransactions v0–1: the transactional ids that this broker coordinates (KIP-664), from v1 on those whose transaction lasts long."""

from __future__ import annotations

from broker_core.handlers.registry import Answer, Request, handler, nothing
from broker_core.protocol.api import ApiKey
from broker_core.protocol.codec import field
from broker_core.transactions.states import TransactionState
from broker_core.transactions.transaction import NOT_STARTED, Transaction

NO_DURATION = -1


@handler(ApiKey.LIST_TRANSACTIONS, versions=range(0, 2), needs=nothing)
async def handle(request: Request) -> Answer:
    body = request.body
    code, found = request.broker.transactions.listed()
    names = {state.value for state in TransactionState}
    states, producers = frozenset(body.state_filters), frozenset(body.producer_id_filters)
    least_ms, now_ms = field(body, "duration_filter", NO_DURATION), request.broker.node.clock.now_ms()
    rows = [
        {"transactional_id": txn.transactional_id, "producer_id": txn.producer_id, "transaction_state": txn.state.value}
        for txn in found
        if (not states or txn.state.value in states)
        and (not producers or txn.producer_id in producers)
        and (least_ms < 0 or _lasts_ms(txn, now_ms) > least_ms)
    ]
    return {
        "error_code": int(code),
        "unknown_state_filters": [name for name in body.state_filters if name not in names],
        "transaction_states": rows,
    }


def _lasts_ms(txn: Transaction, now_ms: int) -> int:
    return -1 if txn.started_ms == NOT_STARTED else now_ms - txn.started_ms
