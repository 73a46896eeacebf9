"""AlterConfigs v0–2: replaces all settings of a topic or broker (the older form of IncrementalAlterConfigs)."""

from __future__ import annotations

from typing import Any

from broker_core.admin.configs import ResourceType
from broker_core.errors import ErrorCode, KafkaError
from broker_core.handlers.common import failure
from broker_core.handlers.registry import Answer, Request, handler
from broker_core.protocol.api import ApiKey


@handler(ApiKey.ALTER_CONFIGS, versions=range(0, 3))
async def handle(request: Request) -> Answer:
    """One row per resource; any broker may serve it, since the settings live in ZooKeeper."""
    return {"throttle_time": 0, "responses": [await _resource(request, resource) for resource in request.body.resources]}


async def _resource(request: Request, resource: Any) -> dict[str, Any]:
    row = {"resource_type": resource.resource_type, "resource_name": resource.resource_name}
    try:
        kind = ResourceType.of(resource.resource_type)
        changes = {config.name: config.value for config in resource.configs}
        if len(changes) != len(resource.configs):
            raise KafkaError(ErrorCode.INVALID_REQUEST, "a setting is named more than once")
        for name, value in changes.items():
            if value is None:
                raise KafkaError(ErrorCode.INVALID_REQUEST, f"Null value not supported for : {name}")
        await request.broker.admin.configs.replace(kind, resource.resource_name, changes, validate_only=request.body.validate_only)
    except Exception as error:
        code, message = failure(error)
        return row | {"error_code": int(code), "error_message": message}
    return row | {"error_code": int(ErrorCode.NONE), "error_message": None}
