"""DeleteGroups v0–2: empty groups and their offsets are removed; answered once the tombstones are replicated."""

from __future__ import annotations

from broker_core.handlers.registry import Answer, Operation, Request, handler, on_group
from broker_core.protocol.api import ApiKey


@handler(ApiKey.DELETE_GROUPS, versions=range(0, 3), needs=on_group(Operation.DELETE, "groups_names"))
async def handle(request: Request) -> Answer:
    outcomes = await request.broker.groups.delete(request.body.groups_names)
    return {
        "results": [{"group_id": group_id, "error_code": int(error)} for group_id, error in outcomes.items()],
    }
