"""DescribeClientQuotas v0–1 (KIP-546): the limits of users, client ids and addresses that a filter takes, as the store has them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from broker_core.admin.quotas import Wanted, filter_of
from broker_core.errors import ErrorCode, KafkaError
from broker_core.handlers.registry import Answer, Operation, Request, handler, on_cluster
from broker_core.protocol.api import ApiKey

EXACT, DEFAULT, SPECIFIED = 0, 1, 2
"""Ways to match: one name, the default, whatever has the type."""


@handler(ApiKey.DESCRIBE_CLIENT_QUOTAS, versions=range(0, 2), needs=on_cluster(Operation.DESCRIBE_CONFIGS))
async def handle(request: Request) -> Answer:
    """Any broker may be asked."""
    wanted = filter_of(_components(request.body))
    described = await request.broker.admin.quotas.describe(wanted, strict=request.body.strict)
    entries = [
        {
            "entity": [{"entity_type": kind, "entity_name": name} for kind, name in entity.items()],
            "values": [{"key": key, "value": value} for key, value in limits.items()],
        }
        for entity, limits in described
    ]
    return {"error_code": int(ErrorCode.NONE), "error_message": None, "entries": entries}


def _components(body: Any) -> Iterator[tuple[str, Wanted]]:
    for row in body.components:
        if row.match_type == EXACT and row.match is not None:
            yield row.entity_type, Wanted(row.match)
        elif row.match_type == DEFAULT:
            yield row.entity_type, Wanted(None)
        elif row.match_type == SPECIFIED:
            yield row.entity_type, Wanted(None, any=True)
        else:
            raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, f"match type {row.match_type} cannot be served")
