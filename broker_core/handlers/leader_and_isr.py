"""LeaderAndIsr v0–7: the controller tells which partitions to lead and which to follow (spec Z5, R11)."""

from __future__ import annotations

from broker_core.coordination.store import StoreError
from broker_core.errors import CloseConnection
from broker_core.handlers.registry import Answer, Operation, Request, handler, on_cluster
from broker_core.protocol.api import ApiKey
from broker_core.protocol.codec import field


@handler(ApiKey.LEADER_AND_ISR, versions=range(0, 8), needs=on_cluster(Operation.CLUSTER_ACTION))
async def handle(request: Request) -> Answer:
    """Epoch checks, role changes and their per-partition errors are the replica manager's; settings are read before.

    Without the coordination store they cannot be read: the connection is closed, and the controller sends the request again.
    """
    topics = field(request.body, "topic_states", None)
    rows = field(request.body, "ungrouped_partition_states", ()) if topics is None else topics
    try:
        await request.broker.admin.watcher.ensure_loaded(row.topic_name for row in rows)
    except StoreError as error:
        raise CloseConnection(f"LeaderAndIsr needs topic settings that cannot be read: {error}") from error
    return await request.broker.replicas.become_leader_or_follower(request.body)
