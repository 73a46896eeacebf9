"""AlterClientQuotas v0–1 (KIP-546): sets and takes away limits of users, client ids and addresses."""

from __future__ import annotations

from typing import Any

from broker_core.errors import ErrorCode
from broker_core.handlers.common import failure
from broker_core.handlers.registry import Answer, Operation, Request, handler, on_cluster
from broker_core.protocol.api import ApiKey


@handler(ApiKey.ALTER_CLIENT_QUOTAS, versions=range(0, 2), needs=on_cluster(Operation.ALTER_CONFIGS))
async def handle(request: Request) -> Answer:
    """One row per entity, with what became of its last entry; any broker may serve it, since quotas live in ZooKeeper."""
    rows = {}
    for entry in request.body.entries:
        entity = {part.entity_type: part.entity_name for part in entry.entity}
        rows[frozenset(entity.items())] = await _altered(request, entity, entry)
    return {"entries": list(rows.values())}


async def _altered(request: Request, entity: dict[str, str | None], entry: Any) -> dict[str, Any]:
    code: ErrorCode = ErrorCode.NONE
    message: str | None = None
    changes = [(op.key, None if op.remove else op.value) for op in entry.ops]
    try:
        await request.broker.admin.quotas.alter(entity, changes, validate_only=request.body.validate_only)
    except Exception as error:
        code, message = failure(error)
    names = [{"entity_type": kind, "entity_name": name} for kind, name in entity.items()]
    return {"error_code": int(code), "error_message": message, "entity": names}
