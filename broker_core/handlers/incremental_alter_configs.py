"""IncrementalAlterConfigs v0–1 (KIP-339): sets, deletes, appends to or subtracts from single settings (spec O1)."""

from __future__ import annotations

from typing import Any

from broker_core.admin.configs import ConfigChange, ConfigOperation, ResourceType
from broker_core.errors import ErrorCode, KafkaError
from broker_core.handlers.common import failure
from broker_core.handlers.registry import Answer, Request, handler
from broker_core.protocol.api import ApiKey


@handler(ApiKey.INCREMENTAL_ALTER_CONFIGS, versions=range(0, 2))
async def handle(request: Request) -> Answer:
    """One row per resource; any broker may serve it, since the settings live in ZooKeeper."""
    return {"throttle_time": 0, "responses": [await _resource(request, resource) for resource in request.body.resources]}


async def _resource(request: Request, resource: Any) -> dict[str, Any]:
    row = {"resource_type": resource.resource_type, "resource_name": resource.resource_name}
    try:
        kind = ResourceType.of(resource.resource_type)
        changes = _changes(resource)
        await request.broker.admin.configs.alter(kind, resource.resource_name, changes, validate_only=request.body.validate_only)
    except Exception as error:
        code, message = failure(error)
        return row | {"error_code": int(code), "error_message": message}
    return row | {"error_code": int(ErrorCode.NONE), "error_message": None}


def _changes(resource: Any) -> list[ConfigChange]:
    changes = [ConfigChange(row.name, ConfigOperation.of(row.config_operation), row.value) for row in resource.configs]
    if len({change.name for change in changes}) != len(changes):
        raise KafkaError(ErrorCode.INVALID_REQUEST, "Error due to duplicate config keys")
    for change in changes:
        if change.value is None and change.operation is not ConfigOperation.DELETE:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"Null value not supported for : {change.name}")
    return changes
