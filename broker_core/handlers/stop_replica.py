"""StopReplica v0–4: the controller takes replicas out of service or deletes them (spec Z5)."""

from __future__ import annotations

from broker_core.handlers.registry import Answer, Operation, Request, handler, on_cluster
from broker_core.protocol.api import ApiKey


@handler(ApiKey.STOP_REPLICA, versions=range(0, 5), needs=on_cluster(Operation.CLUSTER_ACTION))
async def handle(request: Request) -> Answer:
    """Epoch checks and deletion are the replica manager's."""
    return await request.broker.replicas.stop_replicas(request.body)
