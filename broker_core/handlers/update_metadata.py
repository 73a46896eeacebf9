"""UpdateMetadata v0–8: the controller tells every broker who leads what and who is alive (spec Z4, Z5)."""

from __future__ import annotations

from broker_core.handlers.registry import Answer, Operation, Request, handler, on_cluster
from broker_core.protocol.api import ApiKey


@handler(ApiKey.UPDATE_METADATA, versions=range(0, 9), needs=on_cluster(Operation.CLUSTER_ACTION))
async def handle(request: Request) -> Answer:
    """Epoch checks are the replica manager's, which shares the controller epoch with LeaderAndIsr."""
    return request.broker.replicas.update_metadata(request.body)
