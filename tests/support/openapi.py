"""Checks answers of the REST interface against its own description: status, media type, and every field of the body."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

TYPES = {"object": dict, "array": list, "string": str, "integer": int, "number": (int, float), "boolean": bool, "null": type(None)}


@cache
def document() -> dict[str, Any]:
    from console.api import api

    return dict(api.get_openapi_schema(path_prefix="/api/v1/"))


def check_answer(method: str, path: str, status: int, kind: str, body: Any) -> None:
    """Fails where the description does not say so of this route; paths outside of it (pages, /healthz) are not looked at."""
    operation = _operation(method, path.partition("?")[0])
    if operation is None:
        return
    said = operation["responses"].get(status)
    assert said is not None, f"{method} {path} answers {status}, which its description does not have"
    content = said.get("content")
    if content is None:
        assert not body, f"{method} {path} answers {status} with a body"
        return
    assert kind in content, f"{method} {path} answers {status} as {kind}"
    wrong = wrong_with(content[kind]["schema"], body)
    assert not wrong, f"{method} {path} {status}: {wrong[:5]}"


def wrong_with(schema: Mapping[str, Any], value: Any) -> list[str]:
    return _wrong(schema, value, "body")


def _operation(method: str, path: str) -> dict[str, Any] | None:
    """The last route that fits: those that end in a fixed word come after no other that would fit too."""
    fits = [(shape, found) for shape, found in document()["paths"].items() if _fits(shape, path) and method.lower() in found]
    return max(fits, key=lambda one: len(re.sub(r"{\w+}", "", one[0])))[1][method.lower()] if fits else None


def _fits(shape: str, path: str) -> bool:
    pattern = re.sub(r"\\{(\w+)\\}", lambda name: ".+" if name[1] in ("group_id", "transactional_id") else "[^/]+", re.escape(shape))
    return re.fullmatch(pattern, path) is not None


def _wrong(schema: Mapping[str, Any], value: Any, at: str) -> list[str]:
    """What of the value is not as described; a field that is not described counts too."""
    if "$ref" in schema:
        return _wrong(document()["components"]["schemas"][schema["$ref"].rpartition("/")[2]], value, at)
    if "anyOf" in schema:
        tried = [_wrong(one, value, at) for one in schema["anyOf"]]
        return [] if [] in tried else min(tried, key=len)
    allowed = [schema["const"]] if "const" in schema else schema.get("enum")
    if allowed is not None and value not in allowed:
        return [f"{at} is {value!r}"]
    kind = schema.get("type")
    if kind and (not isinstance(value, TYPES[kind]) or (isinstance(value, bool) and kind != "boolean")):
        return [f"{at} is {value!r}, not of type {kind}"]
    if isinstance(value, list):
        return [words for n, item in enumerate(value) for words in _wrong(schema.get("items", {}), item, f"{at}.{n}")]
    return _wrong_fields(schema, value, at) if isinstance(value, dict) else []


def _wrong_fields(schema: Mapping[str, Any], value: dict[str, Any], at: str) -> list[str]:
    fields, rest = schema.get("properties"), schema.get("additionalProperties")
    missing = [f"{at} has no {name}" for name in schema.get("required", ()) if name not in value]
    if fields is None:
        return missing + [w for name, item in value.items() if isinstance(rest, dict) for w in _wrong(rest, item, f"{at}.{name}")]
    unknown = [f"{at}.{name} is not described" for name in value if name not in fields]
    return missing + unknown + [w for name, item in value.items() if name in fields for w in _wrong(fields[name], item, f"{at}.{name}")]
