"""Message layouts, taken from kio's dataclasses: the one place that knows how kio describes a field.

kio's modules are imported on first use of a key and version (all of them cost a second and 43 MB). Only its field
metadata is used: its native reader reserves memory for whatever array length a frame claims (six bytes abort the process)
and refuses tagged fields it does not know, which newer clients may send.
"""

from __future__ import annotations

import dataclasses
import datetime
import enum
import functools
import types
import typing
from typing import Any

from broker_core.errors import ProtocolViolation


class Side(enum.Enum):
    """Which half of an exchange a message is."""

    REQUEST = "request"
    RESPONSE = "response"


@dataclasses.dataclass(frozen=True, slots=True)
class FieldSpec:
    """One field.

    `type` is kio's `kafka_type`, or "entity"; `array` says that it is a list of those. `default` is what stands for a
    value that is missing, as the codec gives it: milliseconds for times, None for null, for nested ones a dict.
    """

    name: str
    type: str
    array: bool
    nullable: bool
    tag: int | None
    default: Any
    nested: EntitySpec | None


@dataclasses.dataclass(frozen=True, slots=True)
class EntitySpec:
    """One struct: `fields` in wire order, then `tagged` by rising tag (a flexible version always ends with a tag count)."""

    name: str
    flexible: bool
    fields: tuple[FieldSpec, ...]
    tagged: tuple[FieldSpec, ...]


_INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "error_code")
_TIMES = ("timedelta_i32", "timedelta_i64", "datetime_i64")
_NUMBER_ZERO = frozenset(_INTEGERS + _TIMES)
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_MILLISECOND = datetime.timedelta(milliseconds=1)


def to_millis(value: Any) -> int:
    """Milliseconds of a timedelta, of an aware datetime since the Unix epoch, of an int as it is; None is -1."""
    if value is None:
        return -1
    if isinstance(value, datetime.timedelta):
        return value // _MILLISECOND
    if isinstance(value, datetime.datetime):
        return (value - _EPOCH) // _MILLISECOND
    return int(value)


@functools.cache
def message_spec(api_key: int, version: int, side: Side) -> EntitySpec:
    """The layout of a message; `ProtocolViolation` when there is no such key or version."""
    import kio.index

    load = kio.index.load_request_schema if side is Side.REQUEST else kio.index.load_response_schema
    try:
        entity: Any = load(api_key, version)
    except kio.index.KioIndexError:
        raise ProtocolViolation(f"there is no version {version} of request key {api_key}") from None
    return _entity_spec(entity)


def _entity_spec(entity: Any) -> EntitySpec:
    specs = [_field_spec(field) for field in dataclasses.fields(entity)]
    tagged = sorted((spec for spec in specs if spec.tag is not None), key=lambda spec: spec.tag or 0)
    return EntitySpec(
        name=entity.__name__,
        flexible=bool(entity.__flexible__),
        fields=tuple(spec for spec in specs if spec.tag is None),
        tagged=tuple(tagged),
    )


def _field_spec(field: dataclasses.Field[Any]) -> FieldSpec:
    inner, nullable = _without_none(field.type)
    array = typing.get_origin(inner) is tuple
    if array:
        inner, _ = _without_none(typing.get_args(inner)[0])
    nested = _entity_spec(inner) if dataclasses.is_dataclass(inner) else None
    kind = "entity" if nested is not None else str(field.metadata["kafka_type"])
    tag = field.metadata.get("tag")
    return FieldSpec(
        name=field.name,
        type=kind,
        array=array,
        nullable=nullable,
        tag=None if tag is None else int(tag),
        default=_default(field.default, kind, array, nullable),
        nested=nested,
    )


def _without_none(annotation: Any) -> tuple[Any, bool]:
    if typing.get_origin(annotation) not in (types.UnionType, typing.Union):
        return annotation, False
    kinds = [kind for kind in typing.get_args(annotation) if kind is not type(None)]
    return kinds[0], len(kinds) < len(typing.get_args(annotation))


def _default(value: Any, kind: str, array: bool, nullable: bool) -> Any:
    if value is dataclasses.MISSING or (value is None and not nullable):
        return _implicit_default(kind, array, nullable)
    return value if array else _explicit_default(value, kind)


def _explicit_default(value: Any, kind: str) -> Any:
    if kind in _TIMES:
        return to_millis(value)
    if value is None or (kind == "uuid" and not value.int):
        return None
    if kind == "entity":
        return {}
    return int(value) if kind in _INTEGERS else value


def _implicit_default(kind: str, array: bool, nullable: bool) -> Any:
    if array:
        return None if nullable else ()
    if kind == "entity":
        return None if nullable else {}
    if kind in _NUMBER_ZERO:
        return 0
    if kind in ("uuid", "records") or nullable:
        return None
    return {"bool": False, "float64": 0.0, "string": "", "bytes": b""}[kind]
