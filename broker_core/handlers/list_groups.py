"""ListGroups v0–5: the groups this broker coordinates, filtered by state (v4) and type (v5); all are of type classic."""

from __future__ import annotations

from broker_core.groups.summary import CLASSIC
from broker_core.handlers.registry import Answer, Operation, Request, handler, on_cluster
from broker_core.protocol.api import ApiKey
from broker_core.protocol.codec import field


@handler(ApiKey.LIST_GROUPS, versions=range(0, 6), needs=on_cluster(Operation.DESCRIBE))
async def handle(request: Request) -> Answer:
    states = field(request.body, "states_filter", None) or ()
    types = field(request.body, "types_filter", None) or ()
    error, groups = request.broker.groups.list_groups(states, types)
    return {
        "error_code": int(error),
        "groups": [
            {"group_id": group.group_id, "protocol_type": group.protocol_type, "group_state": group.state.value, "group_type": CLASSIC}
            for group in groups
        ],
    }
