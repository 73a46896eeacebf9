"""The description of REST: each body shows an example that it would take itself, and each operation says what it is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tests.support.openapi import document


def operations() -> Iterator[tuple[str, dict[str, Any]]]:
    for path, found in document()["paths"].items():
        for method, operation in found.items():
            yield f"{method.upper()} {path}", operation


def bodies() -> dict[str, dict[str, Any]]:
    """By operation: the schema of each JSON body."""
    with_body = {name: found["requestBody"]["content"] for name, found in operations() if "requestBody" in found}
    return {name: resolved(content["application/json"]["schema"]) for name, content in with_body.items()}


def resolved(schema: dict[str, Any]) -> dict[str, Any]:
    found = document()["components"]["schemas"][schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
    return dict(found)


@pytest.mark.parametrize("name", sorted(bodies()))
def test_a_body_shows_an_example_that_fits_it(name: str) -> None:
    schema = bodies()[name]
    assert schema.get("examples"), f"{name} has no example of its body"
    validator = Draft202012Validator({**schema, "components": document()["components"]})
    for one in schema["examples"]:
        assert [error.message for error in validator.iter_errors(one)] == []


def test_each_operation_says_what_it_is_and_how_it_fails() -> None:
    for name, operation in operations():
        assert operation.get("summary") and operation.get("tags"), name
        assert any(400 <= int(status) < 600 for status in operation["responses"]), f"{name} has no answer that says why not"


@pytest.mark.parametrize("name", sorted(document()["components"]["schemas"]))
def test_a_default_is_a_value_that_is_taken(name: str) -> None:
    """A program that is made from the description sends defaults as they stand there."""
    for field, schema in document()["components"]["schemas"][name].get("properties", {}).items():
        if "default" in schema:
            validator = Draft202012Validator({**schema, "components": document()["components"]})
            assert [error.message for error in validator.iter_errors(json.loads(json.dumps(schema["default"])))] == [], field
