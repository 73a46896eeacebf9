"""LeaderAndIsr v0–7: the controller tells which partitions to lead and which to follow (SOURCES Z5, R11)."""

from __future__ import annotations

from broker_core.handlers.registry import Answer, Request, handler
from broker_core.protocol.api import ApiKey


@handler(ApiKey.LEADER_AND_ISR, versions=range(0, 8))
async def handle(request: Request) -> Answer:
    """Epoch checks, role changes and their per-partition errors are the replica manager's."""
    return await request.broker.replicas.become_leader_or_follower(request.body)
