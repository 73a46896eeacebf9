"""The answer to a request that is refused as a whole, by a stage before its handler or by a `KafkaError` that leaves it.

The code and its message stand at the top of the answer, or in old versions and some keys, whose answers have none there, in a row
for each thing asked for, named as in the request. Everything else has the schema's default.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from broker_core.errors import CloseConnection, KafkaError
from broker_core.handlers.registry import Payload, Request
from broker_core.protocol.api import ApiKey
from broker_core.protocol.schema import EntitySpec, Side, message_spec

ROWS_TOO = (ApiKey.ELECT_LEADERS,)
"""Clients look for NOT_CONTROLLER in its rows though it stands at the top."""
_NAMES = (
    *("name", "topic", "topic_name", "topic_id", "index", "partition", "partition_index", "partition_id", "group_id", "key"),
    *("transactional_id", "producer_id", "user"),
)
_CODES = ("error_code", "partition_error_code")
_NAMES_OF_RESOURCES = ("resource_type", "resource_name")
_OTHER_NAMES = {"topic_name": "name", "partition_index": "partition", "user": "name"}
"""What the request calls it where that is not the answer's name."""


def refused(request: Request, error: KafkaError) -> Payload:
    """The same for everything that the request asks for; `CloseConnection` where no answer is expected that could tell it."""
    if request.header.api_key == ApiKey.PRODUCE and request.body.acks == 0:
        raise CloseConnection(f"a request without an answer is refused: {error.message}")
    spec = message_spec(request.header.api_key, request.version, Side.RESPONSE)
    told = {name: int(error.code) for name in _CODES} | {"error_message": error.message}
    if request.header.api_key in ROWS_TOO or not any(field.name == "error_code" for field in spec.fields):
        return told | _rows_of(spec, request.body, told)
    return told


def _rows_of(spec: EntitySpec, asked: Any, told: dict[str, Any]) -> dict[str, Any]:
    """The first array of the answer whose rows have a code somewhere, a row for each of the request's first array."""
    for field in spec.fields:
        if field.array and field.nested is not None and _has_code(field.nested):
            return {field.name: [_row(field.nested, row, told) for row in _rows_asked(asked, field.nested)]}
    return {}


def _has_code(spec: EntitySpec) -> bool:
    return any(field.name in _CODES or (field.nested is not None and _has_code(field.nested)) for field in spec.fields)


def _rows_asked(asked: Any, spec: EntitySpec) -> Iterator[Any]:
    """Rows that have no name of their own in the answer (the folders of AlterReplicaLogDirs) stand for those inside them. A user whose
    credentials are to be changed may stand in two lists."""
    if hasattr(asked, "upsertions"):
        yield from {row.name: row for row in (*asked.deletions, *asked.upsertions)}.values()
        return
    for row in next((value for value in asked if isinstance(value, tuple)), ()):
        inside = hasattr(row, "path")
        yield from _rows_asked(row, spec) if inside else (row,)


def _row(spec: EntitySpec, asked: Any, told: dict[str, Any]) -> dict[str, Any]:
    names = [field.name for field in spec.fields if field.name in (*_NAMES, *_NAMES_OF_RESOURCES)]
    if not hasattr(asked, "_fields"):
        return told | dict.fromkeys(names[:1], asked)
    named = {name: getattr(asked, name, getattr(asked, _OTHER_NAMES.get(name, name), None)) for name in names}
    return told | {name: value for name, value in named.items() if value is not None} | _rows_of(spec, asked, told)
