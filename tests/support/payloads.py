"""Payloads made from message layouts: random samples, kio's objects for the same values, and a check for mistyped names."""

from __future__ import annotations

import dataclasses
import datetime
import random
import uuid
from collections.abc import Iterator
from typing import Any

import kio.index
from kio.schema.errors import ErrorCode as KioErrorCode

from broker_core.errors import ErrorCode
from broker_core.protocol.api import MAX_VERSION_3_9, ApiKey
from broker_core.protocol.schema import EntitySpec, FieldSpec, Side, message_spec

EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
NUMBER_BITS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64, "uint8": 8, "uint16": 16, "uint32": 32, "uint64": 64}


def every_message() -> Iterator[tuple[ApiKey, int, Side]]:
    for key, highest in MAX_VERSION_3_9.items():
        for version in range(highest + 1):
            for side in Side:
                yield key, version, side


def unknown_names(api_key: int, side: str, payload: Any) -> list[str]:
    """Dotted names in a payload that no version of the message has; `side` is "request" or "response"."""
    specs = [message_spec(api_key, version, Side(side)) for version in range(MAX_VERSION_3_9[ApiKey(api_key)] + 1)]
    return sorted(set(_unknown(specs, payload, "")))


def _unknown(specs: list[EntitySpec], payload: dict[str, Any], prefix: str) -> Iterator[str]:
    for name, value in payload.items():
        found = [field for spec in specs for field in spec.fields + spec.tagged if field.name == name]
        if not found:
            yield prefix + name
        nested = [field.nested for field in found if field.nested is not None]
        for each in value if isinstance(value, list | tuple) else [value]:
            if nested and isinstance(each, dict):
                yield from _unknown(nested, each, f"{prefix}{name}.")


def sample(spec: EntitySpec, rng: random.Random) -> dict[str, Any]:
    """A payload with a random value for every field."""
    return {field.name: _sample_field(field, rng) for field in spec.fields + spec.tagged}


def _sample_field(field: FieldSpec, rng: random.Random) -> Any:
    if field.nullable and field.type != "datetime_i64" and rng.random() < 0.25:
        return None
    if field.array:
        return [_sample_value(field, rng) for _ in range(rng.choice((0, 1, 2, 3)))]
    return _sample_value(field, rng)


def _sample_value(field: FieldSpec, rng: random.Random) -> Any:
    if field.nested is not None:
        return sample(field.nested, rng)
    if field.type in NUMBER_BITS:
        bits = NUMBER_BITS[field.type]
        return rng.getrandbits(bits) if field.type.startswith("u") else rng.getrandbits(bits) - (1 << (bits - 1))
    return {
        "bool": lambda: rng.random() < 0.5,
        "float64": lambda: rng.random() * 1e9,
        "error_code": lambda: int(rng.choice(list(ErrorCode))),
        "timedelta_i32": lambda: rng.getrandbits(31),
        "timedelta_i64": lambda: rng.getrandbits(40),
        "datetime_i64": lambda: rng.getrandbits(32) * 1000,
        "uuid": lambda: uuid.UUID(int=rng.getrandbits(128)),
        "string": lambda: "".join(rng.choice("aé漢z") for _ in range(rng.choice((0, 1, 5, 140)))),
        "bytes": lambda: rng.randbytes(rng.choice((0, 1, 5, 140))),
        "records": lambda: rng.randbytes(rng.choice((0, 1, 5, 140))),
    }[field.type]()


def kio_type(api_key: int, version: int, side: Side) -> Any:
    load = kio.index.load_request_schema if side is Side.REQUEST else kio.index.load_response_schema
    return load(api_key, version)


def kio_object(entity_type: Any, spec: EntitySpec, payload: dict[str, Any]) -> Any:
    """kio's own object for a payload, so that its writer can be asked for the bytes."""
    types = {field.name: field.type for field in dataclasses.fields(entity_type)}
    values = {}
    for field in spec.fields + spec.tagged:
        value = payload[field.name]
        if field.array and value is not None:
            values[field.name] = tuple(_kio_value(types[field.name], field, each) for each in value)
        else:
            values[field.name] = _kio_value(types[field.name], field, value)
    return entity_type(**values)


def _kio_value(annotation: Any, field: FieldSpec, value: Any) -> Any:
    if value is None:
        return None
    if field.nested is not None:
        return kio_object(_dataclass_in(annotation), field.nested, value)
    if field.type == "error_code":
        return KioErrorCode(value)
    if field.type.startswith("timedelta"):
        return datetime.timedelta(milliseconds=value)
    if field.type == "datetime_i64":
        return EPOCH + datetime.timedelta(milliseconds=value)
    return value


def _dataclass_in(annotation: Any) -> Any:
    if dataclasses.is_dataclass(annotation):
        return annotation
    return (
        next(found for each in annotation.__args__ if (found := _dataclass_in(each)) is not None)
        if hasattr(annotation, "__args__")
        else None
    )
