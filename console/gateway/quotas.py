"""Quotas of clients: DescribeClientQuotas and AlterClientQuotas, which the client library has messages of and no methods for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kafka.protocol.admin.client_quotas import AlterClientQuotasRequest, DescribeClientQuotasRequest

from console.gateway.errors import from_code
from console.wanted.quotas import entity_of, written

Quotas = dict[str, dict[str, float]]


def describe(admin: Any) -> Quotas:
    """All that are set, by entity. `IncompatibleBrokerVersion` where none can be: a broker may tell of quotas and take none."""
    admin._manager.broker_version_data.api_version(AlterClientQuotasRequest)
    answer = _send(admin, DescribeClientQuotasRequest(components=[], strict=False))
    if answer.error_code:
        raise from_code(answer.error_code, answer.error_message)
    return {
        written({part.entity_type: part.entity_name for part in entry.entity}): {one.key: one.value for one in entry.values}
        for entry in answer.entries or ()
    }


def alter(admin: Any, entity: str, changes: Mapping[str, float | None]) -> None:
    """Sets the limits; None takes one away."""
    entry = AlterClientQuotasRequest.EntryData
    named = [entry.EntityData(entity_type=kind, entity_name=name) for kind, name in entity_of(entity).items()]
    ops = [entry.OpData(key=key, value=value or 0.0, remove=value is None) for key, value in changes.items()]
    answer = _send(admin, AlterClientQuotasRequest(entries=[entry(entity=named, ops=ops)], validate_only=False))
    for told in answer.entries:
        if told.error_code:
            raise from_code(told.error_code, told.error_message)


def _send(admin: Any, request: Any) -> Any:
    """The library has no public way to send one request."""
    return admin._manager.run(admin._manager.send, request)
