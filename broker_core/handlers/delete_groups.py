"""DeleteGroups v0–2: empty groups and their offsets are removed; answered once the tombstones are replicated."""

from __future__ import annotations

from broker_core.handlers.registry import Answer, Request, handler
from broker_core.protocol.api import ApiKey


@handler(ApiKey.DELETE_GROUPS, versions=range(0, 3))
async def handle(request: Request) -> Answer:
    outcomes = await request.broker.groups.delete(request.body.groups_names)
    return {
        "throttle_time": 0,
        "results": [{"group_id": group_id, "error_code": int(error)} for group_id, error in outcomes.items()],
    }
