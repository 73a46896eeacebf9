"""DescribeConfigs v0–4: settings of topics and brokers and levels of loggers (KIP-412), with where each value comes from (spec O1)."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

from broker_core.admin.config_entries import ConfigEntry, ConfigSource
from broker_core.admin.configs import ResourceType
from broker_core.errors import ErrorCode, KafkaError
from broker_core.handlers.common import failure
from broker_core.handlers.registry import Answer, Operation, Request, handler, on_resources
from broker_core.protocol.api import ApiKey
from broker_core.protocol.codec import field

Gathered = list[ConfigEntry] | KafkaError


@handler(ApiKey.DESCRIBE_CONFIGS, versions=range(0, 5), needs=on_resources(Operation.DESCRIBE_CONFIGS))
async def handle(request: Request) -> Answer:
    """One row per resource and list of keys, of which a null or empty one asks for all, however often they are named: a broker's
    settings are 50 kB of answer for 5 bytes of request. Topics' settings are as the store has them now, as in Kafka, which refuses
    everything where one kind of resource has no settings."""
    broker = request.broker
    for row in request.body.resources:
        ResourceType.of(row.resource_type)
    topics = [row.resource_name for row in request.body.resources if row.resource_type == ResourceType.TOPIC]
    await broker.admin.watcher.refresh(topic for topic in topics if broker.metadata.partitions(topic))
    gather = cache(partial(_entries, request))
    return {"results": [_resource(request, resource, gather) for resource in dict.fromkeys(request.body.resources)]}


def _entries(request: Request, kind: int, name: str) -> Gathered:
    try:
        return request.broker.admin.configs.describe(ResourceType.of(kind), name)
    except KafkaError as error:
        return error


def _resource(request: Request, resource: Any, gather: Callable[[int, str], Gathered]) -> dict[str, Any]:
    row = {"resource_type": resource.resource_type, "resource_name": resource.resource_name}
    entries = gather(resource.resource_type, resource.resource_name)
    if isinstance(entries, KafkaError):
        code, message = failure(entries)
        return row | {"error_code": int(code), "error_message": message, "configs": []}
    keys = frozenset(resource.configuration_keys or ())
    wanted = [entry for entry in entries if not keys or entry.name in keys]
    return row | {"error_code": int(ErrorCode.NONE), "error_message": "", "configs": [_entry(request, entry) for entry in wanted]}


def _entry(request: Request, entry: ConfigEntry) -> dict[str, Any]:
    synonyms = entry.synonyms if field(request.body, "include_synonyms", False) else ()
    is_told = field(request.body, "include_documentation", False) or entry.source is ConfigSource.DYNAMIC_BROKER_LOGGER
    return {
        "name": entry.name,
        "value": entry.value,
        "read_only": entry.read_only,
        "is_default": False,
        "config_source": int(entry.source),
        "is_sensitive": entry.sensitive,
        "synonyms": [{"name": s.name, "value": s.value, "source": int(s.source)} for s in synonyms],
        "config_type": int(entry.type),
        "documentation": entry.documentation if is_told else None,
    }
