"""AlterConfigs v0–2: replaces all settings of a topic or broker (the older form of IncrementalAlterConfigs)."""

from __future__ import annotations

from collections import Counter
from typing import Any

from broker_core.admin.configs import ResourceType
from broker_core.errors import ErrorCode, KafkaError
from broker_core.handlers.common import changed, named_once
from broker_core.handlers.registry import Answer, Operation, Request, handler, on_resources
from broker_core.protocol.api import ApiKey


@handler(ApiKey.ALTER_CONFIGS, versions=range(0, 3), needs=on_resources(Operation.ALTER_CONFIGS))
async def handle(request: Request) -> Answer:
    """One row per resource; any broker may serve it, since the settings live in ZooKeeper."""
    named = Counter((row.resource_type, row.resource_name) for row in request.body.resources)
    return {"responses": [await changed(resource, _replace(request, resource, named)) for resource in request.body.resources]}


async def _replace(request: Request, resource: Any, named: Counter[tuple[int, str]]) -> None:
    named_once(resource, named)
    kind = ResourceType.of(resource.resource_type)
    changes = {config.name: config.value for config in resource.configs}
    if len(changes) != len(resource.configs):
        raise KafkaError(ErrorCode.INVALID_REQUEST, "a setting is named more than once")
    for name, value in changes.items():
        if value is None:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"Null value not supported for : {name}")
    await request.broker.admin.configs.replace(kind, resource.resource_name, changes, validate_only=request.body.validate_only)
