"""Envelope v0: ends the connection, as in Kafka where nothing is forwarded to a KRaft controller (KIP-590)."""

from __future__ import annotations

from broker_core.errors import CloseConnection
from broker_core.handlers.registry import Answer, Operation, Request, handler, on_cluster
from broker_core.protocol.api import ApiKey


@handler(ApiKey.ENVELOPE, versions=range(0, 1), needs=on_cluster(Operation.CLUSTER_ACTION))
async def handle(request: Request) -> Answer:
    raise CloseConnection("a request was forwarded, and nothing is forwarded here")
