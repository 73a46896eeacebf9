"""The description of REST: each body shows an example that it would take itself, and each operation says what it is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from console.rules.problems import KINDS
from tests.support.openapi import document, wrong_with


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


def told(*, problems: bool) -> Iterator[tuple[str, int, dict[str, Any], Any]]:
    """Name, status, content by media type and the example, of each documented answer that has a body."""
    for name, operation in operations():
        for status, answer in operation["responses"].items():
            is_file = status == 200 and "application/json" not in answer["content"]
            for content in (answer["content"],) if (status >= 400) is problems and "content" in answer and not is_file else ():
                (kind,) = content.values()
                (example,) = kind["examples"].values()
                yield name, status, content, document()["components"]["examples"][example["$ref"].rpartition("/")[2]]["value"]


def test_an_answer_shows_an_example_that_fits_it() -> None:
    checked: dict[str, Any] = {}
    for name, _, content, example in told(problems=False):
        schema = content["application/json"]["schema"]
        if checked.setdefault(schema["$ref"], example) is not example:
            continue
        validator = Draft202012Validator({**schema, "components": document()["components"]})
        assert [error.message for error in validator.iter_errors(example)] == [], name
        assert wrong_with(schema, example) == [], name
    assert checked["#/components/schemas/Topic"]["topic"] == "orders"
    (broker,) = checked["#/components/schemas/ListedLiveBroker"]["items"]
    assert broker["broker_id"] == 1 and broker["state"] == "online"


def test_each_documented_error_is_a_problem_with_an_example_of_its_status() -> None:
    """And none has another shape beside it; every answer that is no error is none of these."""
    found = list(told(problems=True))
    documented = [status for _, operation in operations() for status in operation["responses"] if status >= 400]
    assert len(found) == len(documented) > 100, "an error without a body"
    for name, status, content, example in found:
        assert list(content) == ["application/problem+json"], name
        assert content["application/problem+json"]["schema"] == {"$ref": "#/components/schemas/Problem"}, name
        assert wrong_with(content["application/problem+json"]["schema"], example) == [], name
        kind = KINDS[example["code"]]
        assert [example[word] for word in ("status", "title", "type")] == [status, kind.title, f"/api/v1/problems#{kind.code}"], name
        assert kind.status == status and example["detail"], name
