"""IncrementalAlterConfigs v0–1 (KIP-339): sets, deletes, appends to or subtracts from single settings (spec O1)."""

from __future__ import annotations

from collections import Counter
from typing import Any

from broker_core.admin.configs import ConfigChange, ConfigOperation, ResourceType
from broker_core.errors import ErrorCode, KafkaError
from broker_core.handlers.common import changed, named_once
from broker_core.handlers.registry import Answer, Operation, Request, handler, on_resources
from broker_core.protocol.api import ApiKey


@handler(ApiKey.INCREMENTAL_ALTER_CONFIGS, versions=range(0, 2), needs=on_resources(Operation.ALTER_CONFIGS))
async def handle(request: Request) -> Answer:
    """One row per resource; any broker may serve it, since the settings live in ZooKeeper."""
    named = Counter((row.resource_type, row.resource_name) for row in request.body.resources)
    return {"responses": [await changed(resource, _alter(request, resource, named)) for resource in request.body.resources]}


async def _alter(request: Request, resource: Any, named: Counter[tuple[int, str]]) -> None:
    named_once(resource, named)
    kind = ResourceType.of(resource.resource_type)
    changes = _changes(resource)
    await request.broker.admin.configs.alter(kind, resource.resource_name, changes, validate_only=request.body.validate_only)


def _changes(resource: Any) -> list[ConfigChange]:
    changes = [ConfigChange(row.name, ConfigOperation.of(row.config_operation), row.value) for row in resource.configs]
    if len({change.name for change in changes}) != len(changes):
        raise KafkaError(ErrorCode.INVALID_REQUEST, "Error due to duplicate config keys")
    for change in changes:
        if change.value is None and change.operation is not ConfigOperation.DELETE:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"Null value not supported for : {change.name}")
    return changes
